package request

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// line is one field in a table of messages: SGLang's name, the struct's field
// ("" for one that this runtime has no meaning for), and how it stands on the wire.
type line struct {
	name  string
	field string
	codec codec
}

// field is a line whose struct field has been found.
type field struct {
	name  string
	index int // -1: none
	codec codec
}

// layout is a message, or an array inside one.
type layout struct {
	class  string // "": an array without a class name
	of     reflect.Type
	least  int // fields without a default; they are the first ones
	fields []field
}

// newLayout panics, while the program starts, when a line and the struct do not
// agree, or when a field of the struct has no line.
func newLayout[T any](class string, least int, lines ...line) *layout {
	l := &layout{class: class, of: reflect.TypeFor[T](), least: least}
	lined := map[string]bool{}
	for _, ln := range lines {
		f := field{name: ln.name, index: -1, codec: ln.codec}
		if ln.field != "" {
			sf, ok := l.of.FieldByName(ln.field)
			if !ok || sf.Type != ln.codec.of() {
				panic(fmt.Sprintf("request: %s.%s is no field of type %v of %v", class, ln.name, ln.codec.of(), l.of))
			}
			f.index = sf.Index[0]
			lined[ln.field] = true
		}
		l.fields = append(l.fields, f)
	}
	for _, sf := range reflect.VisibleFields(l.of) {
		if !lined[sf.Name] {
			panic(fmt.Sprintf("request: no line for %v.%s", l.of, sf.Name))
		}
	}
	return l
}

// at is a pointer to the field inside the struct that v is; nil where there is none.
func (f *field) at(v reflect.Value) any {
	if f.index < 0 {
		return nil
	}
	return v.Field(f.index).Addr().Interface()
}

func (l *layout) encode(w wire.Writer, v reflect.Value) error {
	n := len(l.fields)
	if l.class != "" {
		n++
	}
	if err := w.ArrayLen(n); err != nil {
		return err
	}
	if l.class != "" {
		if err := w.Value(l.class); err != nil {
			return err
		}
	}
	for i := range l.fields {
		f := &l.fields[i]
		if err := f.codec.encode(w, f.at(v)); err != nil {
			return wire.Inside(err, "."+f.name, -1)
		}
	}
	return nil
}

// decode leaves fields that the array is too short for as v has them.
func (l *layout) decode(r wire.Reader, v reflect.Value) error {
	o := r.Offset()
	n, err := r.ArrayLen()
	if err != nil {
		return err
	}
	if l.class != "" {
		if err := l.readClass(r, n); err != nil {
			return err
		}
		n--
	}
	if n < l.least || n > len(l.fields) {
		return &wire.Error{Offset: o, Err: fmt.Errorf("got %d fields, want %d to %d", n, l.least, len(l.fields))}
	}
	for i := range n {
		f, o := &l.fields[i], r.Offset()
		if err := f.codec.decode(r, f.at(v)); err != nil {
			return wire.Inside(err, "."+f.name, o)
		}
	}
	return nil
}

func (l *layout) readClass(r wire.Reader, n int) error {
	o := r.Offset()
	if n == 0 {
		return &wire.Error{Offset: o, Err: fmt.Errorf("got an empty array, want %s and its fields", l.class)}
	}
	name, err := r.Text()
	if err == nil && name != l.class {
		const longest = 64 // of a hostile name in an error
		err = &wire.Error{Offset: o, Err: fmt.Errorf("got class %.*q, want %s", longest, name, l.class)}
	}
	return err
}

var byClass, byType = func() (map[string]*layout, map[reflect.Type]*layout) {
	class, typ := map[string]*layout{}, map[reflect.Type]*layout{}
	for _, l := range layouts {
		class[l.class], typ[reflect.PointerTo(l.of)] = l, l
	}
	return class, typ
}()

// classNames lists the classes for an error.
func classNames() string {
	var names []string
	for _, l := range layouts {
		names = append(names, l.class)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

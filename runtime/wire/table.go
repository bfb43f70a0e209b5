package wire

import (
	"fmt"
	"reflect"
)

// column is what one field of a message can do. p points to the field.
type column interface {
	encode(w *writer, p any) error
	decode(r *reader, p any) error
	take(dst, src any, rows []int) error // nothing for an opaque column, see cutOpaque
	row(p any, i int) Value
	set(p any, v Value) error
	null(p any) bool
	rowKinds() kind // what one row may be on the wire
}

// col is the column of a slice with one entry a row.
type col[T any] struct{ item codec[T] }

func (c col[T]) encode(w *writer, p any) error { return encList(w, *p.(*[]T), c.item) }

func (c col[T]) decode(r *reader, p any) (err error) {
	*p.(*[]T), err = decList(r, c.item)
	return err
}

// take copies the rows into a slice of its own. The zero T is null.
func (c col[T]) take(dst, src any, rows []int) error {
	from := *src.(*[]T)
	if from == nil || len(rows) > 0 && !anyBelow(rows, len(from)) {
		return nil
	}
	to := make([]T, len(rows))
	for k, i := range rows {
		if i < len(from) {
			to[k] = from[i]
		}
	}
	*dst.(*[]T) = to
	return nil
}

func anyBelow(rows []int, n int) bool {
	for _, i := range rows {
		if i < n {
			return true
		}
	}
	return false
}

func (c col[T]) row(p any, i int) Value {
	if v := *p.(*[]T); i < len(v) {
		return c.item.toValue(v[i])
	}
	return nil
}

func (c col[T]) set(p any, v Value) (err error) {
	x, err := listFrom(v, c.item)
	if err == nil {
		*p.(*[]T) = x
	}
	return err
}

func (c col[T]) null(p any) bool { return *p.(*[]T) == nil }

func (c col[T]) rowKinds() kind { return c.item.kinds }

// columns holds the column of every type that a field may have.
var columns = map[reflect.Type]column{
	reflect.TypeFor[[]string]():           col[string]{textCodec},
	reflect.TypeFor[[]Opt[string]]():      col[Opt[string]]{opt(textCodec)},
	reflect.TypeFor[[]Opt[bool]]():        col[Opt[bool]]{opt(boolCodec)},
	reflect.TypeFor[[]Opt[int64]]():       col[Opt[int64]]{opt(intCodec)},
	reflect.TypeFor[[]Opt[float64]]():     col[Opt[float64]]{opt(floatCodec)},
	reflect.TypeFor[[]Opt[IntArray]]():    col[Opt[IntArray]]{opt(intArrayCodec)},
	reflect.TypeFor[[]Opt[Ext]]():         col[Opt[Ext]]{opt(extCodec)},
	reflect.TypeFor[[][]Opt[int64]]():     col[[]Opt[int64]]{list(opt(intCodec))},
	reflect.TypeFor[[][]Opt[float64]]():   col[[]Opt[float64]]{list(opt(floatCodec))},
	reflect.TypeFor[[][][]Opt[int64]]():   col[[][]Opt[int64]]{list(list(opt(intCodec)))},
	reflect.TypeFor[[][][]Opt[float64]](): col[[][]Opt[float64]]{list(list(opt(floatCodec)))},
	reflect.TypeFor[[]Map]():              col[Map]{mapCodec},
	reflect.TypeFor[[]Value]():            col[Value]{valueCodec},
	reflect.TypeFor[[]Embedding]():        col[Embedding]{embeddingCodec},
	reflect.TypeFor[*Opaque]():            opaqueColumn{},
}

// field is one field of a class.
type field struct {
	name   string
	index  int // of the struct's field
	opaque bool
	column column
}

// class is a message's layout.
type class struct {
	name   string
	fields []field
	byName map[string]int
}

var (
	tokenClass     = newClass(reflect.TypeFor[BatchTokenIDOutput]())
	strClass       = newClass(reflect.TypeFor[BatchStrOutput]())
	embeddingClass = newClass(reflect.TypeFor[BatchEmbeddingOutput]())
	allClasses     = []*class{tokenClass, strClass, embeddingClass}
	classes        = map[string]*class{tokenClass.name: tokenClass, strClass.name: strClass, embeddingClass.name: embeddingClass}
	byType         = map[reflect.Type]*class{
		reflect.TypeFor[*BatchTokenIDOutput]():   tokenClass,
		reflect.TypeFor[*BatchStrOutput]():       strClass,
		reflect.TypeFor[*BatchEmbeddingOutput](): embeddingClass,
	}
)

// newClass reads a struct. It panics, while the program starts, on a field
// that it has no column for: a message that cannot be split must not be built.
func newClass(t reflect.Type) *class {
	c := &class{name: t.Name(), byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, column := f.Tag.Get("wire"), columns[f.Type]
		if name == "" || column == nil {
			panic(fmt.Sprintf("wire: %s.%s has no wire tag or no column for its type %s", t.Name(), f.Name, f.Type))
		}
		_, opaque := column.(opaqueColumn)
		c.byName[name] = i
		c.fields = append(c.fields, field{name: name, index: i, opaque: opaque, column: column})
	}
	return c
}

// at is a pointer to the field inside the struct that v is.
func (f *field) at(v reflect.Value) any { return v.Field(f.index).Addr().Interface() }

// layout finds a message's class and struct.
func layout(m Message) (*class, reflect.Value, error) {
	v := reflect.ValueOf(m)
	if c := byType[reflect.TypeOf(m)]; c != nil && !v.IsNil() {
		return c, v.Elem(), nil
	}
	return nil, v, &Error{Offset: -1, Err: fmt.Errorf("got message %T, want a *BatchTokenIDOutput, *BatchStrOutput or *BatchEmbeddingOutput that is not nil", m)}
}

// Fields lists a class's fields in wire order, nil for a class it does not know.
func Fields(name string) []Field {
	c := classes[name]
	if c == nil {
		return nil
	}
	out := make([]Field, len(c.fields))
	for i, f := range c.fields {
		out[i] = Field{Name: f.name, Opaque: f.opaque}
	}
	return out
}

// Set gives a message's column a plain value: a []Value with one entry a row, or
// nil for null. An opaque field takes an *Opaque, or any other Value, which is
// then stored as Native.
func Set(m Message, name string, v Value) error {
	c, s, err := layout(m)
	if err != nil {
		return err
	}
	i, ok := c.byName[name]
	if !ok {
		return &Error{Class: c.name, Field: name, Offset: -1, Err: fmt.Errorf("the class has no such field")}
	}
	f := &c.fields[i]
	if err := f.column.set(f.at(s), v); err != nil {
		return named(err, c.name, name)
	}
	return nil
}

// Row is row i of every field as plain values. opened holds the values of opaque
// columns by name; a wrapped column that is not in it is an error.
func Row(m Message, i int, opened map[string]Value) (map[string]Value, error) {
	c, s, err := layout(m)
	if err != nil {
		return nil, err
	}
	if i < 0 || i >= m.Rows() {
		return nil, &Error{Class: c.name, Offset: -1, Err: fmt.Errorf("got row %d, want one of the %d rows", i, m.Rows())}
	}
	out := make(map[string]Value, len(c.fields))
	for k := range c.fields {
		f := &c.fields[k]
		if !f.opaque {
			out[f.name] = f.column.row(f.at(s), i)
			continue
		}
		v, ok := opened[f.name]
		if !ok {
			v, err = s.Field(f.index).Interface().(*Opaque).native()
		}
		if err == nil {
			out[f.name], err = opaqueRow(v, i)
		}
		if err != nil {
			return nil, named(err, c.name, f.name)
		}
	}
	return out, nil
}

package wire

import (
	"fmt"
	"reflect"

	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle"
)

// Take makes a message of the given rows of m, in the given order. m is not
// changed, and the new message's columns are its own (the rows in them are
// shared). Wrapped opaque columns are opened with open, or with Opaque.OpenRows when
// open is nil. The package documentation has the rule for short columns.
func Take[T any, M interface {
	*T
	Message
}](m M, rows []int, open Opener) (M, error) {
	c, src, err := layout(m)
	if err != nil {
		return nil, err
	}
	for k, i := range rows {
		if i < 0 || i >= m.Rows() {
			return nil, &Error{Class: c.name, Offset: -1, Err: fmt.Errorf("rows[%d]: got row %d, want one of the %d rows", k, i, m.Rows())}
		}
	}
	out := M(new(T))
	dst := reflect.ValueOf(out).Elem()
	for i := range c.fields {
		f := &c.fields[i]
		if err := f.take(dst, src, rows, open); err != nil {
			return nil, named(err, c.name, f.name)
		}
	}
	return out, nil
}

func (f *field) take(dst, src reflect.Value, rows []int, open Opener) error {
	if !f.opaque {
		return f.column.take(f.at(dst), f.at(src), rows)
	}
	cut, err := cutOpaque(f.name, *f.at(src).(**Opaque), rows, open)
	*f.at(dst).(**Opaque) = cut
	return err
}

// cutOpaque takes rows of an opaque column.
func cutOpaque(name string, o *Opaque, rows []int, open Opener) (*Opaque, error) {
	if o == nil {
		return nil, nil
	}
	if o.Wrapper == "" {
		cut, err := cutValue(o.Native, rows)
		if err != nil || cut == nil {
			return nil, err
		}
		return &Opaque{Native: cut}, nil
	}
	v, err := openWith(open, name, o)
	if err != nil {
		return nil, err
	}
	if c, ok := v.(*pickle.Column); ok {
		return cutPickle(c, rows), nil
	}
	cut, err := cutValue(v, rows)
	if err != nil || cut == nil {
		return nil, err
	}
	return Wrap(cut)
}

func openWith(open Opener, name string, o *Opaque) (Value, error) {
	if open == nil {
		return o.OpenRows()
	}
	return open(name, o)
}

// Str is the batch with texts in place of token ids: every field that both
// classes have is shared with m. Tensors (routed_experts, indexer_topk) would
// have to become base64 text, which is not built: one that is not null is an
// error.
func (m *BatchTokenIDOutput) Str(texts []string) (*BatchStrOutput, error) {
	if len(texts) != m.Rows() {
		return nil, &Error{Class: strClass.name, Field: outOnly, Offset: -1, Err: fmt.Errorf("got %d texts, want one for each of the %d rows", len(texts), m.Rows())}
	}
	out := &BatchStrOutput{OutputStrs: make([]Opt[string], len(texts))}
	for i, t := range texts {
		out.OutputStrs[i] = Some(t)
	}
	from, to := reflect.ValueOf(m).Elem(), reflect.ValueOf(out).Elem()
	for i := range strClass.fields {
		at := textPassage.source[i]
		if at < 0 {
			continue
		}
		src, dst := &tokenClass.fields[at], &strClass.fields[i]
		if err := share(to.Field(dst.index), from.Field(src.index)); err != nil {
			return nil, named(err, strClass.name, dst.name)
		}
	}
	return out, nil
}

func share(dst, src reflect.Value) error {
	if dst.Type() == src.Type() {
		dst.Set(src)
		return nil
	}
	to, isText := dst.Addr().Interface().(*[]Opt[string])
	from, isExt := src.Addr().Interface().(*[]Opt[Ext])
	if !isText || !isExt {
		return &Error{Offset: -1, Err: fmt.Errorf("got a %s, want a %s", src.Type(), dst.Type())}
	}
	if *from == nil {
		return nil
	}
	*to = make([]Opt[string], len(*from))
	for i, e := range *from {
		if e.OK {
			return inside(errTensor, index(i), -1)
		}
	}
	return nil
}

var errTensor = fmt.Errorf("got a tensor, want null: tensors cannot be made base64 text yet")

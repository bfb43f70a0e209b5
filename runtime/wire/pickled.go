package wire

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle"
)

// pickled is a column that can be cut without being opened.
type pickled = *pickle.Column

// pickles is what a View needs for pickled columns. It stays from frame to frame.
type pickles struct {
	columns map[int]pickled // by the field's place in its class
	row     []byte          // a pickle on its way into its wrapper
	one     [1]int32        // the row of AppendRow
}

// OpenRows gives what Take can cut: of a PickleWrapper a *[pickle.Column], which
// is no plain value, and of anything else what Open gives. It is the work of
// opening a column: Take calls it for each one.
func (o *Opaque) OpenRows() (Value, error) {
	if o == nil || o.Wrapper != PickleWrapper {
		return o.Open()
	}
	c := new(pickle.Column)
	if err := c.Parse(o.Data); err != nil {
		return nil, &Error{Offset: -1, Err: fmt.Errorf("inside the %s: %w", PickleWrapper, err)}
	}
	return c, nil
}

// cutPickle takes rows of a pickled column, nil if they are null.
func cutPickle(c pickled, rows []int) *Opaque {
	list := make([]int32, len(rows))
	for k, i := range rows {
		list[k] = int32(i)
	}
	data, ok := c.AppendRows(nil, list)
	if !ok {
		return nil
	}
	return &Opaque{Wrapper: PickleWrapper, Data: data}
}

// parsePickle parses the column of field i, whose wrapper is at o.
func (v *View) parsePickle(i, o int, data []byte) error {
	if v.columns == nil {
		v.columns = map[int]pickled{}
	}
	c := v.columns[i]
	if c == nil {
		c = new(pickle.Column)
		v.columns[i] = c
	}
	if err := c.Parse(data); err != nil {
		return &Error{Offset: o, Err: fmt.Errorf("inside the %s: %w", PickleWrapper, err)}
	}
	v.metas[i].null, v.metas[i].pickle = c.Null(), c
	return nil
}

// appendPickle appends rows of a pickled column. Their size is known only when
// they are written.
func (v *View) appendPickle(dst []byte, c pickled, rows []int32) []byte {
	row, ok := c.AppendRows(v.row[:0], rows)
	v.row = row
	if !ok {
		return append(dst, codeNil)
	}
	return append(appendWrapper(dst, PickleWrapper, len(row)), row...)
}

package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Difference is one thing that an arm delivered wrongly. Consumer is -1 where
// no consumer is to blame.
type Difference struct {
	Consumer    int
	RID, Field  string
	Wanted, Got string
	Step        int // the row's place among the rows of its rid, or -1
}

func (d *Difference) Error() string {
	return fmt.Sprintf("consumer %d, rid %q, step %d, field %s: wanted %s, got %s",
		d.Consumer, d.RID, d.Step, d.Field, d.Wanted, d.Got)
}

// row is one row that was sent.
type row struct {
	rid      string
	step     int // among the rows of its rid
	consumer int
	fields   map[string]json.RawMessage
}

// Expectation is what one trial must deliver.
type Expectation struct {
	sent       []*row // in the order of sending
	byConsumer [][]*row
	byRID      map[string][]*row
	text       map[string]string
	rows       int
	fence      int
}

// New works out what the given trial must deliver to so many consumers. Where
// that takes more than joining the vocabulary's pieces it returns an error.
func New(w protocol.Work, consumers int) (*Expectation, error) {
	if consumers < 1 {
		return nil, fmt.Errorf("oracle: %d consumers, want at least 1", consumers)
	}
	vocab, err := newVocabulary(w.Vocabulary)
	if err != nil {
		return nil, fmt.Errorf("oracle: %w", err)
	}
	e := &Expectation{
		byConsumer: make([][]*row, consumers),
		byRID:      map[string][]*row{},
		text:       map[string]string{},
	}
	for _, b := range w.Stream {
		if err := e.add(b); err != nil {
			return nil, err
		}
		e.rows += len(b.Consumers)
	}
	for _, b := range w.Fence {
		if err := e.add(b); err != nil {
			return nil, err
		}
		e.fence += len(b.Consumers)
	}
	for _, rid := range slices.Sorted(maps.Keys(e.byRID)) {
		if e.text[rid], err = vocab.text(e.byRID[rid]); err != nil {
			return nil, fmt.Errorf("oracle: rid %q: %w", rid, err)
		}
	}
	return e, nil
}

// Rows is the number of rows of the stream, FenceRows that of the fence.
func (e *Expectation) Rows() int { return e.rows }

// FenceRows is the number of rows of the fence.
func (e *Expectation) FenceRows() int { return e.fence }

func (e *Expectation) add(b protocol.Batch) error {
	columns := map[string][]json.RawMessage{}
	for name, raw := range b.Columns {
		values, err := split(name, raw, len(b.Consumers))
		if err != nil {
			return fmt.Errorf("oracle: column %s: %w", name, err)
		}
		columns[name] = values
	}
	for i, c := range b.Consumers {
		if c < 0 || c >= len(e.byConsumer) {
			return fmt.Errorf("oracle: row %d goes to consumer %d, want 0 to %d", i, c, len(e.byConsumer)-1)
		}
		r := &row{consumer: c, fields: map[string]json.RawMessage{}}
		for name, values := range columns {
			r.fields[name] = values[i]
		}
		if err := read(r.fields, fieldRID, &r.rid); err != nil {
			return fmt.Errorf("oracle: row %d: %w", i, err)
		}
		if before := e.byRID[r.rid]; len(before) > 0 && before[0].consumer != c {
			return fmt.Errorf("oracle: rid %q goes to consumers %d and %d, want one", r.rid, before[0].consumer, c)
		}
		r.step = len(e.byRID[r.rid])
		e.byRID[r.rid] = append(e.byRID[r.rid], r)
		e.byConsumer[c] = append(e.byConsumer[c], r)
		e.sent = append(e.sent, r)
	}
	return nil
}

// read decodes a field that must be there and not null.
func read(fields map[string]json.RawMessage, name string, v any) error {
	if isNull(fields[name]) {
		return fmt.Errorf("%s is %s, want a value", name, show(fields[name]))
	}
	if err := json.Unmarshal(fields[name], v); err != nil {
		return fmt.Errorf("%s is %s: %w", name, show(fields[name]), err)
	}
	return nil
}

// split cuts a column into row values: a list, or for customized_info an object
// of lists, whose row value is the object of its values.
func split(name string, raw json.RawMessage, rows int) ([]json.RawMessage, error) {
	if name != fieldInfo {
		return list(raw, rows)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, fmt.Errorf("got %s, want an object of lists", show(raw))
	}
	out := make([]json.RawMessage, rows)
	columns := map[string][]json.RawMessage{}
	for key, raw := range object {
		values, err := list(raw, rows)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
		columns[key] = values
	}
	for i := range out {
		one := map[string]json.RawMessage{}
		for key, values := range columns {
			one[key] = values[i]
		}
		b, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func list(raw json.RawMessage, rows int) ([]json.RawMessage, error) {
	var values []json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil || values == nil {
		return nil, fmt.Errorf("got %s, want a list", show(raw))
	}
	if len(values) != rows {
		return nil, fmt.Errorf("%d values, want %d", len(values), rows)
	}
	return values, nil
}

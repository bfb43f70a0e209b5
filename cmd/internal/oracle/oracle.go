package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	byConsumer [][]*row
	byRID      map[string][]*row
	text       map[string]string
	rows       int
	fence      int
}

// New works out what the given trial must deliver to so many consumers.
func New(w protocol.Work, consumers int) (*Expectation, error) {
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
	for rid, rows := range e.byRID {
		t, err := text(w.Vocabulary, rows)
		if err != nil {
			return nil, fmt.Errorf("oracle: rid %q: %w", rid, err)
		}
		e.text[rid] = t
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
		values, err := split(raw, len(b.Consumers))
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
		if err := json.Unmarshal(r.fields["rids"], &r.rid); err != nil {
			return fmt.Errorf("oracle: rids[%d]: %w", i, err)
		}
		r.step = len(e.byRID[r.rid])
		e.byRID[r.rid] = append(e.byRID[r.rid], r)
		e.byConsumer[c] = append(e.byConsumer[c], r)
	}
	return nil
}

// split cuts a column into row values: a list, or an object of lists, whose row
// value is the object of its values.
func split(raw json.RawMessage, rows int) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err == nil {
		if len(list) != rows {
			return nil, fmt.Errorf("%d values, want %d", len(list), rows)
		}
		return list, nil
	}
	var object map[string][]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, fmt.Errorf("neither a list nor an object of lists: %w", err)
	}
	out := make([]json.RawMessage, rows)
	for i := range out {
		one := map[string]json.RawMessage{}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if len(object[key]) != rows {
				return nil, fmt.Errorf("key %q: %d values, want %d", key, len(object[key]), rows)
			}
			one[key] = object[key][i]
		}
		b, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

// text is what everything a rid's rows hold decodes to, after the part of the
// prompt that its first row carries.
func text(v protocol.Vocabulary, rows []*row) (string, error) {
	pieces := map[int64]protocol.Token{}
	for _, t := range v.Tokens {
		pieces[t.ID] = t
	}
	var ids []int64
	for _, r := range rows {
		var more []int64
		if err := json.Unmarshal(r.fields["decode_ids"], &more); err != nil {
			return "", fmt.Errorf("decode_ids: %w", err)
		}
		ids = append(ids, more...)
	}
	var prompt int
	if err := json.Unmarshal(rows[0].fields["read_offsets"], &prompt); err != nil {
		return "", fmt.Errorf("read_offsets: %w", err)
	}
	if prompt < 0 || prompt > len(ids) {
		return "", fmt.Errorf("read_offsets %d, want 0 to %d", prompt, len(ids))
	}
	var skip bool
	if err := json.Unmarshal(rows[0].fields["skip_special_tokens"], &skip); err != nil {
		return "", fmt.Errorf("skip_special_tokens: %w", err)
	}
	whole, err := join(v.Kind, pieces, ids, skip)
	if err != nil {
		return "", err
	}
	before, err := join(v.Kind, pieces, ids[:prompt], skip)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(whole, before), nil
}

func join(kind string, pieces map[int64]protocol.Token, ids []int64, skip bool) (string, error) {
	var parts []string
	for _, id := range ids {
		t, ok := pieces[id]
		if !ok {
			t = pieces[0]
		}
		if !t.Special || !skip {
			parts = append(parts, string(t.Bytes))
		}
	}
	switch kind {
	case protocol.VocabularyWords:
		return strings.Join(parts, " "), nil
	case protocol.VocabularyBytes:
		return strings.ToValidUTF8(strings.Join(parts, ""), "\uFFFD"), nil
	}
	return "", fmt.Errorf("vocabulary kind %q, want %q or %q", kind, protocol.VocabularyWords, protocol.VocabularyBytes)
}

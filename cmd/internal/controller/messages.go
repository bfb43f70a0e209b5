package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// The opaque columns, and the rids.
const (
	fieldRID   = "rids"
	fieldInfo  = "customized_info"
	fieldTimes = "time_stats"
)

// clockOffset is the key of a timing map that holds the sender's offset from
// its own clock to the shared one, as in SGLang's timing objects.
const clockOffset = "diff_realtime_monotonic"

// outgoing is a batch whose message object exists and whose bytes do not:
// opaque columns are wrapped when it is encoded, inside the timed part.
type outgoing struct {
	msg         *wire.BatchTokenIDOutput
	wrap        bool
	info, times wire.Value // nil where the batch has none
}

func (o *outgoing) rows() int { return o.msg.Rows() }

func (o *outgoing) encode(dst []byte) ([]byte, error) {
	var err error
	if o.msg.CustomizedInfo, err = o.column(o.info); err != nil {
		return nil, err
	}
	if o.msg.TimeStats, err = o.column(o.times); err != nil {
		return nil, err
	}
	return wire.Encode(dst, o.msg)
}

func (o *outgoing) column(v wire.Value) (*wire.Opaque, error) {
	switch {
	case v == nil:
		return nil, nil
	case o.wrap:
		return wire.Wrap(v)
	}
	return &wire.Opaque{Native: v}, nil
}

// outgoing makes message objects of a stream's batches.
func (c *controller) outgoing(batches []protocol.Batch) ([]*outgoing, error) {
	offset := c.offset()
	var out []*outgoing
	for step, b := range batches {
		o, err := c.message(b, offset)
		if err != nil {
			return nil, fmt.Errorf("controller: batch %d: %w", step, err)
		}
		out = append(out, o)
	}
	return out, nil
}

func (c *controller) message(b protocol.Batch, offset float64) (*outgoing, error) {
	o := &outgoing{msg: &wire.BatchTokenIDOutput{}, wrap: c.hello.Transport == protocol.TransportMsgpack}
	for _, name := range slices.Sorted(maps.Keys(b.Columns)) {
		v, err := fromJSON(b.Columns[name])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		switch name {
		case fieldInfo:
			o.info = v
		case fieldTimes:
			o.times, err = toOwnClock(v, offset)
		default:
			err = wire.Set(o.msg, name, v)
		}
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
	}
	if o.msg.Rows() != len(b.Consumers) {
		return nil, fmt.Errorf("%d rids for %d rows", o.msg.Rows(), len(b.Consumers))
	}
	for row, i := range b.Consumers {
		if i < 0 || i >= len(c.ends) {
			return nil, fmt.Errorf("row %d goes to consumer %d, want 0 to %d", row, i, len(c.ends)-1)
		}
		o.msg.HTTPWorkerIPCs = append(o.msg.HTTPWorkerIPCs, wire.Some(c.ends[i]))
	}
	return o, nil
}

// toOwnClock turns each row's times from the shared clock to this process's,
// and adds the offset to it.
func toOwnClock(v wire.Value, offset float64) (wire.Value, error) {
	rows, ok := v.([]wire.Value)
	if !ok {
		return nil, fmt.Errorf("got %T, want a list", v)
	}
	out := make([]wire.Value, len(rows))
	for i, row := range rows {
		m, ok := row.(wire.Map)
		if !ok {
			return nil, fmt.Errorf("row %d: got %T, want an object", i, row)
		}
		shifted, err := shift(m, -offset)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		out[i] = append(shifted, wire.Pair{Key: clockOffset, Value: offset})
	}
	return out, nil
}

// toSharedClock undoes toOwnClock for one row, with the offset that it carries.
func toSharedClock(v wire.Value) (wire.Value, error) {
	m, ok := v.(wire.Map)
	if !ok {
		return v, nil // a wrong value is reported as it is
	}
	offset, ok := m.Get(clockOffset)
	if !ok {
		return v, nil
	}
	by, ok := offset.(float64)
	if !ok {
		return v, nil
	}
	m = slices.DeleteFunc(slices.Clone(m), func(p wire.Pair) bool { return p.Key == clockOffset })
	return shift(m, by)
}

// shift adds by seconds to every time that is set.
func shift(m wire.Map, by float64) (wire.Map, error) {
	out := slices.Clone(m)
	for i, p := range out {
		key, ok := p.Key.(string)
		if !ok || !strings.HasSuffix(key, "_time") || p.Value == nil {
			continue
		}
		t, ok := p.Value.(float64)
		if !ok {
			return nil, fmt.Errorf("%s: got %T, want a float", key, p.Value)
		}
		if t != 0 {
			out[i].Value = t + by
		}
	}
	return out, nil
}

// delivery makes rows of everything received since reset.
func (b *inbox) delivery() (protocol.Delivery, error) {
	d := protocol.Delivery{Rows: []protocol.Row{}}
	for endpoint, messages := range b.messages {
		position := 0
		for n, r := range messages {
			if r.msg == nil {
				var err error
				if r, err = b.open(r.raw); err != nil {
					return d, fmt.Errorf("consumer %d, message %d: %w", b.number+endpoint, n, err)
				}
			}
			for i := range r.msg.Rows() {
				f, err := rowFields(r, i)
				if err != nil {
					return d, fmt.Errorf("consumer %d, message %d, row %d: %w", b.number+endpoint, n, i, err)
				}
				d.Rows = append(d.Rows, protocol.Row{Endpoint: b.number + endpoint, Position: position, Fields: f})
				position++
			}
		}
	}
	return d, nil
}

func rowFields(r received, i int) (map[string]json.RawMessage, error) {
	row, err := wire.Row(r.msg, i, r.opened)
	if err != nil {
		return nil, err
	}
	if row[fieldTimes], err = toSharedClock(row[fieldTimes]); err != nil {
		return nil, err
	}
	return fields(row)
}

// messageLayouts describes the message that consumers get; every field of it is
// null where nothing set it.
func messageLayouts(class string) []protocol.Message {
	m := protocol.Message{Name: class}
	for _, f := range wire.Fields(class) {
		m.Fields = append(m.Fields, protocol.MessageField{Name: f.Name, Default: []byte("null")})
	}
	return []protocol.Message{m}
}

package controller

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

const fieldIPC = "http_worker_ipcs"

// frame appends a captured frame as a batch.
func (r *recorder) frame(b []byte) error {
	m, err := wire.DecodeTokenID(b)
	if err != nil {
		return err
	}
	if m.Rows() == 0 {
		return errors.New("a batch of no rows")
	}
	batch := protocol.Batch{Columns: map[string]json.RawMessage{}}
	if batch.Consumers, err = r.consumersOf(m); err != nil {
		return err
	}
	rows, err := rowsOf(m)
	if err != nil {
		return err
	}
	for k, f := range wire.Fields(m.Class()) {
		// A message has one Go field for each field on the wire, in its order.
		if f.Name == fieldIPC || f.Opaque || reflect.ValueOf(m).Elem().Field(k).IsNil() {
			continue
		}
		if batch.Columns[f.Name], err = columnOf(rows, f.Name); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for _, f := range []struct {
		name  string
		value *wire.Opaque
	}{{fieldInfo, m.CustomizedInfo}, {fieldTimes, m.TimeStats}} {
		if f.value == nil {
			continue
		}
		if batch.Columns[f.name], err = opaqueOf(f.name, f.value, m.Rows()); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	r.rec.Batches = append(r.rec.Batches, batch)
	return nil
}

// consumersOf numbers the consumers of a batch's rows by their first appearance
// in the recording.
func (r *recorder) consumersOf(m *wire.BatchTokenIDOutput) ([]int, error) {
	var consumers []int
	for i := range m.RIDs {
		if i >= len(m.HTTPWorkerIPCs) || !m.HTTPWorkerIPCs[i].OK {
			return nil, fmt.Errorf("%s[%d] is null, want the consumer of rid %q", fieldIPC, i, m.RIDs[i])
		}
		ipc := m.HTTPWorkerIPCs[i].V
		if _, known := r.consumers[ipc]; !known {
			r.consumers[ipc] = len(r.consumers)
		}
		consumers = append(consumers, r.consumers[ipc])
	}
	return consumers, nil
}

// rowsOf are a batch's rows without their opaque values.
func rowsOf(m *wire.BatchTokenIDOutput) ([]map[string]wire.Value, error) {
	none := map[string]wire.Value{fieldInfo: nil, fieldTimes: nil}
	rows := make([]map[string]wire.Value, m.Rows())
	for i := range rows {
		var err error
		if rows[i], err = wire.Row(m, i, none); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// columnOf is a column as JSON, if a message can be made of that again.
func columnOf(rows []map[string]wire.Value, name string) (json.RawMessage, error) {
	list := make([]wire.Value, len(rows))
	for i, row := range rows {
		list[i] = row[name]
	}
	column, err := plainJSON(list)
	if err != nil {
		return nil, err
	}
	again, err := fromJSON(column)
	if err != nil {
		return nil, err
	}
	return column, wire.Set(&wire.BatchTokenIDOutput{}, name, again)
}

// opaqueOf is an opaque column as JSON: an object of lists, and for time_stats a
// list of objects, with times in the shared clock.
func opaqueOf(name string, o *wire.Opaque, rows int) (json.RawMessage, error) {
	v, err := o.Open()
	if err != nil {
		return nil, err
	}
	m, isMap := v.(wire.Map)
	list, isList := v.([]wire.Value)
	switch {
	case name == fieldInfo && !isMap:
		return nil, fmt.Errorf("got %T, want a map of lists", v)
	case name == fieldInfo:
		for _, p := range m {
			if values, ok := p.Value.([]wire.Value); !ok || len(values) != rows {
				return nil, fmt.Errorf("key %v is not a list of %d values, one a row", p.Key, rows)
			}
		}
	case !isList || len(list) != rows:
		return nil, fmt.Errorf("got %T, want a list of %d maps, one a row", v, rows)
	default:
		if list, err = sharedClock(list); err != nil {
			return nil, err
		}
		v = list
	}
	return plainJSON(v)
}

func sharedClock(list []wire.Value) ([]wire.Value, error) {
	out := make([]wire.Value, len(list))
	for i, v := range list {
		if _, ok := v.(wire.Map); !ok {
			return nil, fmt.Errorf("row %d: got %T, want a map", i, v)
		}
		var err error
		if out[i], err = toSharedClock(v); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return out, nil
}

// plainJSON is toJSON for what can be read back from it.
func plainJSON(v wire.Value) (json.RawMessage, error) {
	if err := readable(v); err != nil {
		return nil, err
	}
	return toJSON(nil, v)
}

// readable refuses what a work file has no form for that is read back.
func readable(v wire.Value) error {
	switch v := v.(type) {
	case wire.Ext:
		return fmt.Errorf("a tensor (extension type %d) cannot be replayed", v.Type)
	case uint64:
		return fmt.Errorf("the integer %d cannot be replayed, want at most %d", v, maxExact)
	case int64:
		if v > maxExact || v < -maxExact {
			return fmt.Errorf("the integer %d cannot be replayed, want at most %d either way", v, maxExact)
		}
	case []wire.Value:
		for i, e := range v {
			if err := readable(e); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case wire.Map:
		for _, p := range v {
			if err := readable(p.Value); err != nil {
				return fmt.Errorf("[%v]: %w", p.Key, err)
			}
		}
	}
	return nil
}

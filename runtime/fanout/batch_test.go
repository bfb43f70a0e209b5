package fanout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

func encode(t testing.TB, m wire.Message) []byte {
	t.Helper()
	frame, err := wire.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func wrap(t testing.TB, v wire.Value) *wire.Opaque {
	t.Helper()
	o, err := wire.Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func repeat[T any](n int, v T) []wire.Opt[T] {
	return wire.Somes(slices.Repeat([]T{v}, n))
}

// published is one step of the published stream: n rows, row i to consumer
// i mod 4, one token a step, finished by length at the third.
func published(step, n int) *wire.BatchTokenIDOutput {
	m := &wire.BatchTokenIDOutput{
		FinishedReasons:            make([]wire.Map, n),
		DecodedTexts:               repeat(n, ""),
		ReadOffsets:                repeat(n, int64(0)),
		SkipSpecialTokens:          repeat(n, true),
		SpacesBetweenSpecialTokens: repeat(n, true),
		NoStopTrim:                 repeat(n, false),
		PromptTokens:               repeat(n, int64(10)),
		ReasoningTokens:            repeat(n, int64(0)),
		CompletionTokens:           repeat(n, int64(step+1)),
		CachedTokens:               repeat(n, int64(0)),
	}
	for i := range n {
		m.RIDs = append(m.RIDs, fmt.Sprint("rid-", i))
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, wire.Some(worker(i%4)))
		ids := wire.Some(wire.IntArray{Values: []int64{int64(step + 1)}})
		m.DecodeIDs, m.OutputIDs = append(m.DecodeIDs, ids), append(m.OutputIDs, ids)
		if step == 2 {
			m.FinishedReasons[i] = wire.Map{{Key: "type", Value: "length"}, {Key: "length", Value: int64(3)}}
		}
	}
	return m
}

func worker(i int) string { return fmt.Sprint("ipc:///run/http-", i) }

// metadata is the published metadata of n rows.
func metadata(n int) (customized, stats wire.Value) {
	var metric, nested, times []wire.Value
	for i := range n {
		at := float64(i) / 1000
		metric = append(metric, []wire.Value{float64(i), 0.5})
		nested = append(nested, []wire.Value{wire.Map{{Key: "x", Value: []wire.Value{int64(i)}}, {Key: "label", Value: "λ"}}})
		times = append(times, wire.Map{
			{Key: "wait_queue_entry_time", Value: 10 + at}, {Key: "forward_entry_time", Value: 12 + at},
			{Key: "prefill_finished_time", Value: 14 + at}, {Key: "queue_duration_s", Value: 0.25 + at},
			{Key: "has_timing_data", Value: true}, {Key: "clock_offset", Value: 123.5},
		})
	}
	return wire.Map{{Key: "metric", Value: metric}, {Key: "nested", Value: nested}}, times
}

// rich is published with both opaque columns, wrapped.
func rich(t testing.TB, step, n int) *wire.BatchTokenIDOutput {
	t.Helper()
	m := published(step, n)
	customized, stats := metadata(n)
	m.CustomizedInfo, m.TimeStats = wrap(t, customized), wrap(t, stats)
	return m
}

// native is published with both opaque columns, not wrapped.
func native(step, n int) *wire.BatchTokenIDOutput {
	m := published(step, n)
	customized, stats := metadata(n)
	m.CustomizedInfo, m.TimeStats = &wire.Opaque{Native: customized}, &wire.Opaque{Native: stats}
	return m
}

// world makes random streams.
type world struct {
	*rand.Rand
	t         testing.TB
	consumers int
	faults    bool // null consumers, offsets out of range, null columns
}

// stream is some steps of interleaved requests that end at different steps.
func (w *world) stream() (frames [][]byte) {
	left := map[string]int{}
	var rids []string
	for i := range 1 + w.IntN(12) {
		rid := fmt.Sprintf("rid-%d-é", i)
		rids = append(rids, rid)
		left[rid] = 1 + w.IntN(5)
	}
	begun := map[string]bool{}
	for len(left) > 0 {
		var batch []string
		for _, rid := range rids {
			if left[rid] > 0 && w.IntN(4) > 0 {
				batch = append(batch, rid)
			}
		}
		w.Shuffle(len(batch), func(i, j int) { batch[i], batch[j] = batch[j], batch[i] })
		m := w.batch(batch, left, begun)
		for _, rid := range batch {
			if left[rid]--; left[rid] == 0 {
				delete(left, rid)
			}
			begun[rid] = true
		}
		frames = append(frames, encode(w.t, m))
		if w.IntN(3) == 0 {
			frames = append(frames, encode(w.t, w.embeddings(w.IntN(9))))
		}
	}
	return frames
}

// embeddings is a batch of n rows of every form.
func (w *world) embeddings(n int) *wire.BatchEmbeddingOutput {
	m := &wire.BatchEmbeddingOutput{}
	w.fill(m, n)
	m.RIDs = make([]string, n)
	m.HTTPWorkerIPCs = make([]wire.Opt[string], n)
	m.FinishedReasons = make([]wire.Map, n)
	m.PooledHiddenStates = make([]wire.Opt[wire.Ext], n)
	for i := range n {
		m.RIDs[i] = fmt.Sprint("embedding-", w.IntN(1000))
		if !w.faults || w.IntN(12) > 0 {
			m.HTTPWorkerIPCs[i] = wire.Some(worker(w.IntN(w.consumers)))
		}
		m.FinishedReasons[i] = w.finish()
		m.PooledHiddenStates[i] = wire.Some(wire.Ext{Type: 2, Data: []byte{1, byte(i)}}) // a tensor, which is passed on
	}
	m.TimeStats = w.column(n)
	return m
}

func (w *world) batch(rids []string, left map[string]int, begun map[string]bool) *wire.BatchTokenIDOutput {
	n := len(rids)
	m := &wire.BatchTokenIDOutput{}
	w.fill(m, n)
	m.RIDs = rids
	m.HTTPWorkerIPCs = make([]wire.Opt[string], n)
	m.FinishedReasons = make([]wire.Map, n)
	m.DecodedTexts = repeat(n, "")
	m.DecodeIDs = make([]wire.Opt[wire.IntArray], n)
	m.ReadOffsets = repeat(n, int64(0))
	m.SkipSpecialTokens, m.SpacesBetweenSpecialTokens, m.NoStopTrim = repeat(n, true), repeat(n, true), repeat(n, w.IntN(2) == 0)
	for i, rid := range rids {
		if !w.faults || w.IntN(12) > 0 {
			m.HTTPWorkerIPCs[i] = wire.Some(worker(w.IntN(w.consumers)))
		}
		ids := make([]int64, w.IntN(4))
		for k := range ids {
			ids[k] = int64(w.IntN(5))
		}
		m.DecodeIDs[i] = wire.Some(wire.IntArray{Values: ids})
		if !begun[rid] {
			m.DecodedTexts[i] = wire.Some([]string{"", "before "}[w.IntN(2)])
			m.ReadOffsets[i] = wire.Some(int64(w.IntN(len(ids) + 1)))
		}
		if left[rid] == 1 {
			m.FinishedReasons[i] = w.finish()
		}
		if w.faults {
			w.spoil(m, i)
		}
	}
	w.opaque(m, n)
	return m
}

func (w *world) finish() wire.Map {
	return []wire.Map{
		{{Key: "type", Value: "length"}, {Key: "length", Value: int64(w.IntN(9))}},
		{{Key: "type", Value: "stop"}, {Key: "matched", Value: int64(w.IntN(4))}},
		{{Key: "type", Value: "stop"}, {Key: "matched", Value: []string{"b", " c", "zz"}[w.IntN(3)]}},
		{{Key: "type", Value: "stop"}, {Key: "matched", Value: []wire.Value{int64(1), int64(2)}}},
		{{Key: "type", Value: "abort"}, {Key: "message", Value: "client left"}, {Key: "status_code", Value: nil}},
	}[w.IntN(5)]
}

// spoil makes one of the columns that row i needs unusable, sometimes.
func (w *world) spoil(m *wire.BatchTokenIDOutput, i int) {
	switch w.IntN(40) {
	case 0:
		m.ReadOffsets[i] = wire.Some(int64(99))
	case 1:
		m.ReadOffsets[i] = wire.Opt[int64]{}
	case 2:
		m.DecodeIDs[i] = wire.Opt[wire.IntArray]{}
	case 3:
		m.NoStopTrim[i] = wire.Opt[bool]{}
	case 4:
		m.FinishedReasons = m.FinishedReasons[:i:i] // the column ends; set again by later finishes
		m.FinishedReasons = append(m.FinishedReasons, make([]wire.Map, len(m.RIDs)-i)...)
	case 5:
		m.FinishedReasons[i] = wire.Map{{Key: "matched", Value: "no type"}}
	case 6:
		m.DecodedTexts[i] = wire.Opt[string]{}
	}
}

// opaque gives the batch no metadata, native metadata, or wrapped, whole or
// short; a map or a list.
func (w *world) opaque(m *wire.BatchTokenIDOutput, n int) {
	m.CustomizedInfo, m.TimeStats = w.column(n), w.column(n)
}

func (w *world) column(n int) *wire.Opaque {
	if w.IntN(4) == 0 {
		return nil
	}
	rows := n
	if w.IntN(4) == 0 {
		rows = w.IntN(n + 1)
	}
	customized, stats := metadata(rows)
	v := []wire.Value{customized, stats}[w.IntN(2)]
	if w.IntN(3) == 0 {
		return &wire.Opaque{Native: v}
	}
	return wrap(w.t, v)
}

// fill gives every field a column of random values, null or short at times.
// Tensors stay null: what becomes text cannot hold them.
func (w *world) fill(m wire.Message, n int) {
	s := reflect.ValueOf(m).Elem()
	for i := range s.NumField() {
		f := s.Field(i)
		if f.Kind() != reflect.Slice || w.IntN(3) == 0 || f.Type() == reflect.TypeFor[[]wire.Opt[wire.Ext]]() {
			continue
		}
		rows := n
		if w.IntN(5) == 0 {
			rows = w.IntN(n + 1)
		}
		f.Set(reflect.MakeSlice(f.Type(), rows, rows))
		for k := range rows {
			w.value(f.Index(k))
		}
	}
}

func (w *world) value(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *string:
		*p = "text"
	case *bool:
		*p = w.IntN(2) == 0
	case *int64:
		*p = w.Int64N(1<<40) - 1000
	case *float64:
		*p = w.Float64()
	case *wire.IntArray:
		p.Values = []int64{w.Int64N(1000)}
	case *wire.Map:
		if w.IntN(3) > 0 {
			*p = wire.Map{{Key: "device", Value: w.Int64N(99)}, {Key: "kind", Value: "λ"}}
		}
	case *wire.Embedding:
		*p = []wire.Value{
			nil, 0.25, []wire.Value{0.5, -1.5, int64(2)}, []wire.Value{[]wire.Value{0.5}, []wire.Value{}},
			wire.Map{{Key: int64(70000), Value: 0.5}, {Key: int64(3), Value: 1.0}},
		}[w.IntN(5)]
	case *wire.Value:
		*p = []wire.Value{nil, int64(7), 0.25, "text", []wire.Value{1.5, nil}}[w.IntN(5)]
	default:
		w.composite(v)
	}
}

func (w *world) composite(v reflect.Value) {
	if w.IntN(4) == 0 {
		return // null
	}
	switch v.Kind() {
	case reflect.Slice:
		n := w.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for k := range n {
			w.value(v.Index(k))
		}
	case reflect.Struct: // an Opt
		v.FieldByName("OK").SetBool(true)
		w.value(v.FieldByName("V"))
	default:
		w.t.Fatalf("no random %s", v.Type())
	}
}

package wire

import (
	"fmt"
	"testing"
)

// richBatch is the published fixture's batch with metadata in our wrapper.
func richBatch(t testing.TB, rows int) *BatchTokenIDOutput {
	t.Helper()
	m := &BatchTokenIDOutput{}
	stats, metric, nested := make([]Value, rows), make([]Value, rows), make([]Value, rows)
	for i := range rows {
		f := float64(i)
		m.RIDs = append(m.RIDs, fmt.Sprintf("rid-7005-%d", i))
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, Some(fmt.Sprintf("ipc:///run/fanout-golden1/http-%d", i%4)))
		m.DecodeIDs = append(m.DecodeIDs, Some(IntArray{Values: []int64{2}}))
		stats[i] = Map{
			{"has_timing_data", true}, {"wait_queue_entry_time", 10 + f/1000}, {"forward_entry_time", 12 + f/1000},
			{"prefill_finished_time", 14 + f/1000}, {"queue_duration_s", 0.25 + f/1000}, {"diff_realtime_monotonic", 1.7e9 + 0.5},
		}
		metric[i] = []Value{f, 0.5}
		nested[i] = []Value{Map{{"x", []Value{int64(i)}}, {"label", "λ"}}}
	}
	m.FinishedReasons = make([]Map, rows)
	m.DecodedTexts = Somes(make([]string, rows))
	m.OutputIDs = m.DecodeIDs
	m.ReadOffsets = Somes(make([]int64, rows))
	m.SkipSpecialTokens = Somes(make([]bool, rows))
	m.SpacesBetweenSpecialTokens, m.NoStopTrim = m.SkipSpecialTokens, m.SkipSpecialTokens
	m.PromptTokens, m.ReasoningTokens, m.CompletionTokens, m.CachedTokens = m.ReadOffsets, m.ReadOffsets, m.ReadOffsets, m.ReadOffsets
	var err error
	if m.TimeStats, err = Wrap(stats); err != nil {
		t.Fatal(err)
	}
	if m.CustomizedInfo, err = Wrap(Map{{"metric", metric}, {"nested", nested}}); err != nil {
		t.Fatal(err)
	}
	return m
}

func BenchmarkDecode310(b *testing.B) {
	frame := mustEncode(b, richBatch(b, 310))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeTokenID(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode310(b *testing.B) {
	m := richBatch(b, 310)
	buf := mustEncode(b, m)
	b.SetBytes(int64(len(buf)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = Encode(buf[:0], m); err != nil {
			b.Fatal(err)
		}
	}
}

// One op is 310 rows: taken and encoded one by one, the metadata opened once.
func BenchmarkTakeRows310(b *testing.B) {
	m := richBatch(b, 310)
	out, err := m.Str(make([]string, m.Rows()))
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		kept := map[string]Value{}
		open := func(field string, o *Opaque) (Value, error) {
			var err error
			if kept[field] == nil {
				kept[field], err = o.Open()
			}
			return kept[field], err
		}
		for i := range m.Rows() {
			row, err := Take(out, []int{i}, open)
			if err != nil {
				b.Fatal(err)
			}
			if buf, err = Encode(buf[:0], row); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// One op is 310 rows: the batch parsed, every row appended.
func BenchmarkViewRows310(b *testing.B) {
	frame := mustEncode(b, richBatch(b, 310))
	v := &View{}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Parse(frame); err != nil {
			b.Fatal(err)
		}
		buf = buf[:0]
		for i := range v.Rows() {
			buf = v.AppendRow(buf, i, nil, nil)
		}
	}
}

func BenchmarkViewParse310(b *testing.B) {
	frame := mustEncode(b, richBatch(b, 310))
	v := &View{}
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if err := v.Parse(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck310(b *testing.B) {
	frame := mustEncode(b, richBatch(b, 310))
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if err := Check(frame); err != nil {
			b.Fatal(err)
		}
	}
}

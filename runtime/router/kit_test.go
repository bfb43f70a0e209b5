package router

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// target records what one detokenizer gets; from message fails on it refuses.
type target struct {
	frames  [][]byte
	flushed int
	refuses bool
	chokes  bool // Flush fails
}

var errGone = errors.New("gone")

func (s *target) Send(frame []byte) error {
	if s.refuses {
		return errGone
	}
	s.frames = append(s.frames, slices.Clone(frame))
	return nil
}

func (s *target) Flush() error {
	if s.chokes {
		return errGone
	}
	s.flushed = len(s.frames)
	return nil
}

func targets(n int) ([]*target, []Sender) {
	list, senders := make([]*target, n), make([]Sender, n)
	for i := range list {
		list[i] = &target{}
		senders[i] = list[i]
	}
	return list, senders
}

// rows are the rows that a target got, as values.
func (s *target) rows(t testing.TB) (all []map[string]wire.Value) {
	t.Helper()
	if s.flushed != len(s.frames) {
		t.Errorf("%d of %d messages flushed", s.flushed, len(s.frames))
	}
	for _, frame := range s.frames {
		m, err := wire.Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Rows() {
			all = append(all, row(t, m, i))
		}
	}
	return all
}

func row(t testing.TB, m wire.Message, i int) map[string]wire.Value {
	t.Helper()
	columns, opened := map[string]*wire.Opaque{}, map[string]wire.Value{}
	switch m := m.(type) {
	case *wire.BatchTokenIDOutput:
		columns["customized_info"], columns["time_stats"] = m.CustomizedInfo, m.TimeStats
	case *wire.BatchEmbeddingOutput:
		columns["time_stats"] = m.TimeStats
	}
	for name, o := range columns {
		if o == nil {
			continue
		}
		var err error
		if opened[name], err = o.Open(); err != nil {
			t.Fatal(err)
		}
	}
	r, err := wire.Row(m, i, opened)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t testing.TB, m wire.Message) []byte {
	t.Helper()
	frame, err := wire.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// random is a batch of some rows; the metadata is absent, wrapped or native.
func random(t testing.TB, rng *rand.Rand, rows int) *wire.BatchTokenIDOutput {
	t.Helper()
	m := &wire.BatchTokenIDOutput{}
	var info, times []wire.Value
	for i := range rows {
		m.RIDs = append(m.RIDs, fmt.Sprintf("rid-%x-%d", rng.Uint32(), i))
		ipc := wire.Some(fmt.Sprintf("ipc:///run/c%d", rng.IntN(5)))
		if rng.IntN(10) == 0 {
			ipc.OK = false
		}
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, ipc)
		m.DecodeIDs = append(m.DecodeIDs, wire.Some(wire.IntArray{Values: []int64{rng.Int64N(1000), int64(i)}}))
		m.FinishedReasons = append(m.FinishedReasons, []wire.Map{nil, {{Key: "type", Value: "length"}}}[rng.IntN(2)])
		m.CompletionTokens = append(m.CompletionTokens, wire.Some(rng.Int64N(1<<40)))
		info = append(info, []wire.Value{rng.Float64(), fmt.Sprint("λ", i)})
		times = append(times, wire.Map{{Key: "a_time", Value: rng.Float64()}})
	}
	m.CompletionTokens = m.CompletionTokens[:rng.IntN(rows+1)] // a short column
	if len(m.CompletionTokens) == 0 {
		m.CompletionTokens = nil
	}
	switch rng.IntN(3) {
	case 0:
		m.CustomizedInfo = &wire.Opaque{Native: wire.Map{{Key: "k", Value: info}}}
		m.TimeStats = &wire.Opaque{Native: times}
	case 1:
		m.CustomizedInfo, m.TimeStats = wrapped(t, wire.Map{{Key: "k", Value: info}}), wrapped(t, times)
	}
	return m
}

// embeddings is random with vectors in place of tokens.
func embeddings(t testing.TB, rng *rand.Rand, rows int) *wire.BatchEmbeddingOutput {
	t.Helper()
	m := random(t, rng, rows)
	e := &wire.BatchEmbeddingOutput{RIDs: m.RIDs, HTTPWorkerIPCs: m.HTTPWorkerIPCs, FinishedReasons: m.FinishedReasons, TimeStats: m.TimeStats}
	for range rows {
		e.Embeddings = append(e.Embeddings, []wire.Value{rng.Float64(), rng.Float64()})
	}
	return e
}

func wrapped(t testing.TB, v wire.Value) *wire.Opaque {
	t.Helper()
	o, err := wire.Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// crc is the polynomial division by which crc32 is defined, bit by bit.
func crc(key string) uint32 {
	c := ^uint32(0)
	for _, b := range []byte(key) {
		c ^= uint32(b)
		for range 8 {
			if c&1 == 1 {
				c = c>>1 ^ 0xedb88320
			} else {
				c >>= 1
			}
		}
	}
	return ^c
}

func sameRows(t testing.TB, where string, got, want []map[string]wire.Value) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", where, len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s, row %d: got %v, want %v", where, i, got[i], want[i])
		}
	}
}

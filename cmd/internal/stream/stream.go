// Package stream makes the streams of trials as data. A stream is a pure
// function of the plan's seed and of the place of its trial in the run, so both
// arms get the same bytes, and nobody who has the plan needs the data.
//
// The seed stream is the published fixture: three steps of one token a row,
// words "a", "b", "c" joined by blanks, row i to consumer i mod N, length as the
// finish reason of the last step. rids are unique in a run. Values of rich
// metadata are new in every batch of every trial, so that remembering them gains
// nothing, and of one encoded width (floats; integers of five bytes in
// MessagePack; labels of six bytes), so that every trial moves the same number
// of bytes.
package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Steps is the number of batches of the seed stream and of the fence.
const Steps = 3

// Metadata kinds of a cell.
const (
	Plain = "plain"
	Rich  = "rich"
)

// Place is a trial's place in a run. Ordinal is unique to it and shared by both
// arms; WarmupRepetition marks the warm-up stream of a fresh process.
type Place struct {
	Round, Repetition int
	Cell              protocol.Cell
	Ordinal           uint32
}

// WarmupRepetition is the repetition number of warm-up streams.
const WarmupRepetition = -1

// promptTokens is the fixture's prompt length; the prompt itself is not decoded.
const promptTokens = 10

// Seed returns the seed stream of one trial and its fence, for so many
// consumers (HTTP workers).
func Seed(seed uint64, p Place, consumers int) (protocol.Work, error) {
	g := generator{rand: rand.New(rand.NewPCG(seed, uint64(p.Ordinal)))}
	w := protocol.Work{
		Vocabulary: fixtureVocabulary(),
		PromptIDs:  make([]int64, promptTokens),
	}
	for i := range w.PromptIDs {
		w.PromptIDs[i] = 1
	}
	for step := range Steps {
		w.Stream = append(w.Stream, g.batch("rid", p, step, p.Cell.Count, consumers, p.Cell.Metadata == Rich))
		w.Fence = append(w.Fence, g.batch("end", p, step, consumers, consumers, false))
	}
	return w, g.err
}

func fixtureVocabulary() protocol.Vocabulary {
	v := protocol.Vocabulary{Kind: protocol.VocabularyWords}
	for i, word := range []string{"[UNK]", "a", "b", "c"} {
		v.Tokens = append(v.Tokens, protocol.Token{ID: int64(i), Bytes: []byte(word)})
	}
	return v
}

type generator struct {
	rand *rand.Rand
	err  error
}

// column marshals values; the first failure is kept, since what is marshalled
// here is made here and a failure is a mistake in this package.
func (g *generator) column(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("stream: %w", err)
	}
	return b
}

func repeat[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func constant[T any](v T) func(int) T { return func(int) T { return v } }

func (g *generator) batch(prefix string, p Place, step, rows, consumers int, rich bool) protocol.Batch {
	ids := repeat(rows, constant([]int64{int64(step + 1)}))
	finish := any(nil)
	if step == Steps-1 {
		finish = map[string]any{"type": "length", "length": Steps}
	}
	columns := map[string]json.RawMessage{
		"rids":                          g.column(repeat(rows, func(i int) string { return fmt.Sprintf("%s-%08x-%05x", prefix, p.Ordinal, i) })),
		"finished_reasons":              g.column(repeat(rows, constant(finish))),
		"decoded_texts":                 g.column(repeat(rows, constant(""))),
		"decode_ids":                    g.column(ids),
		"read_offsets":                  g.column(repeat(rows, constant(0))),
		"output_ids":                    g.column(ids),
		"skip_special_tokens":           g.column(repeat(rows, constant(true))),
		"spaces_between_special_tokens": g.column(repeat(rows, constant(true))),
		"no_stop_trim":                  g.column(repeat(rows, constant(false))),
		"prompt_tokens":                 g.column(repeat(rows, constant(promptTokens))),
		"reasoning_tokens":              g.column(repeat(rows, constant(0))),
		"completion_tokens":             g.column(repeat(rows, constant(step+1))),
		"cached_tokens":                 g.column(repeat(rows, constant(0))),
	}
	if rich {
		columns["customized_info"] = g.column(g.customizedInfo(rows))
		columns["time_stats"] = g.column(repeat(rows, g.timeStats))
	}
	return protocol.Batch{Consumers: repeat(rows, func(i int) int { return i % consumers }), Columns: columns}
}

// customizedInfo has the fixture's two keys: a list of two floats, and a list
// of one map with a list of one integer and a label beyond ASCII.
func (g *generator) customizedInfo(rows int) map[string]any {
	metric := repeat(rows, func(i int) []float64 { return []float64{float64(i) + g.fraction(), g.fraction()} })
	nested := repeat(rows, func(int) []any {
		x := 1<<16 + g.rand.Int64N(1<<31) // five bytes in MessagePack
		return []any{map[string]any{"x": []int64{x}, "label": fmt.Sprintf("λ%04x", g.rand.Uint32()&0xffff)}}
	})
	return map[string]any{"metric": metric, "nested": nested}
}

// timeBase is where the fixture's clock starts, in the shared clock.
const timeBase = 1_800_000_000

// timeStats has the fixture's four times of row i; those that end in _time are
// in the shared clock.
func (g *generator) timeStats(i int) map[string]any {
	// Away from whole milliseconds: near 1.8e9 a float64 has 2.4e-7 s, and a
	// time that rounds to a whole number would be written as an integer. The
	// conversion forbids a fused multiply-add, so every machine makes the same data.
	at := func(s float64) float64 {
		return timeBase + s + float64(i)/1000 + (0.1+float64(0.8*g.fraction()))/1000
	}
	return map[string]any{
		"has_timing_data":       true,
		"wait_queue_entry_time": at(10),
		"forward_entry_time":    at(12),
		"prefill_finished_time": at(14),
		"queue_duration_s":      0.25 + float64(i)/1000 + g.fraction()/1000,
	}
}

// fraction is in (0, 1) and never a whole number, so that no writer shortens it
// to an integer.
func (g *generator) fraction() float64 {
	return (float64(g.rand.Uint32()) + 0.5) / (1 << 32)
}

package stream

import (
	"encoding/json"
	"fmt"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Steps is the number of batches of the seed stream and of every fence.
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

// check refuses what the values of so many batches could not be made for. The
// last two batches of a run are the full stream's.
func (p Place) check(consumers, steps int) error {
	for _, f := range []struct {
		name       string
		value, min int
		max        int
	}{
		{"rows of a batch", p.Cell.Count, 1, maxRows},
		{"consumers", consumers, 1, maxRows},
		{"ordinal of the trial", int(p.Ordinal), 0, (maxBatches-FullSteps)/steps - 1},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("stream: %s is %d, want %d to %d", f.name, f.value, f.min, f.max)
		}
	}
	if p.Cell.Metadata != Plain && p.Cell.Metadata != Rich {
		return fmt.Errorf("stream: metadata %q, want %q or %q", p.Cell.Metadata, Plain, Rich)
	}
	return nil
}

// Seed returns the seed stream of one trial and its fence, for so many
// consumers (HTTP workers).
func Seed(seed uint64, p Place, consumers int) (protocol.Work, error) {
	if err := p.check(consumers, Steps); err != nil {
		return protocol.Work{}, err
	}
	g := generator{seed: seed}
	w := protocol.Work{
		Vocabulary: fixtureVocabulary(),
		PromptIDs:  make([]int64, promptTokens),
	}
	for i := range w.PromptIDs {
		w.PromptIDs[i] = 1
	}
	for step := range Steps {
		b := g.batch("rid", p, step, p.Cell.Count, consumers, int64(step+1))
		if p.Cell.Metadata == Rich {
			g.metadata(b.Columns, uint64(p.Ordinal)*Steps+uint64(step), p.Cell.Count)
		}
		w.Stream = append(w.Stream, b)
	}
	w.Fence = g.fence(p, consumers, []int64{1, 2, 3})
	return w, g.err
}

func fixtureVocabulary() protocol.Vocabulary {
	v := protocol.Vocabulary{Kind: protocol.VocabularyWords}
	for i, word := range []string{"[UNK]", "a", "b", "c"} {
		v.Tokens = append(v.Tokens, protocol.Token{ID: int64(i), Bytes: []byte(word)})
	}
	return v
}

// finish is the reason of the last step.
type finish struct {
	Type   string `json:"type"`
	Length int    `json:"length"`
}

type generator struct {
	seed uint64
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

// fence is three plain steps of one row for each consumer, which bring one of
// ids each.
func (g *generator) fence(p Place, consumers int, ids []int64) []protocol.Batch {
	var batches []protocol.Batch
	for step := range Steps {
		batches = append(batches, g.batch("end", p, step, consumers, consumers, ids[step]))
	}
	return batches
}

func (g *generator) batch(prefix string, p Place, step, rows, consumers int, id int64) protocol.Batch {
	ids := repeat(rows, constant([]int64{id}))
	var reason *finish
	if step == Steps-1 {
		reason = &finish{Type: "length", Length: Steps}
	}
	return protocol.Batch{Consumers: repeat(rows, func(i int) int { return i % consumers }), Columns: map[string]json.RawMessage{
		"rids":                          g.column(repeat(rows, func(i int) string { return fmt.Sprintf("%s-%08x-%05x", prefix, p.Ordinal, i) })),
		"finished_reasons":              g.column(repeat(rows, constant(reason))),
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
	}}
}

// metadata adds the columns of a batch with that number in the run.
func (g *generator) metadata(columns map[string]json.RawMessage, number uint64, rows int) {
	v := newValues(g.seed, number)
	columns["customized_info"] = g.column(info{repeat(rows, v.metric), repeat(rows, v.nested)})
	columns["time_stats"] = g.column(repeat(rows, v.times))
}

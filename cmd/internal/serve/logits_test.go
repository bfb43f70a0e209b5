package serve

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// reference is the model that a server without files makes of its seed, without a
// server: what is known of it are its logits, by package qwen3 alone.
type reference struct {
	t       *testing.T
	config  qwen3.Config
	weights *qwen3.Weights
	rows    [][]float32 // the logits of every position asked for
}

// newReference is the model of the default seed.
func newReference(t *testing.T) *reference {
	t.Helper()
	r := &reference{t: t, config: qwen3.Small()}
	var err error
	if r.weights, err = qwen3.Seeded(r.config, 0); err != nil {
		t.Fatal(err)
	}
	return r
}

// Choose and Logprobs make it a qwen3.Sampler that only looks.
func (r *reference) Choose(_ *model.Work, logits []float32) (model.Choice, error) {
	r.rows = append(r.rows, slices.Clone(logits))
	return model.Choice{}, nil
}

func (r *reference) Logprobs(logits []float32, _ int64, _ model.Logprobs) (model.Position, error) {
	r.rows = append(r.rows, slices.Clone(logits))
	return model.Position{}, nil
}

// logits has a row for each id: what the model says of the one behind it.
func (r *reference) logits(ids []int64) [][]float32 {
	r.t.Helper()
	m, err := qwen3.New(r.config, r.weights, len(ids), r)
	if err != nil {
		r.t.Fatal(err)
	}
	w := model.Work{RID: "r", IDs: ids, Tokens: ids, Prompt: len(ids), Next: -1, Sample: true, Logprobs: model.Logprobs{Want: true}}
	for i := range ids {
		w.Slots = append(w.Slots, int32(i))
	}
	r.rows = nil
	if _, err := m.Forward(&model.Batch{Work: []model.Work{w}}); err != nil {
		r.t.Fatal(err)
	}
	return r.rows
}

// greedy goes on for n tokens with the most likely one.
func (r *reference) greedy(prompt []int64, n int) []int64 {
	r.t.Helper()
	all := slices.Clone(prompt)
	for range n {
		rows := r.logits(all)
		all = append(all, ranked(rows[len(rows)-1])[0])
	}
	return all[len(prompt):]
}

// ranked are all ids, the most likely first, of equals the lower one.
func ranked(logits []float32) []int64 {
	ids := make([]int64, len(logits))
	for i := range ids {
		ids[i] = int64(i)
	}
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) })
	return ids
}

// logSoftmax of the logits over the temperature, in float32.
func logSoftmax(logits []float32, temperature float32) []float64 {
	scaled := make([]float32, len(logits))
	for i, l := range logits {
		scaled[i] = l / temperature
	}
	top, sum := slices.Max(scaled), float32(0)
	for _, l := range scaled {
		sum += float32(math.Exp(float64(l - top)))
	}
	log := float32(math.Log(float64(sum)))
	out := make([]float64, len(logits))
	for i, l := range scaled {
		out[i] = float64(l - top - log)
	}
	return out
}

// tokenText is a token of the small model by itself.
func tokenText(id int64) string {
	if id >= 256 {
		return qwen3.Specials[id-256]
	}
	return strings.ToValidUTF8(string([]byte{byte(id)}), "\ufffd")
}

// smallIDs are the small model's ids of text: bytes, and special tokens.
func smallIDs(text string) (ids []int64) {
next:
	for text != "" {
		for i, name := range qwen3.Specials {
			if rest, is := strings.CutPrefix(text, name); is {
				ids, text = append(ids, int64(256+i)), rest
				continue next
			}
		}
		ids, text = append(ids, int64(text[0])), text[1:]
	}
	return ids
}

// near says whether two log-probabilities are the same but for the order of sums.
func near(a, b float64) bool { return math.Abs(a-b) <= 2e-5*(1+math.Abs(b)) }

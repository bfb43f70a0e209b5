package qwen3

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Sampler makes tokens and log-probabilities of logits, one for each id of the
// vocabulary. Choose may change the logits; neither may keep them. An error of it
// is Forward's; one that concerns the request alone goes into its Choice.
type Sampler interface {
	// Choose gives the token behind a work, and with Logprobs.Want its Step.
	Choose(w *model.Work, logits []float32) (model.Choice, error)
	// Logprobs is what the logits say of an input token.
	Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error)
}

// Greedy takes the largest logit and refuses a request that asks for more.
type Greedy struct{}

// Choose takes the largest logit, the lowest id of equals.
func (g Greedy) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	if s := w.Sampling; s != nil {
		for _, f := range []struct {
			name        string
			value, want float64
		}{
			{"temperature", s.Temperature, 0}, {"frequency_penalty", s.FrequencyPenalty, 0},
			{"presence_penalty", s.PresencePenalty, 0}, {"min_new_tokens", float64(s.MinNewTokens), 0},
			{"repetition_penalty", cmp.Or(s.RepetitionPenalty, 1), 1},
		} {
			if f.value != f.want {
				return model.Choice{}, fmt.Errorf("%s is %v, expected %v: tokens are chosen greedily", f.name, f.value, f.want)
			}
		}
	}
	c := model.Choice{Token: model.Greedy(logits)}
	var err error
	if w.Logprobs.Want {
		c.Step, err = g.Logprobs(logits, c.Token, w.Logprobs)
	}
	return c, err
}

// Logprobs are logarithms of the softmax over the whole vocabulary, in float32.
func (Greedy) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	top := slices.Max(logits)
	var sum float32
	for _, l := range logits {
		sum += exp(l - top)
	}
	logSum := float32(math.Log(float64(sum)))
	of := func(id int64) model.TokenLogprob {
		return model.TokenLogprob{ID: id, Val: float64(logits[id] - top - logSum)}
	}
	p := model.Position{Token: of(id)}
	for _, other := range want.IDs {
		p.IDs = append(p.IDs, of(other))
	}
	if want.Top > 0 {
		for _, likely := range mostLikely(logits, want.Top) {
			p.Top = append(p.Top, of(likely))
		}
	}
	return p, nil
}

// mostLikely are the n ids of the largest logits, the largest first, and of
// equals the lowest id.
func mostLikely(logits []float32, n int) []int64 {
	ids := make([]int64, len(logits))
	for i := range ids {
		ids[i] = int64(i)
	}
	slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(logits[b], logits[a]) })
	return ids[:min(n, len(ids))]
}

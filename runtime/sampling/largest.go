package sampling

import (
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// sumMargin is how far off, as a share, a sum may be that comes from a device: float32
// over a large vocabulary. A cut so near is not decided by it.
const sumMargin = 1e-3

// Enough says how many of the largest logits [Sampler.ChooseOf] needs to choose what
// Choose would, and at which temperature it wants the sum over all; 0 where it needs all
// logits: penalties and biases in force, log-probabilities, no top_k, parameters that cannot be.
func (s *Sampler) Enough(w *model.Work) (k int, temperatureOfSum float64) {
	p := w.Sampling
	if p == nil || w.Logprobs.Want || check(p, s.limits.VocabSize) != nil || w.Prompt < 0 || w.Prompt > len(w.Tokens) {
		return 0, 0
	}
	generated := len(w.Tokens) - w.Prompt
	penalties := p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || p.RepetitionPenalty != 1
	switch {
	case penalties && generated > 0, generated < p.MinNewTokens, len(p.LogitBias) > 0:
		return 0, 0
	case greedy(p):
		return 1, 1
	case p.TopK == -1:
		return 0, 0
	}
	return min(p.TopK, s.limits.VocabSize), temperature(p)
}

// ChooseOf is Choose for as many of a row's logits as Enough said, the largest first and
// of equals the lower id, and log Σ exp(logit/temperature) over all ids, which is only looked at where
// top_p takes something away. Not ok where all logits have to be looked at: one that is no number, which Choose
// names, or a cut by top_p that such a sum does not decide.
func (s *Sampler) ChooseOf(w *model.Work, ids []int64, logits []float32, logSum float64) (c model.Choice, ok bool) {
	for _, v := range logits {
		if l := float64(v); math.IsNaN(l) || math.IsInf(l, 0) {
			return model.Choice{}, false
		}
	}
	token := ids[0]
	if p := w.Sampling; !greedy(p) {
		if math.IsNaN(logSum) || math.IsInf(logSum, 0) {
			return model.Choice{}, false
		}
		if token, ok = s.drawOf(w, ids, logits, logSum); !ok {
			return model.Choice{}, false
		}
	}
	return model.Choice{Token: token, Step: model.Position{Token: model.TokenLogprob{ID: token}}}, true
}

// drawOf is steps 6 to 8 of the package documentation with nothing but the ids that top_k keeps.
func (s *Sampler) drawOf(w *model.Work, ids []int64, logits []float32, logSum float64) (int64, bool) {
	p, best, t := w.Sampling, float64(logits[0]), temperature(w.Sampling)
	s.weights = s.weights[:0]
	for _, l := range logits {
		s.weights = append(s.weights, math.Exp((float64(l)-best)/t))
	}
	kept, ok := kept(p, s.weights, math.Exp(logSum-best/t))
	if !ok {
		return 0, false
	}
	s.order = s.order[:0]
	for i := range kept {
		s.order = append(s.order, i)
	}
	slices.SortFunc(s.order, func(a, b int) int { return int(ids[a] - ids[b]) })
	total := 0.0
	for _, i := range s.order {
		total += s.weights[i]
	}
	target, sum, chosen := float64(s.uniform(w)*total), 0.0, 0
	for _, i := range s.order {
		if s.weights[i] == 0 {
			continue
		}
		chosen = i
		if sum += s.weights[i]; sum > target {
			break
		}
	}
	return ids[chosen], true
}

// kept is how many of the weights, in order, top_p and min_p keep; not ok where total, which is
// inexact, does not decide it.
func kept(p *model.Sampling, weights []float64, total float64) (n int, ok bool) {
	before := 0.0
	for i, weight := range weights {
		if i > 0 && weight < p.MinP {
			return i, true
		}
		if i > 0 && p.TopP < 1 {
			if over := before - float64(p.TopP*total); math.Abs(over) < sumMargin*total {
				return 0, false
			} else if over > 0 {
				return i, true
			}
		}
		before += weight
	}
	return len(weights), true
}

// uniform is the work's random number.
func (s *Sampler) uniform(w *model.Work) float64 {
	return Uniform(Random(Key(w.Sampling.Seed, s.seed, w.RID), [4]uint64{uint64(len(w.Tokens))})[0])
}

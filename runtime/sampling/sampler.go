package sampling

import (
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Sampler chooses tokens. What it keeps between calls is memory to work in; one
// goroutine at a time may use it.
type Sampler struct {
	limits  model.Limits
	seed    uint64
	logits  []float64     // of the request at work, adjusted
	weights []float64     // their softmax, without its denominator: the largest is 1
	counts  map[int64]int // of the generated tokens
	ranking ranking
	order   []int // of the weights by id, where there are few
}

// New makes a sampler. The seed is for requests that have none.
func New(limits model.Limits, seed uint64) (*Sampler, error) {
	if limits.VocabSize < 1 || limits.VocabSize > math.MaxInt32 {
		return nil, fmt.Errorf("sampling: vocab_size is %d, expected 1 to %d", limits.VocabSize, math.MaxInt32)
	}
	for i, id := range limits.EOS {
		if id < 0 || id >= int64(limits.VocabSize) {
			return nil, fmt.Errorf("sampling: EOS[%d] is %d, expected 0 to %d", i, id, limits.VocabSize-1)
		}
	}
	return &Sampler{limits: limits, seed: seed, counts: map[int64]int{}}, nil
}

// Choose gives the token behind the work, for the logits of its last position,
// and where wanted its log-probabilities. It leaves Choice.Input to the model.
func (s *Sampler) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	token, err := s.choose(w, logits)
	if err != nil {
		return model.Choice{}, fmt.Errorf("sampling: rid %q: %w", w.RID, err)
	}
	c := model.Choice{Token: token, Step: model.Position{Token: model.TokenLogprob{ID: token}}}
	if w.Logprobs.Want {
		c.Step = s.position(token, w.Logprobs, temperature(w.Sampling))
	}
	return c, nil
}

func (s *Sampler) choose(w *model.Work, logits []float32) (int64, error) {
	if w.Sampling == nil {
		return 0, errors.New("the work has no sampling parameters")
	}
	if err := check(w.Sampling, s.limits.VocabSize); err != nil {
		return 0, err
	}
	if err := s.checkWanted(w.Logprobs); err != nil {
		return 0, err
	}
	if err := s.take(logits); err != nil {
		return 0, err
	}
	if err := s.adjust(w); err != nil {
		return 0, err
	}
	best := argmax(s.logits)
	if math.IsInf(s.logits[best], 1) {
		return 0, fmt.Errorf("the logit of id %d is %g divided by repetition_penalty %g, expected a finite number", best, logits[best], w.Sampling.RepetitionPenalty)
	}
	if math.IsInf(s.logits[best], -1) {
		return 0, fmt.Errorf("no token is left: min_new_tokens is %d, and every id is a stop token or padding", w.Sampling.MinNewTokens)
	}
	if greedy(w.Sampling) {
		return int64(best), nil
	}
	return s.draw(w.Sampling, s.logits[best], s.uniform(w)), nil
}

func (s *Sampler) checkWanted(want model.Logprobs) error {
	if !want.Want {
		return nil
	}
	return CheckLogprobs(want, s.limits.VocabSize)
}

// take copies the logits, and stops at one that is none. −∞ is padding.
func (s *Sampler) take(logits []float32) error {
	if len(logits) != s.limits.VocabSize {
		return fmt.Errorf("%d logits, expected one for each of %d ids", len(logits), s.limits.VocabSize)
	}
	s.logits = s.logits[:0]
	padding := 0
	for id, v := range logits {
		l := float64(v)
		if math.IsNaN(l) || math.IsInf(l, 1) {
			return fmt.Errorf("the logit of id %d is %v, expected a finite number or -Inf", id, v)
		}
		if math.IsInf(l, -1) {
			padding++
		}
		s.logits = append(s.logits, l)
	}
	if padding == len(logits) {
		return fmt.Errorf("all %d logits are -Inf, expected a finite number among them", padding)
	}
	return nil
}

// adjust is steps 1 to 4 of the package documentation.
func (s *Sampler) adjust(w *model.Work) error {
	p := w.Sampling
	if w.Prompt < 0 || w.Prompt > len(w.Tokens) {
		return fmt.Errorf("%d tokens of the prompt, expected 0 to all %d", w.Prompt, len(w.Tokens))
	}
	generated := w.Tokens[w.Prompt:]
	penalties := p.FrequencyPenalty != 0 || p.PresencePenalty != 0 || p.RepetitionPenalty != 1
	clear(s.counts)
	if penalties {
		if err := checkIDs("the generated tokens", generated, s.limits.VocabSize); err != nil {
			return err
		}
		for _, id := range generated {
			s.counts[id]++
		}
	}
	for id, n := range s.counts {
		s.logits[id] -= float64(p.FrequencyPenalty*float64(n)) + p.PresencePenalty
	}
	if len(generated) < p.MinNewTokens {
		for _, id := range p.StopTokenIDs {
			s.logits[id] = math.Inf(-1)
		}
		for _, id := range s.limits.EOS {
			s.logits[id] = math.Inf(-1)
		}
	}
	for id := range s.counts {
		if s.logits[id] < 0 {
			s.logits[id] *= p.RepetitionPenalty
		} else {
			s.logits[id] /= p.RepetitionPenalty
		}
	}
	for id, v := range p.LogitBias {
		s.logits[id] += v
	}
	return nil
}

// draw is steps 6 to 8.
func (s *Sampler) draw(p *model.Sampling, best, u float64) int64 {
	total := s.soften(best, temperature(p))
	if p.TopP < 1 || p.MinP > 0 || p.TopK != -1 && p.TopK < len(s.logits) {
		total = s.filter(s.cut(p, total))
	}
	target, sum, chosen := float64(u*total), 0.0, 0
	for id, weight := range s.weights {
		if weight == 0 {
			continue
		}
		chosen = id // the last one, should the product be rounded up to the total
		if sum += weight; sum > target {
			break
		}
	}
	return int64(chosen)
}

// soften fills in the weights and returns their sum, which is at least 1.
func (s *Sampler) soften(best, temperature float64) float64 {
	s.weights = s.weights[:0]
	total := 0.0
	for _, l := range s.logits {
		weight := math.Exp((l - best) / temperature)
		s.weights = append(s.weights, weight)
		total += weight
	}
	return total
}

// filter takes the weight of what comes behind the token in the ranking, and
// returns the sum of the others.
func (s *Sampler) filter(last int32) float64 {
	total := 0.0
	for id, weight := range s.weights {
		if s.ranking.before(last, int32(id)) {
			s.weights[id] = 0
		} else {
			total += weight
		}
	}
	return total
}

// cut is the last token in the ranking that top_k, top_p and min_p keep.
func (s *Sampler) cut(p *model.Sampling, total float64) int32 {
	s.ranking.rank(s.logits)
	most := len(s.logits)
	if p.TopK != -1 {
		most = min(most, p.TopK)
	}
	before, last := 0.0, int32(0)
	for n := range most {
		id := s.ranking.next()
		weight := s.weights[id]
		if n > 0 && (weight < p.MinP || p.TopP < 1 && before > float64(p.TopP*total)) {
			break
		}
		before += weight
		last = id
	}
	return last
}

func argmax(logits []float64) int {
	best := 0
	for id, l := range logits {
		if l > logits[best] {
			best = id
		}
	}
	return best
}

package sampling

import (
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Input gives the log-probabilities of an input token, for the logits of the
// position before it.
func (s *Sampler) Input(logits []float32, token int64, want model.Logprobs) (model.Position, error) {
	err := checkIDs("the tokens", []int64{token}, s.limits.VocabSize)
	if err == nil {
		err = CheckLogprobs(want, s.limits.VocabSize)
	}
	if err == nil {
		err = s.take(logits)
	}
	if err != nil {
		return model.Position{}, fmt.Errorf("sampling: %w", err)
	}
	return s.position(token, want, 1), nil
}

// position is log softmax of the logits at hand.
func (s *Sampler) position(token int64, want model.Logprobs, temperature float64) model.Position {
	best := s.logits[argmax(s.logits)]
	total := 0.0
	for _, l := range s.logits {
		total += math.Exp((l - best) / temperature)
	}
	denominator := math.Log(total)
	of := func(id int64) model.TokenLogprob {
		val := float32((s.logits[id]-best)/temperature - denominator)
		return model.TokenLogprob{ID: id, Val: float64(max(val, -math.MaxFloat32))}
	}
	p := model.Position{Token: of(token)}
	if want.Top > 0 {
		s.ranking.rank(s.logits)
	}
	for range want.Top {
		p.Top = append(p.Top, of(int64(s.ranking.next())))
	}
	for _, id := range want.IDs {
		p.IDs = append(p.IDs, of(id))
	}
	return p
}

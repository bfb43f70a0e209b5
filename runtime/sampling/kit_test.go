package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func newSampler(t testing.TB, vocab int, eos ...int64) *Sampler {
	t.Helper()
	s, err := New(model.Limits{VocabSize: vocab, EOS: eos}, 7)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// choose gives the token, with a seed.
func choose(t testing.TB, s *Sampler, p model.Sampling, seed int64, tokens []int64, logits []float32) int64 {
	t.Helper()
	p.Seed = &seed
	c, err := s.Choose(&model.Work{RID: "r", Tokens: tokens, Sampling: &p}, logits)
	if err != nil {
		t.Fatal(err)
	}
	return c.Token
}

func randomLogits(r *rand.Rand, n int, values int) []float32 {
	logits := make([]float32, n)
	for i := range logits {
		if logits[i] = float32(r.NormFloat64() * 2); values > 0 {
			logits[i] = float32(r.IntN(values)) // with equals
		}
	}
	return logits
}

// randomParams are some that Check takes.
func randomParams(r *rand.Rand, vocab int) model.Sampling {
	p := Default()
	set := func() bool { return r.IntN(2) == 0 }
	if set() {
		p.Temperature = r.Float64() * 3
	}
	if set() {
		p.TopP = 1 - r.Float64()
	}
	if set() {
		p.TopK = 1 + r.IntN(vocab+3)
	}
	if set() {
		p.MinP = r.Float64()
	}
	if set() {
		p.FrequencyPenalty = r.Float64()*4 - 2
		p.PresencePenalty = r.Float64()*4 - 2
	}
	if set() {
		p.RepetitionPenalty = 2 - r.Float64()*1.9
	}
	if set() {
		p.MinNewTokens = r.IntN(6)
		p.StopTokenIDs = []int64{r.Int64N(int64(vocab))}
	}
	if set() {
		p.LogitBias = map[int64]float64{r.Int64N(int64(vocab)): r.Float64()*10 - 5}
	}
	return p
}

// twin has the probability of each id by sorting everything, one step of the
// package documentation after the other.
func twin(w *model.Work, eos []int64, logits []float32) []float64 {
	p, generated := w.Sampling, w.Tokens[w.Prompt:]
	l := make([]float64, len(logits))
	ids := make([]int, len(logits))
	for i := range logits {
		ids[i] = i
		l[i] = float64(logits[i])
		count := 0
		for _, id := range generated {
			if id == int64(i) {
				count++
			}
		}
		if count > 0 {
			l[i] -= p.FrequencyPenalty*float64(count) + p.PresencePenalty
		}
		if len(generated) < p.MinNewTokens && (slices.Contains(p.StopTokenIDs, int64(i)) || slices.Contains(eos, int64(i))) {
			l[i] = math.Inf(-1)
		}
		if count > 0 && l[i] < 0 {
			l[i] *= p.RepetitionPenalty
		} else if count > 0 {
			l[i] /= p.RepetitionPenalty
		}
		l[i] += p.LogitBias[int64(i)]
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		switch {
		case l[a] > l[b]:
			return -1
		case l[a] < l[b]:
			return 1
		}
		return 0
	})
	probs := make([]float64, len(l))
	if p.Temperature < 1e-6 || p.TopK == 1 {
		probs[ids[0]] = 1
		return probs
	}
	total := 0.0
	for i := range l {
		probs[i] = math.Exp((l[i] - l[ids[0]]) / p.Temperature)
		total += probs[i]
	}
	before, left := 0.0, 0.0
	for rank, id := range ids {
		share := probs[id] / total
		dropped := p.TopK != -1 && rank >= p.TopK || p.TopP < 1 && before > p.TopP || share < p.MinP*probs[ids[0]]/total
		if before += share; dropped && rank > 0 {
			probs[id] = 0
		}
		left += probs[id]
	}
	for id := range probs {
		probs[id] /= left
	}
	return probs
}

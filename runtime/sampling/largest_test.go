package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// largest are the k largest in order and the logarithm of the sum over all, by sorting.
func largest(logits []float32, k int, temperature float64) (ids []int64, values []float32, logSum float64) {
	total := 0.0
	for id, v := range logits {
		ids = append(ids, int64(id))
		total += math.Exp(float64(v) / temperature)
	}
	slices.SortStableFunc(ids, func(a, b int64) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	for _, id := range ids[:k] {
		values = append(values, logits[id])
	}
	return ids[:k], values, math.Log(total)
}

// Whatever the parameters, what is chosen of the largest logits is what is chosen of all, with a sum
// that is off by as much as a device's may be; and most of the time it is sure.
func TestChooseOfIsChoose(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	enough, sure, cuts := 0, 0, 0
	for range 20000 {
		vocab := 2 + r.IntN(60)
		s := newSampler(t, vocab, 1)
		logits := randomLogits(r, vocab, []int{0, 5}[r.IntN(2)])
		p := randomParams(r, vocab)
		seed := r.Int64()
		p.Seed = &seed
		if r.IntN(4) > 0 { // most requests have none of these
			p.LogitBias, p.FrequencyPenalty, p.PresencePenalty, p.RepetitionPenalty, p.MinNewTokens = nil, 0, 0, 1, 0
		}
		w := &model.Work{RID: "r", Tokens: []int64{0, 1, 0}, Prompt: r.IntN(4), Sampling: &p}
		k, temperature := s.Enough(w)
		if k == 0 {
			continue
		}
		enough++
		ids, values, logSum := largest(logits, k, temperature)
		got, ok := s.ChooseOf(w, ids, values, logSum+(2*r.Float64()-1)*sumMargin/2)
		if !ok {
			continue
		}
		sure++
		if p.TopP < 1 && !greedy(&p) {
			cuts++
		}
		want, err := s.Choose(w, logits)
		if err != nil {
			t.Fatal(err)
		}
		if got.Token != want.Token || got.Step.Token != want.Step.Token {
			t.Fatalf("%+v: token %d of %d largest, want %d of all", p, got.Token, k, want.Token)
		}
	}
	if enough < 5000 || sure < enough*9/10 || cuts < 1000 {
		t.Errorf("%d choices had enough, %d were sure, %d of them with top_p: the test shows too little", enough, sure, cuts)
	}
}

// What needs more than the largest logits says so.
func TestEnough(t *testing.T) {
	s := newSampler(t, 50, 1)
	for name, test := range map[string]struct {
		change func(w *model.Work)
		k      int
		t      float64
	}{
		"greedy":              {func(w *model.Work) { w.Sampling.Temperature = 0 }, 1, 1},
		"top_k 1":             {func(w *model.Work) { w.Sampling.TopK = 1 }, 1, 1},
		"top_k":               {func(w *model.Work) { w.Sampling.TopK, w.Sampling.Temperature = 20, 0.6 }, 20, 0.6},
		"top_k beyond all":    {func(w *model.Work) { w.Sampling.TopK = 500 }, 50, 1},
		"penalty, no output":  {func(w *model.Work) { w.Sampling.TopK, w.Sampling.FrequencyPenalty, w.Prompt = 5, 1, 3 }, 5, 1},
		"whole vocabulary":    {func(*model.Work) {}, 0, 0},
		"frequency_penalty":   {func(w *model.Work) { w.Sampling.TopK, w.Sampling.FrequencyPenalty = 5, 1 }, 0, 0},
		"presence_penalty":    {func(w *model.Work) { w.Sampling.TopK, w.Sampling.PresencePenalty = 5, 1 }, 0, 0},
		"repetition_penalty":  {func(w *model.Work) { w.Sampling.TopK, w.Sampling.RepetitionPenalty = 5, 1.1 }, 0, 0},
		"logit_bias":          {func(w *model.Work) { w.Sampling.TopK, w.Sampling.LogitBias = 5, map[int64]float64{3: 1} }, 0, 0},
		"min_new_tokens":      {func(w *model.Work) { w.Sampling.TopK, w.Sampling.MinNewTokens = 5, 2 }, 0, 0},
		"min_new_tokens done": {func(w *model.Work) { w.Sampling.TopK, w.Sampling.MinNewTokens = 5, 1 }, 5, 1},
		"log-probabilities":   {func(w *model.Work) { w.Sampling.TopK, w.Logprobs.Want = 5, true }, 0, 0},
		"cannot be":           {func(w *model.Work) { w.Sampling.TopK = 0 }, 0, 0},
		"none":                {func(w *model.Work) { w.Sampling = nil }, 0, 0},
	} {
		p := Default()
		w := &model.Work{Tokens: []int64{4, 5, 6}, Prompt: 2, Sampling: &p}
		test.change(w)
		if k, temperature := s.Enough(w); k != test.k || temperature != test.t {
			t.Errorf("%s: %d at temperature %g, want %d at %g", name, k, temperature, test.k, test.t)
		}
	}
}

// Logits that are no numbers are Choose's to name, and a sum that is none, or too near to
// top_p, decides nothing.
func TestChooseOfIsNotSure(t *testing.T) {
	s := newSampler(t, 4)
	nan, inf := math.NaN(), math.Inf(1)
	for name, test := range map[string]struct {
		logits []float32
		logSum float64
		topK   int
		topP   float64
		sure   bool
	}{
		"a NaN":              {[]float32{float32(nan), 1}, 2, 2, 1, false},
		"an infinity":        {[]float32{float32(inf), 1}, 2, 2, 1, false},
		"padding among them": {[]float32{1, float32(-inf)}, 2, 2, 1, false},
		"no sum":             {[]float32{1, 1}, nan, 2, 1, false},
		"no sum, greedy":     {[]float32{1}, nan, 1, 1, true},
		"at top_p":           {[]float32{0, 0}, math.Log(2), 2, 0.5, false},
		"near top_p":         {[]float32{0, 0}, math.Log(2) + 5e-4, 2, 0.5, false},
		"beyond top_p":       {[]float32{0, 0}, math.Log(2), 2, 0.49, true},
		"before top_p":       {[]float32{0, 0}, math.Log(2), 2, 0.51, true},
	} {
		p := Default()
		p.TopK, p.TopP = test.topK, test.topP
		_, ok := s.ChooseOf(&model.Work{RID: "r", Sampling: &p}, []int64{0, 1}[:len(test.logits)], test.logits, test.logSum)
		if ok != test.sure {
			t.Errorf("%s: sure %v, want %v", name, ok, test.sure)
		}
	}
}

package sampling

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// What is left of the weights is what the twin has, with equals and without.
func TestTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 3000 {
		vocab := 1 + r.IntN(40)
		eos := []int64{r.Int64N(int64(vocab))}
		s := newSampler(t, vocab, eos...)
		p := randomParams(r, vocab)
		w := &model.Work{RID: "r", Sampling: &p, Prompt: r.IntN(3)}
		for range w.Prompt + r.IntN(8) {
			w.Tokens = append(w.Tokens, r.Int64N(int64(vocab)))
		}
		logits := randomLogits(r, vocab, n%3*2)
		c, err := s.Choose(w, logits)
		if err != nil {
			if !allBanned(w, eos, vocab) {
				t.Fatalf("%+v: %v", p, err)
			}
			continue
		}
		want := twin(w, eos, logits)
		if want[c.Token] == 0 {
			t.Fatalf("%+v, logits %v, tokens %v: chose %d, which the twin does not keep: %v", p, logits, w.Tokens, c.Token, want)
		}
		if greedy(&p) {
			continue
		}
		for id, got := range weightsOf(s, &p) {
			if !(math.Abs(got-want[id]) < 1e-12) {
				t.Fatalf("%+v, logits %v, tokens %v: id %d has %g, the twin %g", p, logits, w.Tokens, id, got, want[id])
			}
		}
	}
}

func allBanned(w *model.Work, eos []int64, vocab int) bool {
	for id := range int64(vocab) {
		if !slices.Contains(eos, id) && !slices.Contains(w.Sampling.StopTokenIDs, id) {
			return false
		}
	}
	return len(w.Tokens)-w.Prompt < w.Sampling.MinNewTokens
}

// A test of goodness of fit: the tokens of many positions against the twin's
// probabilities. The seeds are fixed, so it passes always or never.
func TestChiSquare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const draws = 20000
	least := 1.0
	for n := range 20 {
		vocab := 3 + r.IntN(10)
		s := newSampler(t, vocab)
		p := randomParams(r, vocab)
		p.Temperature, p.MinNewTokens = 0.5+r.Float64(), 0
		if n%2 == 0 { // all draws of one seed; otherwise each one of its own
			seed := int64(n)
			p.Seed = &seed
		}
		logits := randomLogits(r, vocab, 0)
		counts := make([]float64, vocab)
		tokens := make([]int64, draws)
		w := &model.Work{Sampling: &p}
		want := twin(w, nil, logits)
		for i := range draws {
			w.RID = "r" + string(rune('a'+i%26))
			w.Tokens, w.Prompt = tokens[:i], i
			c, err := s.Choose(w, logits)
			if err != nil {
				t.Fatal(err)
			}
			counts[c.Token]++
		}
		chi, cells := 0.0, 0
		for id, prob := range want {
			if prob == 0 && counts[id] > 0 {
				t.Errorf("%+v: id %d came %g times, and its probability is 0", p, id, counts[id])
			}
			if e := prob * draws; e > 0 {
				chi += (counts[id] - e) * (counts[id] - e) / e
				cells++
			}
		}
		if cells > 1 {
			level := distuv.ChiSquared{K: float64(cells - 1)}.Survival(chi)
			if least = min(least, level); level < 1e-4 {
				t.Errorf("%+v: counts %v, probabilities %v: chi-square %g, level %g", p, counts, want, chi, level)
			}
		}
	}
	t.Logf("the lowest of the levels: %g", least)
}

// The seeds of a request of one position are as good as the positions of one seed.
func TestNeighbouringSeedsAreIndependent(t *testing.T) {
	s := newSampler(t, 2)
	const draws = 20000
	pairs := [2][2]float64{}
	before := int64(0)
	for seed := range int64(draws) {
		token := choose(t, s, Default(), seed, nil, []float32{0, 0})
		pairs[before][token]++
		before = token
	}
	chi := 0.0
	for _, row := range pairs {
		for _, n := range row {
			chi += (n - draws/4) * (n - draws/4) / (draws / 4)
		}
	}
	if level := (distuv.ChiSquared{K: 3}).Survival(chi); level < 1e-3 {
		t.Errorf("pairs %v: level %g", pairs, level)
	}
}

// Of each property, over random logits and parameters.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		vocab := 2 + r.IntN(30)
		s := newSampler(t, vocab)
		logits := randomLogits(r, vocab, r.IntN(2)*4)
		seed := r.Int64()
		tokens := make([]int64, r.IntN(5))
		open := with(func(p *model.Sampling) { p.Temperature = 0.2 + r.Float64()*2 })
		free := choose(t, s, open, seed, tokens, logits)

		one := open
		one.TopK = 1
		if got, want := choose(t, s, one, seed, tokens, logits), model.Greedy(logits); got != want {
			t.Errorf("top_k 1: %d, greedy: %d", got, want)
		}
		all := open
		all.TopK, all.TopP, all.MinP = vocab-1+r.IntN(2), 1, 0
		if got := choose(t, s, all, seed, tokens, logits); all.TopK == vocab && got != free {
			t.Errorf("filters that take nothing away: %d, none: %d", got, free)
		}
		cold := open
		cold.Temperature = 1e-6
		if got := choose(t, s, cold, seed, tokens, logits); logits[got] != logits[model.Greedy(logits)] {
			t.Errorf("temperature 1e-6: %d with logit %g of %v", got, logits[got], logits)
		}

		// The same added to all logits changes nothing, and neither does another
		// order of equals: the ids are chosen by place, not by history.
		i, j := r.IntN(vocab), r.IntN(vocab)
		swapped := slices.Clone(logits)
		swapped[i], swapped[j] = swapped[j], swapped[i]
		if logits[i] == logits[j] {
			if got := choose(t, s, open, seed, tokens, swapped); got != free {
				t.Errorf("equal logits swapped: %d, before: %d", got, free)
			}
		}
	}
}

// A permutation of the ids moves the probabilities with them, and what is cut
// among equals are the highest ids.
func TestPermutation(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		vocab := 2 + r.IntN(20)
		s := newSampler(t, vocab)
		logits := randomLogits(r, vocab, 4)
		p := randomParams(r, vocab)
		p.Temperature, p.FrequencyPenalty, p.PresencePenalty, p.RepetitionPenalty, p.LogitBias = 1, 0, 0, 1, nil
		kept := func(logits []float32) map[float32]int {
			if err := s.take(logits); err != nil {
				t.Fatal(err)
			}
			left, gone := map[float32]int{}, map[float32]bool{}
			for id, weight := range weightsOf(s, &p) {
				if weight == 0 {
					gone[logits[id]] = true
					continue
				}
				if left[logits[id]]++; gone[logits[id]] {
					t.Errorf("%+v, logits %v: id %d is kept, a lower one of equal logit is not", p, logits, id)
				}
			}
			return left
		}
		shuffled := slices.Clone(logits)
		r.Shuffle(vocab, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		a, b := kept(logits), kept(shuffled)
		for l := range a {
			if a[l] != b[l] {
				t.Errorf("%+v, logits %v: %d of logit %g are kept, %d when shuffled", p, logits, a[l], l, b[l])
			}
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add(1.0, 1.0, -1, 0.0, 0.0, 0.0, 1.0, 0, int64(0), 0.0, int64(1), float32(1))
	f.Add(math.NaN(), -1.0, 0, 2.0, 3.0, math.Inf(1), 0.0, -1, int64(-1), math.NaN(), int64(9), float32(math.NaN()))
	f.Add(1e-300, 1e-300, 3, 1.0, -2.0, 2.0, 1e-300, 5, int64(2), 3e38, int64(2), float32(3e38))
	f.Fuzz(func(t *testing.T, temperature, topP float64, topK int, minP, frequency, presence, repetition float64, minNew int, biased int64, bias float64, stop int64, logit float32) {
		const vocab = 5
		s := newSampler(t, vocab, 4)
		p := model.Sampling{
			Temperature: temperature, TopP: topP, TopK: topK, MinP: minP, FrequencyPenalty: frequency, PresencePenalty: presence,
			RepetitionPenalty: repetition, MinNewTokens: minNew, LogitBias: map[int64]float64{biased: bias}, StopTokenIDs: []int64{stop},
		}
		logits := []float32{0, logit, -logit, 1, 2}
		w := &model.Work{RID: "r", Sampling: &p, Tokens: []int64{0, 1, 1, 2}, Prompt: 1, Logprobs: model.Logprobs{Want: true, Top: vocab}}
		c, err := s.Choose(w, logits)
		valid := Check(&p, max(minNew, 0), vocab) == nil && logit-logit == 0
		mayOverflow := repetition < 1e-200 // a logit divided by it can be infinite
		if valid != (err == nil) && !(valid && mayOverflow) {
			t.Fatalf("%+v, logit %g: error %v", p, logit, err)
		}
		if err != nil {
			return
		}
		if twin(w, []int64{4}, logits)[c.Token] == 0 && !greedy(&p) {
			t.Errorf("%+v, logit %g: chose %d, which the twin does not keep", p, logit, c.Token)
		}
		for _, top := range c.Step.Top {
			if math.IsNaN(top.Val) || math.IsInf(top.Val, 0) || top.Val > 0 {
				t.Errorf("%+v, logit %g: log-probability %g of id %d", p, logit, top.Val, top.ID)
			}
		}
	})
}

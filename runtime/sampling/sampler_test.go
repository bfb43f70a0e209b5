package sampling

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func with(change func(p *model.Sampling)) model.Sampling {
	p := Default()
	change(&p)
	return p
}

// Logits 0, ln 2, ln 3, ln 4 have the probabilities 0.1, 0.2, 0.3, 0.4.
var tenths = []float32{0, float32(math.Log(2)), float32(math.Log(3)), float32(math.Log(4))}

func TestFiltersByHand(t *testing.T) {
	for _, test := range []struct {
		name string
		p    model.Sampling
		want []float64
	}{
		{"all", Default(), []float64{0.1, 0.2, 0.3, 0.4}},
		{"top_k 2", with(func(p *model.Sampling) { p.TopK = 2 }), []float64{0, 0, 3. / 7, 4. / 7}},
		{"top_k over the vocabulary", with(func(p *model.Sampling) { p.TopK = 9 }), []float64{0.1, 0.2, 0.3, 0.4}},
		{"top_p: one that begins below it stays", with(func(p *model.Sampling) { p.TopP = 0.41 }), []float64{0, 0, 3. / 7, 4. / 7}},
		{"top_p: one that begins above it goes", with(func(p *model.Sampling) { p.TopP = 0.39 }), []float64{0, 0, 0, 1}},
		{"a tiny top_p", with(func(p *model.Sampling) { p.TopP = 1e-12 }), []float64{0, 0, 0, 1}},
		{"min_p", with(func(p *model.Sampling) { p.MinP = 0.51 }), []float64{0, 0, 3. / 7, 4. / 7}},
		{"min_p 1", with(func(p *model.Sampling) { p.MinP = 1 }), []float64{0, 0, 0, 1}},
		// Alone top_k leaves 3/7 and 4/7; top_p is of the probabilities before that, and 0.4 is below 0.5.
		{"joint", with(func(p *model.Sampling) { p.TopK, p.TopP = 2, 0.5 }), []float64{0, 0, 3. / 7, 4. / 7}},
		{"temperature 1/2 squares", with(func(p *model.Sampling) { p.Temperature = 0.5 }), []float64{1. / 30, 4. / 30, 9. / 30, 16. / 30}},
	} {
		s := newSampler(t, 4)
		if err := s.take(tenths); err != nil {
			t.Fatal(err)
		}
		for id, got := range weightsOf(s, &test.p) {
			if !(math.Abs(got-test.want[id]) < 1e-6) {
				t.Errorf("%s: id %d has %g, want %g", test.name, id, got, test.want[id])
			}
		}
	}
}

func TestPenaltiesByHand(t *testing.T) {
	logits := []float32{1, -1, 2, 0, 0.5}
	for _, test := range []struct {
		name string
		p    model.Sampling
		want []float64
	}{
		{"none", Default(), []float64{1, -1, 2, 0, 0.5}},
		{"frequency counts", with(func(p *model.Sampling) { p.FrequencyPenalty = 0.5 }), []float64{0, -1.5, 2, 0, 0.5}},
		{"presence does not", with(func(p *model.Sampling) { p.PresencePenalty = 0.5 }), []float64{0.5, -1.5, 2, 0, 0.5}},
		{"repetition", with(func(p *model.Sampling) { p.RepetitionPenalty = 2 }), []float64{0.5, -2, 2, 0, 0.5}},
		{"repetition comes behind frequency", with(func(p *model.Sampling) { p.RepetitionPenalty, p.FrequencyPenalty = 2, 1 }), []float64{-2, -4, 2, 0, 0.5}},
		{"bias comes behind repetition", with(func(p *model.Sampling) {
			p.RepetitionPenalty, p.LogitBias = 2, map[int64]float64{0: 3, 3: -1}
		}), []float64{3.5, -2, 2, -1, 0.5}},
		{"min_new_tokens reached", with(func(p *model.Sampling) { p.MinNewTokens, p.StopTokenIDs = 3, []int64{2} }), []float64{1, -1, 2, 0, 0.5}},
		{"min_new_tokens bans stop tokens and EOS, whatever the bias", with(func(p *model.Sampling) {
			p.MinNewTokens, p.StopTokenIDs, p.LogitBias = 4, []int64{2}, map[int64]float64{2: 100}
		}), []float64{1, -1, math.Inf(-1), 0, math.Inf(-1)}},
	} {
		s := newSampler(t, 5, 4)
		p := test.p
		// The prompt has id 2 twice, which is penalized for nothing.
		w := &model.Work{Tokens: []int64{2, 2, 0, 1, 0}, Prompt: 2, Sampling: &p}
		if _, err := s.Choose(w, logits); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if !slices.Equal(s.logits, test.want) {
			t.Errorf("%s: logits %v, want %v", test.name, s.logits, test.want)
		}
	}
}

func TestTiesGoToTheLowestID(t *testing.T) {
	s := newSampler(t, 6)
	logits := []float32{1, 3, 2, 3, 3, 2}
	greedy := with(func(p *model.Sampling) { p.Temperature = 0 })
	if got := choose(t, s, greedy, 1, nil, logits); got != 1 {
		t.Errorf("greedy: %d, want 1", got)
	}
	for seed := range int64(50) {
		two := with(func(p *model.Sampling) { p.TopK, p.Temperature = 2, 2 })
		if got := choose(t, s, two, seed, nil, logits); got != 1 && got != 3 {
			t.Errorf("seed %d, top_k 2: %d, want 1 or 3", seed, got)
		}
	}
	at, err := s.Input(logits, 0, model.Logprobs{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, top := range at.Top {
		ids = append(ids, top.ID)
	}
	if want := []int64{1, 3, 4, 2, 5}; !slices.Equal(ids, want) {
		t.Errorf("most likely %v, want %v", ids, want)
	}
}

func TestLogprobsByHand(t *testing.T) {
	s := newSampler(t, 4)
	half := with(func(p *model.Sampling) { p.Temperature, p.TopK = 0.5, 1 })
	w := &model.Work{RID: "r", Sampling: &half, Logprobs: model.Logprobs{Want: true, Top: 2, IDs: []int64{0, 3, 0}}}
	c, err := s.Choose(w, tenths)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got model.TokenLogprob, id int64, p float64) {
		t.Helper()
		if got.ID != id || !(math.Abs(math.Exp(got.Val)-p) < 1e-6) || got.Val != float64(float32(got.Val)) {
			t.Errorf("%s: id %d with %g (e to it: %g), want id %d, %g, in float32", what, got.ID, got.Val, math.Exp(got.Val), id, p)
		}
	}
	near("chosen", c.Step.Token, 3, 16./30)
	near("first", c.Step.Top[0], 3, 16./30)
	near("second", c.Step.Top[1], 2, 9./30)
	near("given", c.Step.IDs[0], 0, 1./30)
	near("given", c.Step.IDs[1], 3, 16./30)
	near("given twice", c.Step.IDs[2], 0, 1./30)

	at, err := s.Input(tenths, 2, model.Logprobs{IDs: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	near("input", at.Token, 2, 0.3)
	near("input, given", at.IDs[0], 1, 0.2)
	if at.Top != nil {
		t.Errorf("most likely %v, none were wanted", at.Top)
	}

	// A greedy request's have no temperature, and a banned id's can be sent as JSON.
	zero := with(func(p *model.Sampling) { p.Temperature, p.MinNewTokens, p.StopTokenIDs = 0, 1, []int64{3} })
	w.Sampling = &zero
	if c, err = s.Choose(w, tenths); err != nil {
		t.Fatal(err)
	}
	near("greedy", c.Step.Token, 2, 0.5)
	if got := c.Step.IDs[1].Val; got != -math.MaxFloat32 {
		t.Errorf("banned: %g, want %g", got, -math.MaxFloat32)
	}
	w.Logprobs.Want = false
	if c, err = s.Choose(w, tenths); err != nil || c.Token != 2 || c.Step.Token.ID != 2 || c.Step.IDs != nil || c.Step.Token.Val != 0 {
		t.Errorf("not wanted: %+v, %v", c, err)
	}
}

// An id whose logit is -Inf is padding: never chosen, whatever the parameters, and of
// the smallest log-probability that can be said.
func TestPaddingIsNeverChosen(t *testing.T) {
	inf := float32(math.Inf(1))
	logits := []float32{-inf, 0, 0.5, -inf}
	s := newSampler(t, 4)
	for seed := range int64(200) {
		p := with(func(p *model.Sampling) {
			p.Temperature, p.LogitBias = 100, map[int64]float64{0: 1000, 3: 1000}
			p.TopK, p.PresencePenalty, p.RepetitionPenalty = []int{-1, 3, 4}[seed%3], -2, 0.5
		})
		if got := choose(t, s, p, seed, []int64{0, 3, 3}, logits); got != 1 && got != 2 {
			t.Fatalf("seed %d: chose %d, which is padding", seed, got)
		}
	}
	at, err := s.Input(logits, 3, model.Logprobs{Top: 4, IDs: []int64{1}})
	if err != nil {
		t.Fatal(err)
	}
	if want := -math.MaxFloat32; at.Token.Val != want || at.Top[2].Val != want || at.Top[3].Val != want || at.IDs[0].Val < -1 {
		t.Errorf("%+v", at)
	}
}

func TestChooseErrors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	p := Default()
	bad := with(func(p *model.Sampling) { p.TopP = 2 })
	banned := with(func(p *model.Sampling) { p.MinNewTokens, p.StopTokenIDs = 1, []int64{0, 1} })
	tiny := with(func(p *model.Sampling) { p.RepetitionPenalty = 1e-300 })
	repeated := with(func(p *model.Sampling) { p.PresencePenalty = 1 })
	for want, test := range map[string]struct {
		w      model.Work
		logits []float32
	}{
		`rid "r": the logit of id 1 is NaN, expected a finite`:                               {model.Work{Sampling: &p}, []float32{0, nan, 0}},
		`the logit of id 2 is +Inf, expected a finite`:                                       {model.Work{Sampling: &p}, []float32{0, 0, inf}},
		`all 3 logits are -Inf, expected a finite number among them`:                         {model.Work{Sampling: &p}, []float32{-inf, -inf, -inf}},
		`2 logits, expected one for each of 3 ids`:                                           {model.Work{Sampling: &p}, []float32{0, 0}},
		`the logit of id 1 is 1e+20 divided by repetition_penalty 1e-300, expected a finite`: {model.Work{Sampling: &tiny, Tokens: []int64{1}}, []float32{0, 1e20, 0}},
		`has no sampling parameters`:                                                         {model.Work{}, tenths[:3]},
		`top_p is 2, expected more than 0 and at most 1`:                                     {model.Work{Sampling: &bad}, tenths[:3]},
		`no token is left: min_new_tokens is 1`:                                              {model.Work{Sampling: &banned}, tenths[:3]},
		`4 tokens of the prompt, expected 0 to all 1`:                                        {model.Work{Sampling: &p, Prompt: 4, Tokens: []int64{1}}, tenths[:3]},
		`the generated tokens[0] is 3, expected 0 to 2`:                                      {model.Work{Sampling: &repeated, Tokens: []int64{3}}, tenths[:3]},
		`top_logprobs_num is 4, expected 0 to 3`:                                             {model.Work{Sampling: &p, Logprobs: model.Logprobs{Want: true, Top: 4}}, tenths[:3]},
		`top_logprobs_num is -1, expected 0 to 3`:                                            {model.Work{Sampling: &p, Logprobs: model.Logprobs{Want: true, Top: -1}}, tenths[:3]},
		`token_ids_logprob[1] is -1, expected 0 to 2`:                                        {model.Work{Sampling: &p, Logprobs: model.Logprobs{Want: true, IDs: []int64{0, -1}}}, tenths[:3]},
	} {
		s := newSampler(t, 3, 2)
		test.w.RID = "r"
		if _, err := s.Choose(&test.w, test.logits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
		// It concerns that request alone.
		if got := choose(t, s, with(func(p *model.Sampling) { p.TopK = 1 }), 1, nil, tenths[:3]); got != 2 {
			t.Errorf("after %s: token %d, want 2", want, got)
		}
	}
	if _, err := newSampler(t, 3).Input([]float32{0, nan, 0}, 0, model.Logprobs{}); err == nil || !strings.Contains(err.Error(), "id 1 is NaN") {
		t.Errorf("input: error %v, want one that names id 1 and NaN", err)
	}
	if _, err := newSampler(t, 3).Input(tenths[:3], 3, model.Logprobs{}); err == nil || !strings.Contains(err.Error(), "is 3, expected 0 to 2") {
		t.Errorf("input: error %v, want one that names the token", err)
	}
	if _, err := New(model.Limits{VocabSize: 0}, 1); err == nil || !strings.Contains(err.Error(), "vocab_size is 0") {
		t.Errorf("New: error %v", err)
	}
	if _, err := New(model.Limits{VocabSize: 2, EOS: []int64{1, 2}}, 1); err == nil || !strings.Contains(err.Error(), "EOS[1] is 2, expected 0 to 1") {
		t.Errorf("New: error %v", err)
	}
}

func TestDrawAtItsEdges(t *testing.T) {
	s := newSampler(t, 4)
	if err := s.take([]float32{-1000, 3, 3, -1000}); err != nil { // e^-1003 is 0
		t.Fatal(err)
	}
	p := Default()
	for _, test := range []struct {
		u    float64
		want int64
	}{{0, 1}, {math.Nextafter(0.5, 0), 1}, {0.5, 2}, {Uniform(math.MaxUint64), 2}, {1, 2}} {
		if got := s.draw(&p, 3, test.u); got != test.want {
			t.Errorf("u %g: id %d, want %d", test.u, got, test.want)
		}
	}
	// What is exactly at min_p's edge stays.
	p.MinP = 1
	if got := weightsOf(s, &p); !slices.Equal(got, []float64{0, 0.5, 0.5, 0}) {
		t.Errorf("min_p 1 leaves %v of two equals, want both", got)
	}
}

func TestKeys(t *testing.T) {
	one, minus := int64(1), int64(-1)
	if Key(&one, 5, "a") != Key(&one, 6, "b") {
		t.Error("a request's seed is not all that counts")
	}
	keys := map[[2]uint64]bool{}
	for _, k := range [][2]uint64{Key(&one, 5, "a"), Key(&minus, 5, "a"), Key(nil, 1, "a"), Key(nil, 2, "a"), Key(nil, 1, "b")} {
		keys[k] = true
	}
	if len(keys) != 5 {
		t.Errorf("%d keys of 5 that should differ: %v", len(keys), keys)
	}
}

package qwen3

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Against logarithms of the softmax in float64.
func TestLogprobs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		logits := make([]float32, 1+r.IntN(300))
		var sum float64
		for i := range logits {
			logits[i] = float32(r.NormFloat64() * 10)
			sum += math.Exp(float64(logits[i]))
		}
		id := r.Int64N(int64(len(logits)))
		p, err := Greedy{}.Logprobs(logits, id, model.Logprobs{Top: 3, IDs: []int64{0, id}})
		if err != nil {
			t.Fatal(err)
		}
		if p.Token.ID != id || len(p.IDs) != 2 || p.IDs[0].ID != 0 || p.IDs[1] != p.Token || len(p.Top) != min(3, len(logits)) {
			t.Fatalf("%+v for id %d of %d", p, id, len(logits))
		}
		if p.Top[0].ID != model.Greedy(logits) {
			t.Errorf("id %d is the likeliest, want %d", p.Top[0].ID, model.Greedy(logits))
		}
		for i, l := range slices.Concat(p.Top, p.IDs) {
			if want := float64(logits[l.ID]) - math.Log(sum); math.Abs(l.Val-want) > 1e-4 {
				t.Errorf("id %d: %v, want %v", l.ID, l.Val, want)
			}
			if i > 0 && i < len(p.Top) && l.Val > p.Top[i-1].Val {
				t.Errorf("%v behind %v", l, p.Top[i-1])
			}
		}
	}
}

// Logits far apart, and of equals the lowest id.
func TestLogprobsOfExtremes(t *testing.T) {
	p, err := Greedy{}.Logprobs([]float32{-3e38, 0, 0, 3e4, 0}, 0, model.Logprobs{Top: 9})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, l := range p.Top {
		ids = append(ids, l.ID)
	}
	if want := []int64{3, 1, 2, 4, 0}; !slices.Equal(ids, want) || p.Top[0].Val != 0 || p.Top[1].Val != -3e4 {
		t.Errorf("top %v, want ids %v with 0 and -30000 first", p.Top, want)
	}
}

// A work's log-probabilities are for the tokens behind its positions from
// InputStart on, those of a chunk's end for Next, and the chosen one's apart.
func TestWhichLogprobs(t *testing.T) {
	c := odd()
	m := newModel(t, c, seeded(t, c, 1), 8, Greedy{})
	want := model.Logprobs{Want: true, InputStart: 1, Top: 2, IDs: []int64{5}}
	chunk := model.Work{RID: "a", IDs: []int64{11, 12, 13}, Slots: []int32{6, 2, 3}, Next: 14, Logprobs: want}
	rest := model.Work{RID: "a", IDs: []int64{14, 15}, Start: 3, Slots: []int32{6, 2, 3, 0, 1}, Next: -1, Sample: true, Logprobs: want}
	plain := model.Work{RID: "b", IDs: []int64{9}, Slots: []int32{7}, Next: -1, Sample: true}
	var got []model.Choice
	for _, works := range [][]model.Work{{chunk}, {rest, plain}} {
		out, err := m.Forward(&model.Batch{Work: works})
		if err != nil {
			t.Fatal(err)
		}
		if out.Logits != nil || len(out.Chosen) != len(works) {
			t.Fatalf("%+v for %d works", out, len(works))
		}
		got = append(got, out.Chosen...)
	}
	for i, ids := range [][]int64{{13, 14}, {15}, nil} {
		var have []int64
		for _, p := range got[i].Input {
			have = append(have, p.Token.ID)
			if p.Null || len(p.Top) != 2 || len(p.IDs) != 1 || p.IDs[0].ID != 5 || !(p.Token.Val < 0) {
				t.Errorf("work %d: %+v", i, p)
			}
		}
		if !slices.Equal(have, ids) {
			t.Errorf("work %d: log-probabilities of %v, want %v", i, have, ids)
		}
	}
	if s := got[1].Step; s.Token.ID != got[1].Token || s.Token != s.Top[0] || len(s.IDs) != 1 {
		t.Errorf("token %d with %+v", got[1].Token, s)
	}
	if s := got[2].Step; s.Top != nil || s.Token.Val != 0 {
		t.Errorf("%+v, want none", s)
	}
}

func TestGreedyRefusesMore(t *testing.T) {
	g, logits := Greedy{}, []float32{0, 2, 1}
	for _, s := range []*model.Sampling{nil, {}, {RepetitionPenalty: 1, TopK: -1, TopP: 1}} {
		c, err := g.Choose(&model.Work{Sampling: s}, logits)
		if err != nil || c.Token != 1 {
			t.Errorf("%+v: %+v, %v, want token 1", s, c, err)
		}
	}
	for want, s := range map[string]model.Sampling{
		"temperature is 0.6, expected 0":      {Temperature: 0.6},
		"temperature is NaN":                  {Temperature: math.NaN()},
		"frequency_penalty is -1, expected 0": {FrequencyPenalty: -1},
		"presence_penalty is 1, expected 0":   {PresencePenalty: 1},
		"repetition_penalty is 2, expected 1": {RepetitionPenalty: 2},
		"min_new_tokens is 3, expected 0":     {MinNewTokens: 3},
	} {
		_, err := g.Choose(&model.Work{Sampling: &s}, logits)
		wantError(t, err, want)
	}
}

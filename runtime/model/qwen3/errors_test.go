package qwen3

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestConfigsThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"VocabSize is 0, expected 1 to 1048576":          func(c *Config) { c.VocabSize = 0 },
		"HiddenSize is -1":                               func(c *Config) { c.HiddenSize = -1 },
		"IntermediateSize is 1048577":                    func(c *Config) { c.IntermediateSize = 1<<20 + 1 },
		"Layers is 0":                                    func(c *Config) { c.Layers = 0 },
		"KVHeads is 0":                                   func(c *Config) { c.KVHeads = 0 },
		"Heads times HeadDim is 4194304":                 func(c *Config) { c.Heads = 1 << 20 },
		"ContextLength is 0":                             func(c *Config) { c.ContextLength = 0 },
		"4 Heads for 3 KVHeads, expected a multi":        func(c *Config) { c.KVHeads = 3 },
		"HeadDim is 7, expected an even number":          func(c *Config) { c.HeadDim = 7 },
		"RMSNormEps is 0":                                func(c *Config) { c.RMSNormEps = 0 },
		"RopeTheta is NaN":                               func(c *Config) { c.RopeTheta = math.NaN() },
		"RopeTheta is +Inf":                              func(c *Config) { c.RopeTheta = math.Inf(1) },
		"EOS has id 40, expected 0 to 39":                func(c *Config) { c.EOS = []int64{40} },
		"2 RopeFrequencies, expected 3, half of HeadDim": func(c *Config) { c.RopeFrequencies = make([]float32, 2) },
		"Tokens is 41, expected 0 to 40":                 func(c *Config) { c.Tokens = 41 },
		"EOS has id -1":                                  func(c *Config) { c.EOS = []int64{-1} },
	} {
		c := odd()
		if change(&c); c.Heads == 1<<20 {
			c.HeadDim = 4
		}
		_, err := Seeded(c, 1)
		wantError(t, err, want)
		_, err = New(c, &Weights{}, 1, Greedy{})
		wantError(t, err, want)
	}
}

func TestWeightsThatDoNotFit(t *testing.T) {
	tied, bare := odd(), odd()
	tied.TieWordEmbeddings = true
	bare.QKNorm = false
	for want, try := range map[string]struct {
		config Config
		change func(*Weights)
	}{
		"weights of 1 layers, expected 2":                                          {odd(), func(w *Weights) { w.Layers = w.Layers[:1] }},
		"model.layers.1.self_attn.k_norm.weight has 5 weights, expected 1 times 6": {odd(), func(w *Weights) { w.Layers[1].KNorm = w.Layers[1].KNorm[:5] }},
		"layer 0 has q_norm or k_norm, expected none":                              {bare, func(*Weights) {}},
		"lm_head.weight has 0 weights, expected 40 times 18":                       {odd(), func(w *Weights) { w.Head = nil }},
		"lm_head.weight has 720 weights, expected none":                            {tied, func(*Weights) {}},
	} {
		w := seeded(t, odd(), 1)
		try.change(w)
		_, err := New(try.config, w, 1, Greedy{})
		wantError(t, err, want)
	}
	_, err := New(odd(), &Weights{}, 1, Greedy{})
	wantError(t, err, "weights of 0 layers, expected 2")
}

func TestSlotsAndSampler(t *testing.T) {
	w := seeded(t, odd(), 1)
	for _, slots := range []int{-1, 0, math.MaxInt32 + 1} {
		_, err := New(odd(), w, slots, Greedy{})
		wantError(t, err, "slots, expected 1 to 2147483647")
	}
	_, err := New(odd(), w, 1, nil)
	wantError(t, err, "no sampler")
	wide := odd()
	wide.Layers, wide.HeadDim = 5, 500
	_, err = New(wide, seeded(t, wide, 1), math.MaxInt32, Greedy{})
	wantError(t, err, "2147483647 slots of 40000 bytes, expected at most 70368744177664 bytes")
}

func TestBatchesThatCannotBe(t *testing.T) {
	subject(odd(), seeded(t, odd(), 1)).TestRefusals(t, "qwen3", func(m model.Model) bool {
		return !slices.ContainsFunc(slices.Concat(m.(*Model).k, m.(*Model).v), func(layer []float32) bool {
			return slices.ContainsFunc(layer, func(x float32) bool { return x != 0 })
		})
	})
}

// fails is a sampler that cannot.
type fails struct{ Greedy }

func (fails) Choose(*model.Work, []float32) (model.Choice, error) {
	return model.Choice{}, errors.New("no choice")
}

func (fails) Logprobs([]float32, int64, model.Logprobs) (model.Position, error) {
	return model.Position{}, errors.New("no log-probability")
}

func TestSamplersErrorNamesTheRequest(t *testing.T) {
	m := newModel(t, odd(), seeded(t, odd(), 1), 8, fails{})
	w := model.Work{RID: "a", IDs: []int64{1, 2}, Slots: []int32{0, 1}, Next: -1, Sample: true}
	_, err := m.Forward(&model.Batch{Work: []model.Work{w}})
	wantError(t, err, `qwen3: rid "a": no choice`)
	w.Logprobs.Want = true
	_, err = m.Forward(&model.Batch{Work: []model.Work{w}})
	wantError(t, err, `qwen3: rid "a": no log-probability`)
}

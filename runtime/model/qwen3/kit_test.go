package qwen3

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// keeper is a sampler that keeps copies of all logits, and chooses greedily.
type keeper struct {
	Greedy
	logits [][]float32
}

func (k *keeper) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	k.logits = append(k.logits, slices.Clone(logits))
	return k.Greedy.Choose(w, logits)
}

func (k *keeper) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	k.logits = append(k.logits, slices.Clone(logits))
	return k.Greedy.Logprobs(logits, id, want)
}

// odd is a config with few numbers of each kind, quick to compute.
func odd() Config {
	return Config{
		VocabSize: 40, HiddenSize: 18, IntermediateSize: 30, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, QKNorm: true,
		RMSNormEps: 1e-6, RopeTheta: 1e4, ContextLength: 512, EOS: []int64{7},
	}
}

// small is the small model's config with a short context, quicker to begin with.
func small() Config {
	c := Small()
	c.ContextLength = 512
	return c
}

func seeded(t testing.TB, c Config, seed uint64) *Weights {
	t.Helper()
	w, err := Seeded(c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func newModel(t testing.TB, c Config, w *Weights, slots int, s Sampler) *Model {
	t.Helper()
	m, err := New(c, w, slots, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func shuffledSlots(n int, seed uint64) []int32 {
	slots := make([]int32, n)
	for i, s := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
		slots[i] = int32(s)
	}
	return slots
}

// alone computes a prompt and n tokens behind it as the only request, whole, in
// slots one after another: the twin of every batch. It returns the tokens and the
// logits they were chosen from.
func alone(t testing.TB, c Config, w *Weights, prompt []int64, n int) (tokens []int64, logits [][]float32) {
	t.Helper()
	seen := &keeper{}
	m := newModel(t, c, w, len(prompt)+n, seen)
	all := slices.Clone(prompt)
	for start := 0; len(tokens) < n; start = len(all) - 1 {
		work := model.Work{IDs: all[start:], Start: start, Next: -1, Sample: true}
		for i := range all {
			work.Slots = append(work.Slots, int32(i))
		}
		out, err := m.Forward(&model.Batch{Work: []model.Work{work}})
		if err != nil {
			t.Fatal(err)
		}
		tokens = append(tokens, out.Chosen[0].Token)
		all = append(all, out.Chosen[0].Token)
	}
	return tokens, seen.logits
}

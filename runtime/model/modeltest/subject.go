package modeltest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Subject is a model with one set of weights. Each call of New makes one with slots of
// its own, that hands its logits to the keeper.
type Subject struct {
	VocabSize int
	Within    float64  // how far a batch may move a logit; 0: by no bit, which package model asks for
	Twin      *Subject // whose logits of a request alone a batch is to give; nil: its own
	New       func(t testing.TB, slots int, k *Keeper) model.Model
}

// Keeper is a sampler that keeps copies of all logits, and chooses greedily.
type Keeper struct{ Logits [][]float32 }

// Choose takes the largest logit.
func (k *Keeper) Choose(_ *model.Work, logits []float32) (model.Choice, error) {
	k.Logits = append(k.Logits, slices.Clone(logits))
	return model.Choice{Token: model.Greedy(logits)}, nil
}

// Logprobs says nothing.
func (k *Keeper) Logprobs(logits []float32, _ int64, _ model.Logprobs) (model.Position, error) {
	k.Logits = append(k.Logits, slices.Clone(logits))
	return model.Position{}, nil
}

// ShuffledSlots are the slots 0 to n-1 in an order drawn from the seed.
func ShuffledSlots(n int, seed uint64) []int32 {
	slots := make([]int32, n)
	for i, s := range rand.New(rand.NewPCG(seed, 0)).Perm(n) {
		slots[i] = int32(s)
	}
	return slots
}

// Everywhere is the logits at each position of the prompt, computed as one work in
// slots of no order.
func (s Subject) Everywhere(t testing.TB, prompt []int64) [][]float32 {
	t.Helper()
	return s.whole(t, prompt, ShuffledSlots(len(prompt), 3))
}

func (s Subject) whole(t testing.TB, prompt []int64, slots []int32) [][]float32 {
	t.Helper()
	k := &Keeper{}
	p := part{tokens: prompt, slots: slots}
	Forward(t, s.New(t, len(prompt), k), p.next(len(prompt)))
	return k.Logits[:len(prompt)]
}

// Alone computes a prompt and n tokens behind it as the only request, whole, in slots
// one after another: the twin of every batch. It gives the tokens and the logits they
// were chosen from.
func (s Subject) Alone(t testing.TB, prompt []int64, n int) (tokens []int64, logits [][]float32) {
	t.Helper()
	k := &Keeper{}
	m := s.New(t, len(prompt)+n, k)
	all := slices.Clone(prompt)
	for start := 0; len(tokens) < n; start = len(all) - 1 {
		work := model.Work{IDs: all[start:], Start: start, Slots: inOrder(len(all)), Next: -1, Sample: true}
		token := Forward(t, m, work).Chosen[0].Token
		tokens, all = append(tokens, token), append(all, token)
	}
	return tokens, k.Logits
}

func inOrder(n int) []int32 {
	slots := make([]int32, n)
	for i := range slots {
		slots[i] = int32(i)
	}
	return slots
}

// Forward computes a batch of the works, without an error.
func Forward(t testing.TB, m model.Model, works ...model.Work) model.Output {
	t.Helper()
	out, err := m.Forward(&model.Batch{Work: works})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

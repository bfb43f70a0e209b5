package qwen3

import (
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Model computes one batch at a time, in slots of its own.
type Model struct {
	config   Config
	weights  *Weights
	head     []float32
	sampler  Sampler
	slots    int
	cos, sin []float32   // [ContextLength, HeadDim/2]
	k, v     [][]float32 // of each layer [slots, KVHeads·HeadDim]
	scratch
}

// scratch is what a token's computation needs beside the slots.
type scratch struct {
	h, x, y  []float32 // HiddenSize
	q, heads []float32 // Heads · HeadDim
	gate, up []float32 // IntermediateSize
	scores   []float32 // one for each position
	logits   []float32 // VocabSize
}

// maxCacheBytes is far above any machine's memory and below what Go can address.
const maxCacheBytes = 1 << 46

// New makes a model with that many slots. The weights are read, never written:
// models may share them.
func New(c Config, w *Weights, slots int, s Sampler) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := w.check(c); err != nil {
		return nil, err
	}
	if slots < 1 || slots > math.MaxInt32 {
		return nil, fmt.Errorf("qwen3: %d slots, expected 1 to %d", slots, math.MaxInt32)
	}
	if bytes := float64(slots) * float64(c.SlotBytes()); bytes > maxCacheBytes {
		return nil, fmt.Errorf("qwen3: %d slots of %d bytes, expected at most %d bytes in all", slots, c.SlotBytes(), int64(maxCacheBytes))
	}
	if s == nil {
		return nil, errors.New("qwen3: no sampler")
	}
	m := &Model{config: c, weights: w, head: w.Head, sampler: s, slots: slots, scratch: newScratch(c)}
	if c.TieWordEmbeddings {
		m.head = w.Embed
	}
	m.cos, m.sin = angles(c)
	for range c.Layers {
		m.k = append(m.k, make([]float32, slots*c.KVHeads*c.HeadDim))
		m.v = append(m.v, make([]float32, slots*c.KVHeads*c.HeadDim))
	}
	return m, nil
}

func newScratch(c Config) scratch {
	floats := func(n int) []float32 { return make([]float32, n) }
	return scratch{
		h: floats(c.HiddenSize), x: floats(c.HiddenSize), y: floats(c.HiddenSize),
		q: floats(c.Heads * c.HeadDim), heads: floats(c.Heads * c.HeadDim),
		gate: floats(c.IntermediateSize), up: floats(c.IntermediateSize),
		scores: floats(c.ContextLength), logits: floats(c.VocabSize),
	}
}

// angles are the cosines and sines of each position. Every step to the angle is
// rounded to float32, as in transformers: far out this shows in the logits.
func angles(c Config) (cos, sin []float32) {
	frequencies := c.RopeFrequencies
	if frequencies == nil {
		frequencies = make([]float32, c.HeadDim/2)
		for j := range frequencies {
			exponent := float32(2*j) / float32(c.HeadDim)
			frequencies[j] = 1 / float32(math.Pow(c.RopeTheta, float64(exponent)))
		}
	}
	for p := range c.ContextLength {
		for _, f := range frequencies {
			s, t := math.Sincos(float64(float32(p) * f))
			sin, cos = append(sin, float32(s)), append(cos, float32(t))
		}
	}
	return cos, sin
}

// Limits are the config's.
func (m *Model) Limits() model.Limits {
	return model.Limits{VocabSize: m.config.VocabSize, ContextLength: m.config.ContextLength, EOS: m.config.EOS}
}

// Forward computes the batch and fills in Chosen.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	if len(b.Work) == 0 {
		return model.Output{}, errors.New("qwen3: a batch without work")
	}
	for i := range b.Work {
		if err := m.check(&b.Work[i]); err != nil {
			return model.Output{}, fmt.Errorf("qwen3: rid %q: %w", b.Work[i].RID, err)
		}
	}
	out := model.Output{Chosen: make([]model.Choice, len(b.Work))}
	for i := range b.Work {
		c, err := m.work(&b.Work[i])
		if err != nil {
			return model.Output{}, fmt.Errorf("qwen3: rid %q: %w", b.Work[i].RID, err)
		}
		out.Chosen[i] = c
	}
	return out, nil
}

func (m *Model) check(w *model.Work) error {
	if len(w.IDs) == 0 || w.Start < 0 || len(w.Slots) != w.Start+len(w.IDs) {
		return fmt.Errorf("%d ids behind %d with %d slots, expected at least one id and a slot for each", len(w.IDs), w.Start, len(w.Slots))
	}
	if len(w.Slots) > m.config.ContextLength {
		return fmt.Errorf("%d tokens, expected at most %d", len(w.Slots), m.config.ContextLength)
	}
	for _, id := range w.IDs {
		if id < 0 || id >= int64(m.config.VocabSize) {
			return fmt.Errorf("id %d, expected 0 to %d", id, m.config.VocabSize-1)
		}
	}
	for _, slot := range w.Slots {
		if slot < 0 || int(slot) >= m.slots {
			return fmt.Errorf("slot %d, expected 0 to %d", slot, m.slots-1)
		}
	}
	if w.Next < -1 || w.Next >= int64(m.config.VocabSize) {
		return fmt.Errorf("token behind is %d, expected -1 or 0 to %d", w.Next, m.config.VocabSize-1)
	}
	for _, id := range w.Logprobs.IDs {
		if id < 0 || id >= int64(m.config.VocabSize) {
			return fmt.Errorf("log-probability of id %d, expected 0 to %d", id, m.config.VocabSize-1)
		}
	}
	return nil
}

// work computes one request's part, token by token.
func (m *Model) work(w *model.Work) (model.Choice, error) {
	var c model.Choice
	for i, id := range w.IDs {
		position := w.Start + i
		m.token(id, w.Slots[:position+1])
		last := i == len(w.IDs)-1
		next := w.Next
		if !last {
			next = w.IDs[i+1]
		}
		ask := w.Logprobs.Want && position >= w.Logprobs.InputStart && next >= 0
		if !ask && !(last && w.Sample) {
			continue
		}
		logits := m.lastLogits()
		if ask {
			p, err := m.sampler.Logprobs(logits, next, w.Logprobs)
			if err != nil {
				return model.Choice{}, err
			}
			c.Input = append(c.Input, p)
		}
		if last && w.Sample {
			chosen, err := m.sampler.Choose(w, logits)
			if err != nil {
				return model.Choice{}, err
			}
			c.Token, c.Step, c.Err = chosen.Token, chosen.Step, chosen.Err
		}
	}
	return c, nil
}

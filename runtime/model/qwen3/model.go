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
	if err := c.Check(); err != nil {
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

// angles are the cosines and sines of each position.
func angles(c Config) (cos, sin []float32) {
	frequencies, half := c.Frequencies(), c.HeadDim/2
	cos, sin = make([]float32, c.ContextLength*half), make([]float32, c.ContextLength*half)
	for p := range c.ContextLength {
		Angles(cos[p*half:][:half], sin[p*half:][:half], frequencies, p)
	}
	return cos, sin
}

// Limits are the config's.
func (m *Model) Limits() model.Limits {
	return model.Limits{VocabSize: m.config.VocabSize, ContextLength: m.config.ContextLength, EOS: m.config.EOS}
}

// Forward computes the batch and fills in Chosen.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	if err := b.Check(m.Limits(), m.slots); err != nil {
		return model.Output{}, fmt.Errorf("qwen3: %w", err)
	}
	out := model.Output{Chosen: make([]model.Choice, len(b.Work))}
	for i := range b.Work {
		c, err := m.work(b, i)
		if err != nil {
			return model.Output{}, fmt.Errorf("qwen3: rid %q: %w", b.Work[i].RID, err)
		}
		out.Chosen[i] = c
	}
	return out, nil
}

// work computes one request's part, token by token.
func (m *Model) work(b *model.Batch, i int) (model.Choice, error) {
	var c model.Choice
	w := &b.Work[i]
	for j, id := range w.IDs {
		m.token(id, w.Slots[:w.Start+j+1])
		ask := Asks(b, i, j)
		if ask.Nothing() {
			continue
		}
		if err := ask.Take(m.sampler, &c, w, m.lastLogits()); err != nil {
			return model.Choice{}, err
		}
	}
	return c, nil
}

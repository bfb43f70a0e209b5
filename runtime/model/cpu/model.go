package cpu

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// Model computes one batch at a time, in slots of its own.
type Model struct {
	config       qwen3.Config
	weights      *weights
	pairs        bool // heads of q and k are pairs side by side, otherwise two halves
	sampler      qwen3.Sampler
	slots        int
	frequencies  []float32
	keys, values [][]float32 // of each layer [KVHeads, slots, HeadDim]
	pool         *pool
	bodies       bodies
	scratch
}

// bodies are the parts of regions. They are kept, since making one allocates.
type bodies struct {
	begin, fill, products, gated, place, attend, residual func(worker, part int)
}

// New makes a model of the checkpoint, whose mapping it reads until its end: the caller
// closes the model, then the checkpoint.
func New(c *checkpoint.Checkpoint, o Options) (*Model, error) {
	config, err := o.resolve(c)
	if err == nil {
		err = o.checkSlots(config)
	}
	if err != nil {
		return nil, fmt.Errorf("cpu: %w", err)
	}
	p, memory := newPool(o.Threads), &memory{}
	l := loader{options: o, memory: memory, pool: p}
	w := l.load(c)
	if l.err != nil {
		p.end()
		return nil, fmt.Errorf("cpu: %w", l.err)
	}
	m := &Model{
		config: config, weights: w, pairs: c.QKPairs, sampler: o.Sampler, slots: o.Slots,
		frequencies: config.Frequencies(), pool: p, scratch: newScratch(config, memory),
	}
	m.reserve(config, w, o.Threads, memory)
	m.bodies = bodies{m.beginToken, m.fillToken, m.productPart, m.gatedPart, m.placeToken, m.attendTile, m.residualToken}
	for range config.Layers {
		m.keys = append(m.keys, make([]float32, o.Slots*config.KVHeads*config.HeadDim))
		m.values = append(m.values, make([]float32, o.Slots*config.KVHeads*config.HeadDim))
	}
	return m, nil
}

// Close ends the model's threads. Nothing else of it may be called then.
func (m *Model) Close() { m.pool.end() }

// Limits are the config's.
func (m *Model) Limits() model.Limits {
	return model.Limits{VocabSize: m.config.VocabSize, ContextLength: m.config.ContextLength, EOS: m.config.EOS}
}

// Forward computes the batch and fills in Chosen, which is the caller's until the next
// call.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	if err := b.Check(m.Limits(), m.slots); err != nil {
		return model.Output{}, fmt.Errorf("cpu: %w", err)
	}
	m.begin(len(b.Work))
	m.pool.within.Store(true)
	defer func() {
		m.pool.within.Store(false)
		clear(m.tokens[:cap(m.tokens)]) // keeps nothing of the batch
	}()
	m.tokens = m.tokens[:0]
	for i := range b.Work {
		w := &b.Work[i]
		for j, id := range w.IDs {
			position := w.Start + j
			m.tokens = append(m.tokens, token{id, position, w.Slots[:position+1], qwen3.Asks(b, i, j)})
			if len(m.tokens) == cap(m.tokens) {
				if err := m.block(b); err != nil {
					return model.Output{}, err
				}
				m.tokens = m.tokens[:0]
			}
		}
	}
	if len(m.tokens) > 0 {
		if err := m.block(b); err != nil {
			return model.Output{}, err
		}
	}
	return model.Output{Chosen: m.chosen}, nil
}

// block takes the tokens at hand through the model.
func (m *Model) block(b *model.Batch) error {
	m.cut()
	m.each(len(m.tokens), m.bodies.begin)
	for i := range m.weights.layers {
		l := &m.weights.layers[i]
		m.layer = i
		m.project(l)
		if i == len(m.weights.layers)-1 {
			m.keep()
		}
		if len(m.tokens) == 0 {
			return nil
		}
		m.attend(l)
		m.gated(l)
	}
	return m.answer(b)
}

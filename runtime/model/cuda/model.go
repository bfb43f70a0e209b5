//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// Model computes one batch at a time, in slots of its own.
type Model struct {
	config  qwen3.Config
	weights *weights
	pairs   bool // heads of q and k are pairs side by side, otherwise two halves
	sampler qwen3.Sampler
	chooser Chooser // the sampler, where it is one
	slots   int
	format  kernels.Format
	device  *driver.Device
	arena   arena
	kernels *kernels.Set
	scratch
	keys, values []driver.Buffer // of each layer [slots, KVHeads, HeadDim]

	block    block
	staging  staging
	results  results
	rowBytes []byte    // a row's, as they come down
	row      []float32 // the same over the whole vocabulary
	chosen   []model.Choice

	// What the step at hand works on.
	batch   *model.Batch
	numbers numbers
	body    func(*driver.Thread) error
}

// New makes a model of the checkpoint, which is not needed any more when it returns. Close
// must be called.
func New(c *checkpoint.Checkpoint, o Options) (*Model, error) {
	config, err := o.resolve(c)
	if err == nil {
		err = o.checkSlots()
	}
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	device, err := driver.Open(o.Device)
	if err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	m := onHost(config, o, device)
	m.pairs = c.QKPairs
	if err := device.Run(func(t *driver.Thread) error { return m.build(t, c, o) }); err != nil {
		return nil, errors.Join(fmt.Errorf("cuda: %w", err), m.Close())
	}
	return m, nil
}

// onHost has what lies on the host.
func onHost(config qwen3.Config, o Options, device *driver.Device) *Model {
	r := roomFor(config)
	m := &Model{
		config: config, sampler: o.Sampler, slots: o.Slots, format: formats[o.DType], device: device, block: newBlock(r),
		staging: staging{bytes: make([]byte, 0, stagingBytes(r))}, results: newResults(r.rows),
		rowBytes: make([]byte, 4*vocabulary(config)), row: make([]float32, config.VocabSize),
	}
	m.chooser, _ = o.Sampler.(Chooser)
	m.body = m.compute
	return m
}

// build fills the device's memory.
func (m *Model) build(t *driver.Thread, c *checkpoint.Checkpoint, o Options) error {
	var err error
	if m.kernels, err = kernels.Load(t, m.device.Info().Multiprocessors); err != nil {
		return err
	}
	l := loader{arena: arena{thread: t}, dtype: o.DType}
	m.weights = l.load(c)
	m.scratch = newScratch(m.config, &l.arena)
	l.upload(m.frequencies, 0, floatBytes(m.config.Frequencies()))
	m.staging.at = m.staged.Pointer
	slot := slotBytes(m.config, o.DType) / int64(2*m.config.Layers)
	for range m.config.Layers {
		m.keys = append(m.keys, l.alloc(int64(o.Slots)*slot))
		m.values = append(m.values, l.alloc(int64(o.Slots)*slot))
	}
	m.arena, err = l.arena, l.err
	m.arena.thread = nil
	if errors.Is(err, driver.ErrMemory) {
		info := m.device.Info()
		need, counted := arena{}, loader{dtype: o.DType}
		counted.load(c)
		newScratch(m.config, &need)
		return fmt.Errorf("too little memory on %s: the weights need %d bytes, a step %d, %d slots %d, and %d of %d are free: %w",
			info.Name, counted.bytes, need.bytes, o.Slots, int64(o.Slots)*slotBytes(m.config, o.DType), info.FreeBytes, info.TotalBytes, err)
	}
	return err
}

// Close frees the device's memory and leaves the device. Nothing else of the model may be
// called then.
func (m *Model) Close() error {
	freed := m.device.Run(m.arena.free)
	if err := errors.Join(freed, m.device.Close()); err != nil {
		return fmt.Errorf("cuda: %w", err)
	}
	return nil
}

// Limits are the config's.
func (m *Model) Limits() model.Limits {
	return model.Limits{VocabSize: m.config.VocabSize, ContextLength: m.config.ContextLength, EOS: m.config.EOS}
}

// Probe says what a device is, and how much of its memory is free.
func Probe(ordinal int) (info driver.Info, err error) {
	d, err := driver.Open(ordinal)
	if err != nil {
		return driver.Info{}, fmt.Errorf("cuda: %w", err)
	}
	return d.Info(), d.Close()
}

// Forward computes the batch and fills in Chosen, which is the caller's until the next
// call.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	if err := b.Check(m.Limits(), m.slots); err != nil {
		return model.Output{}, fmt.Errorf("cuda: %w", err)
	}
	m.chosen = slices.Grow(m.chosen[:0], len(b.Work))[:len(b.Work)]
	clear(m.chosen)
	m.batch = b
	defer func() { m.batch = nil }()
	m.block.reset()
	for i := range b.Work {
		for done := 0; done < len(b.Work[i].IDs); {
			n := m.block.add(b, i, done)
			if done += n; n > 0 {
				continue
			}
			if err := m.flush(); err != nil {
				return model.Output{}, err
			}
		}
	}
	if err := m.flush(); err != nil {
		return model.Output{}, err
	}
	return model.Output{Chosen: m.chosen}, nil
}

// flush takes the tokens at hand through the model.
func (m *Model) flush() error {
	err := m.device.Run(m.body)
	m.block.reset()
	var failed *driver.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed) && failed.Sticky(), errors.Is(err, driver.ErrClosed):
		return fmt.Errorf("cuda: %w: %w", model.ErrLost, err)
	}
	return fmt.Errorf("cuda: %w", err)
}

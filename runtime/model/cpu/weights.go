package cpu

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// weights are a checkpoint's, as the kernels take them.
type weights struct {
	embed, head kernels.Matrix
	norm        []float32
	layers      []layerWeights
}

type layerWeights struct {
	inputNorm         []float32
	q, k, v           kernels.Matrix
	qNorm, kNorm      []float32 // nil without QKNorm
	o                 kernels.Matrix
	postAttentionNorm []float32
	gate, up, down    kernels.Matrix
}

// multiplied are the matrices, but for the embedding.
func (w *weights) multiplied() []*kernels.Matrix {
	all := []*kernels.Matrix{&w.head}
	for i := range w.layers {
		l := &w.layers[i]
		all = append(all, &l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down)
	}
	return all
}

// loader makes weights, and keeps the first error.
type loader struct {
	options Options
	memory  *memory
	pool    *pool
	err     error
}

func (l *loader) load(c *checkpoint.Checkpoint) *weights {
	w := &weights{embed: l.matrix(c.Weights.Embed, true), norm: l.vector(c.Weights.Norm)}
	w.head = w.embed
	if format, _ := l.options.format(c.Weights.Head.DType, false); !c.TieWordEmbeddings || format != w.embed.Format {
		w.head = l.matrix(c.Weights.Head, false)
	}
	for i := range c.Weights.Layers {
		from := &c.Weights.Layers[i]
		layer := layerWeights{
			inputNorm: l.vector(from.InputNorm),
			q:         l.matrix(from.Q, false), k: l.matrix(from.K, false), v: l.matrix(from.V, false),
			o:                 l.matrix(from.O, false),
			postAttentionNorm: l.vector(from.PostAttentionNorm),
			gate:              l.matrix(from.Gate, false), up: l.matrix(from.Up, false), down: l.matrix(from.Down, false),
		}
		if c.QKNorm {
			layer.qNorm, layer.kNorm = l.vector(from.QNorm), l.vector(from.KNorm)
		}
		w.layers = append(w.layers, layer)
	}
	return w
}

func (l *loader) vector(t tensor.Tensor) []float32 {
	v := l.memory.floats(t.Len())
	if v != nil {
		t.Read(v)
	}
	return v
}

// matrix is the tensor's bytes, or a copy in another format.
func (l *loader) matrix(t tensor.Tensor, embedding bool) kernels.Matrix {
	format, dtype := l.options.format(t.DType, embedding)
	m := kernels.Matrix{Format: format, Rows: t.Shape[0], Cols: t.Shape[1], Data: t.Data}
	if l.err != nil {
		return m
	}
	if dtype == t.DType {
		l.memory.mapped += int64(len(t.Data))
	} else {
		var size uint64
		if size, l.err = dtype.Size([]uint64{uint64(m.Rows), uint64(m.Cols)}); l.err == nil {
			m.Data = l.memory.raw(size)
		}
		if l.err == nil && !l.memory.counts {
			l.err = l.convert(&m, t)
		}
	}
	if l.err == nil && !l.memory.counts {
		_, l.err = kernels.NewMatrix(format, m.Rows, m.Cols, m.Data)
	}
	if l.err != nil {
		l.err = fmt.Errorf("tensor %s as %v: %w", t.Name, format, l.err)
	}
	return m
}

// convertedRows are converted at a time.
const convertedRows = 64

// convert fills m with the tensor's numbers.
func (l *loader) convert(m *kernels.Matrix, t tensor.Tensor) error {
	parts := (m.Rows + convertedRows - 1) / convertedRows
	size, failed := len(m.Data)/m.Rows, make([]error, parts)
	l.pool.run(parts, func(_, part int) {
		from := part * convertedRows
		to := min(from+convertedRows, m.Rows)
		values := t.Rows(from, to).Float32()
		if v := kernels.Beyond(m.Format, values); v != 0 {
			failed[part] = fmt.Errorf("it has %v, which is beyond the format's range", v)
			return
		}
		copy(m.Data[from*size:to*size], kernels.Encode(m.Format, values))
	})
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

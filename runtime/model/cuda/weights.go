//go:build cuda

package cuda

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// matrix lies on the device, row by row.
type matrix struct {
	at         uint64
	rows, cols int
}

// weights are a checkpoint's, on the device. Of norms there are addresses, 0 for none.
type weights struct {
	embed, head matrix
	norm        uint64
	layers      []layerWeights
}

type layerWeights struct {
	inputNorm         uint64
	qkv               matrix
	qNorm, kNorm      uint64
	o                 matrix
	postAttentionNorm uint64
	gateUp, down      matrix
}

// loader brings weights to the device, and keeps the first error.
type loader struct {
	arena
	dtype tensor.DType
}

func (l *loader) load(c *checkpoint.Checkpoint) *weights {
	w := &weights{embed: l.matrix(c.Weights.Embed), norm: l.vector(c.Weights.Norm)}
	w.head = w.embed
	if !c.TieWordEmbeddings {
		w.head = l.matrix(c.Weights.Head)
	}
	for i := range c.Weights.Layers {
		from := &c.Weights.Layers[i]
		layer := layerWeights{
			inputNorm: l.vector(from.InputNorm), qkv: l.matrix(from.Q, from.K, from.V), o: l.matrix(from.O),
			postAttentionNorm: l.vector(from.PostAttentionNorm), gateUp: l.matrix(from.Gate, from.Up), down: l.matrix(from.Down),
		}
		if c.QKNorm {
			layer.qNorm, layer.kNorm = l.vector(from.QNorm), l.vector(from.KNorm)
		}
		w.layers = append(w.layers, layer)
	}
	return w
}

func (l *loader) vector(t tensor.Tensor) uint64 {
	b := l.alloc(4 * int64(t.Len()))
	if l.thread != nil {
		l.upload(b, 0, floatBytes(t.Float32()))
	}
	return b.Pointer
}

// matrix is made of the tensors' rows, one below the other.
func (l *loader) matrix(parts ...tensor.Tensor) matrix {
	m := matrix{cols: parts[0].Shape[1]}
	for _, t := range parts {
		m.rows += t.Shape[0]
	}
	row := int64(m.cols) * width(l.dtype)
	b, at := l.alloc(int64(m.rows)*row), int64(0)
	for _, t := range parts {
		if l.thread != nil && l.err == nil {
			l.rows(t, func(from int, data []byte) { l.upload(b, at+int64(from)*row, data) })
		}
		at += int64(t.Shape[0]) * row
	}
	m.at = b.Pointer
	return m
}

// convertedRows are converted at a time.
const convertedRows = 256

// rows hands over a matrix's rows as they are held, from a row on: all at once where they
// lie so.
func (l *loader) rows(t tensor.Tensor, take func(from int, data []byte)) {
	if t.DType == l.dtype {
		take(0, t.Data)
		return
	}
	format := kernels.F32
	if l.dtype == tensor.BF16 {
		format = kernels.BF16
	}
	for from := 0; from < t.Shape[0] && l.err == nil; from += convertedRows {
		values := t.Rows(from, min(from+convertedRows, t.Shape[0])).Float32()
		if v := kernels.Beyond(format, values); v != 0 {
			l.err = fmt.Errorf("tensor %s as %v: it has %v, which is beyond the format's range", t.Name, l.dtype, v)
			return
		}
		take(from, kernels.Encode(format, values))
	}
}

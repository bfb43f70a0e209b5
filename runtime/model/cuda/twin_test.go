//go:build cuda

package cuda

import (
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// twin computes one request in plain loops of float64, and rounds keys and values to bf16, as the device does.
type twin struct {
	config       qwen3.Config
	weights      *checkpoint.Weights
	pairs        bool
	keys, values [][][]float64
}

func bf16(v float64) float64 {
	bits := math.Float32bits(float32(v))
	return float64(math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff))
}

// twinLogits are those of every position of a prompt, computed whole.
func twinLogits(c *checkpoint.Checkpoint, prompt []int64) [][]float32 {
	config := qwen3.FromCheckpoint(&c.Config)
	w := &twin{
		config: config, weights: &c.Weights, pairs: c.QKPairs,
		keys: make([][][]float64, config.Layers), values: make([][][]float64, config.Layers),
	}
	var out [][]float32
	for p, id := range prompt {
		out = append(out, w.token(id, p))
	}
	return out
}

func wide(t tensor.Tensor) []float64 {
	var out []float64
	for _, v := range t.Float32() {
		out = append(out, float64(v))
	}
	return out
}

func (w *twin) product(m tensor.Tensor, x []float64) []float64 {
	matrix, out := wide(m), make([]float64, m.Shape[0])
	for r := range out {
		for i, v := range x {
			out[r] += matrix[r*len(x)+i] * v
		}
	}
	return out
}

func (w *twin) norm(x []float64, weight tensor.Tensor) []float64 {
	sum, by, out := 0.0, wide(weight), make([]float64, len(x))
	for _, v := range x {
		sum += v * v
	}
	for i, v := range x {
		out[i] = v / math.Sqrt(sum/float64(len(x))+w.config.RMSNormEps) * by[i]
	}
	return out
}

// rotated are heads, normalized where the model does that, turned to a position.
func (w *twin) rotated(heads []float64, weight tensor.Tensor, position int) []float64 {
	var out []float64
	dim := w.config.HeadDim
	for ; len(heads) > 0; heads = heads[dim:] {
		head := heads[:dim:dim]
		if w.config.QKNorm {
			head = w.norm(head, weight)
		}
		turned := make([]float64, dim)
		for j, f := range w.config.Frequencies() {
			a, b := j, j+dim/2
			if w.pairs {
				a, b = 2*j, 2*j+1
			}
			sin, cos := math.Sincos(float64(float32(position) * f))
			turned[a], turned[b] = head[a]*cos-head[b]*sin, head[b]*cos+head[a]*sin
		}
		out = append(out, turned...)
	}
	return out
}

// stored is what a cache keeps.
func (w *twin) stored(x []float64) []float64 {
	if w.weights.Embed.DType == tensor.BF16 {
		for i := range x {
			x[i] = bf16(x[i])
		}
	}
	return x
}

func (w *twin) attend(q []float64, layer int) []float64 {
	c := &w.config
	out := make([]float64, len(q))
	for g := range c.Heads {
		shared, sum := g/(c.Heads/c.KVHeads)*c.HeadDim, 0.0
		for p, key := range w.keys[layer] {
			score := 0.0
			for j := range c.HeadDim {
				score += q[g*c.HeadDim+j] * key[shared+j]
			}
			share := math.Exp(score / math.Sqrt(float64(c.HeadDim)))
			sum += share
			for j := range c.HeadDim {
				out[g*c.HeadDim+j] += share * w.values[layer][p][shared+j]
			}
		}
		for j := range c.HeadDim {
			out[g*c.HeadDim+j] /= sum
		}
	}
	return out
}

func add(h, x []float64) {
	for i := range h {
		h[i] += x[i]
	}
}

func (w *twin) token(id int64, position int) []float32 {
	h := wide(w.weights.Embed.Rows(int(id), int(id)+1))
	for i := range w.weights.Layers {
		l := &w.weights.Layers[i]
		x := w.norm(h, l.InputNorm)
		q := w.rotated(w.product(l.Q, x), l.QNorm, position)
		w.keys[i] = append(w.keys[i], w.stored(w.rotated(w.product(l.K, x), l.KNorm, position)))
		w.values[i] = append(w.values[i], w.stored(w.product(l.V, x)))
		add(h, w.product(l.O, w.attend(q, i)))
		x = w.norm(h, l.PostAttentionNorm)
		gate, up := w.product(l.Gate, x), w.product(l.Up, x)
		for j, g := range gate {
			gate[j] = g / (1 + math.Exp(-g)) * up[j]
		}
		add(h, w.product(l.Down, gate))
	}
	var out []float32
	for _, v := range w.product(w.weights.Head, w.norm(h, w.weights.Norm)) {
		out = append(out, float32(v))
	}
	w.config.HidePadding(out)
	return out
}

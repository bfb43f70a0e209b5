package cpu

import (
	"math"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// twin is the model once more, as plainly as it can be said, for one request: in
// float64, but with the weights that Q8 makes of its matrices, and with activations
// rounded to int8 in blocks of 32 before each product.
type twin struct {
	c            qwen3.Config
	w            *qwen3.Weights
	rounded      map[*float32][]float64 // matrices, by their first weight
	keys, values [][][]float64          // by layer and position
}

func newTwin(c qwen3.Config, w *qwen3.Weights) *twin {
	return &twin{c, w, map[*float32][]float64{}, make([][][]float64, c.Layers), make([][][]float64, c.Layers)}
}

// blocks rounds as Q8 does: to whole numbers of the 127th part of a block's largest.
func blocks(x []float64, factor func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for at := 0; at < len(x); at += 32 {
		top := 0.0
		for _, v := range x[at : at+32] {
			top = max(top, math.Abs(v))
		}
		for i, v := range x[at : at+32] {
			if top > 0 {
				out[at+i] = math.Round(v/(top/127)) * factor(top/127)
			}
		}
	}
	return out
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

// asHalf is a weight's factor, which lies in the file as F16.
func asHalf(d float64) float64 {
	m, err := kernels.NewMatrix(kernels.F16, 1, 1, kernels.Encode(kernels.F16, []float32{float32(d)}))
	if err != nil {
		panic(err)
	}
	var half [1]float32
	kernels.Row(half[:], &m, 0)
	return float64(half[0])
}

func (w *twin) product(matrix []float32, x []float64) []float64 {
	weights, x := w.rounded[&matrix[0]], blocks(x, func(d float64) float64 { return d })
	if weights == nil {
		weights = blocks(wide(matrix), asHalf)
		w.rounded[&matrix[0]] = weights
	}
	out := make([]float64, len(weights)/len(x))
	for r := range out {
		for i, v := range x {
			out[r] += v * weights[r*len(x)+i]
		}
	}
	return out
}

func (w *twin) norm(x []float64, weight []float32) []float64 {
	squares := 0.0
	for _, v := range x {
		squares += v * v
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v / math.Sqrt(squares/float64(len(x))+w.c.RMSNormEps) * float64(weight[i])
	}
	return out
}

func (w *twin) turn(head []float64, weight []float32, position int) []float64 {
	if w.c.QKNorm {
		head = w.norm(head, weight)
	}
	half := len(head) / 2
	out := make([]float64, len(head))
	for j, f := range w.c.Frequencies() {
		sin, cos := math.Sincos(float64(float32(position) * f))
		out[j], out[half+j] = head[j]*cos-head[half+j]*sin, head[half+j]*cos+head[j]*sin
	}
	return out
}

func (w *twin) attend(l *qwen3.LayerWeights, layer int, x []float64, position int) []float64 {
	dim := w.c.HeadDim
	turned := func(heads []float64, weight []float32) (out []float64) {
		for ; len(heads) > 0; heads = heads[dim:] {
			out = append(out, w.turn(heads[:dim], weight, position)...)
		}
		return out
	}
	q := turned(w.product(l.Q, x), l.QNorm)
	w.keys[layer] = append(w.keys[layer], turned(w.product(l.K, x), l.KNorm))
	w.values[layer] = append(w.values[layer], w.product(l.V, x))
	out := make([]float64, len(q))
	for g := range w.c.Heads {
		shared, sum := g/(w.c.Heads/w.c.KVHeads)*dim, 0.0
		for p, key := range w.keys[layer] {
			score := 0.0
			for j := range dim {
				score += q[g*dim+j] * key[shared+j]
			}
			share := math.Exp(score / math.Sqrt(float64(dim)))
			sum += share
			for j := range dim {
				out[g*dim+j] += share * w.values[layer][p][shared+j]
			}
		}
		for j := range dim {
			out[g*dim+j] /= sum
		}
	}
	return out
}

func (w *twin) token(id int64, position int) []float32 {
	n := w.c.HiddenSize
	h := wide(w.w.Embed[int(id)*n:][:n])
	add := func(x []float64) {
		for i, v := range x {
			h[i] += v
		}
	}
	for i := range w.w.Layers {
		l := &w.w.Layers[i]
		add(w.product(l.O, w.attend(l, i, w.norm(h, l.InputNorm), position)))
		x := w.norm(h, l.PostAttentionNorm)
		gate, up := w.product(l.Gate, x), w.product(l.Up, x)
		for j, g := range gate {
			gate[j] = g / (1 + math.Exp(-g)) * up[j]
		}
		add(w.product(l.Down, gate))
	}
	head := w.w.Head
	if w.c.TieWordEmbeddings {
		head = w.w.Embed
	}
	var logits []float32
	for _, v := range w.product(head, w.norm(h, w.w.Norm)) {
		logits = append(logits, float32(v))
	}
	return logits
}

// An activation on the edge between two whole numbers falls to the other side now and
// then, where sums are rounded otherwise. All other positions agree as floats do.
func TestQ8IsThatOfTheTwin(t *testing.T) {
	for _, c := range []qwen3.Config{small(), tied()} {
		w := seeded(t, c, 12)
		prompt := drawn(60, c.VocabSize)
		tw := newTwin(c, w)
		var want [][]float32
		for p, id := range prompt {
			want = append(want, tw.token(id, p))
		}
		tokens := c.VocabSize
		if c.Tokens > 0 {
			tokens = c.Tokens
		}
		got := subject(stored.Checkpoint(t, c, w, tensor.F32), Options{Q8: true}).Everywhere(t, prompt)
		exact := plain(t, c, w, tensor.F32).Everywhere(t, prompt)
		apart := 0
		for p := range want {
			if compare(t, got[p:p+1], want[p:p+1], tokens) > 1e-5 {
				apart++
			}
		}
		off, change := compare(t, got, want, tokens), compare(t, got, exact, tokens)
		if apart > 3 || off > 0.03 || change < 0.06 {
			t.Errorf("%d positions apart from the twin's, at most %v; %v off float32: want 3, 0.03, and at least 0.06", apart, off, change)
		}
	}
}

package qwen3

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Weights are a model's tensors, matrices row by row as [out, in]. The package
// documentation has the shapes.
type Weights struct {
	Embed  []float32
	Layers []LayerWeights
	Norm   []float32
	Head   []float32 // nil where it is tied to Embed
}

// LayerWeights are one layer's.
type LayerWeights struct {
	InputNorm         []float32
	Q, K, V           []float32
	QNorm, KNorm      []float32 // nil without QKNorm
	O                 []float32
	PostAttentionNorm []float32
	Gate, Up, Down    []float32
}

// tensor is one of the weights: where it lies, and how a seeded one is drawn.
type tensor struct {
	name       string
	data       *[]float32
	rows, cols int // rows is 1 for the weights of a norm
	base       float32
	scale      float64
}

func norm(name string, data *[]float32, n int, base float32) tensor {
	return tensor{name, data, 1, n, base, 0.5}
}

func matrix(name string, data *[]float32, rows, cols int) tensor {
	return tensor{name, data, rows, cols, 0, math.Sqrt(3 / float64(cols))}
}

// tensors lists w's in the order of the package documentation. It makes room for
// the config's number of layers where w has none.
func (w *Weights) tensors(c Config) []tensor {
	all := []tensor{{"model.embed_tokens.weight", &w.Embed, c.VocabSize, c.HiddenSize, 0, 0.1}}
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	if w.Layers == nil {
		w.Layers = make([]LayerWeights, c.Layers)
	}
	for i := range w.Layers {
		l, in := &w.Layers[i], fmt.Sprintf("model.layers.%d.", i)
		all = append(all,
			norm(in+"input_layernorm.weight", &l.InputNorm, c.HiddenSize, 1),
			matrix(in+"self_attn.q_proj.weight", &l.Q, q, c.HiddenSize),
			matrix(in+"self_attn.k_proj.weight", &l.K, kv, c.HiddenSize),
			matrix(in+"self_attn.v_proj.weight", &l.V, kv, c.HiddenSize),
		)
		if c.QKNorm {
			all = append(all,
				norm(in+"self_attn.q_norm.weight", &l.QNorm, c.HeadDim, 2),
				norm(in+"self_attn.k_norm.weight", &l.KNorm, c.HeadDim, 1),
			)
		}
		all = append(all,
			matrix(in+"self_attn.o_proj.weight", &l.O, c.HiddenSize, q),
			norm(in+"post_attention_layernorm.weight", &l.PostAttentionNorm, c.HiddenSize, 1),
			matrix(in+"mlp.gate_proj.weight", &l.Gate, c.IntermediateSize, c.HiddenSize),
			matrix(in+"mlp.up_proj.weight", &l.Up, c.IntermediateSize, c.HiddenSize),
			matrix(in+"mlp.down_proj.weight", &l.Down, c.HiddenSize, c.IntermediateSize),
		)
	}
	all = append(all, norm("model.norm.weight", &w.Norm, c.HiddenSize, 1))
	if !c.TieWordEmbeddings {
		all = append(all, matrix("lm_head.weight", &w.Head, c.VocabSize, c.HiddenSize))
	}
	return all
}

// Seeded draws the weights of a model, as the package documentation says.
func Seeded(c Config, seed uint64) (*Weights, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	w, r := &Weights{}, rand.NewPCG(seed, 0)
	for _, t := range w.tensors(c) {
		data, scale := make([]float32, t.rows*t.cols), float32(t.scale)
		for i := range data {
			u := float32(int64(r.Uint64()>>40)-1<<23) / (1 << 23)
			data[i] = t.base + float32(u*scale)
		}
		*t.data = data
	}
	return w, nil
}

// check names the tensor that does not fit the config.
func (w *Weights) check(c Config) error {
	if len(w.Layers) != c.Layers {
		return fmt.Errorf("qwen3: weights of %d layers, expected %d", len(w.Layers), c.Layers)
	}
	for _, t := range w.tensors(c) {
		if len(*t.data) != t.rows*t.cols {
			return fmt.Errorf("qwen3: %s has %d weights, expected %d times %d", t.name, len(*t.data), t.rows, t.cols)
		}
	}
	for i, l := range w.Layers {
		if !c.QKNorm && (l.QNorm != nil || l.KNorm != nil) {
			return fmt.Errorf("qwen3: layer %d has q_norm or k_norm, expected none without QKNorm", i)
		}
	}
	if c.TieWordEmbeddings && w.Head != nil {
		return fmt.Errorf("qwen3: lm_head.weight has %d weights, expected none: it is tied to the embedding", len(w.Head))
	}
	return nil
}

package checkpoint

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Weights are a model's tensors, each with the dtype it has in its file. Those of
// norms are vectors, all others matrices.
type Weights struct {
	Embed  tensor.Tensor
	Layers []LayerWeights
	Norm   tensor.Tensor
	Head   tensor.Tensor // Embed, where it is tied
}

// LayerWeights are one layer's. QNorm and KNorm are empty without QKNorm.
type LayerWeights struct {
	InputNorm         tensor.Tensor
	Q, K, V           tensor.Tensor
	QNorm, KNorm      tensor.Tensor
	O                 tensor.Tensor
	PostAttentionNorm tensor.Tensor
	Gate, Up, Down    tensor.Tensor
}

// naming is what a kind of file calls the weights.
type naming struct {
	embed, norm, head, layer            string // layer has a %d
	inputNorm, q, k, v, qNorm, kNorm, o string
	postAttentionNorm, gate, up, down   string
}

var folderNames = naming{
	embed: "model.embed_tokens.weight", norm: "model.norm.weight", head: "lm_head.weight", layer: "model.layers.%d.",
	inputNorm: "input_layernorm.weight", q: "self_attn.q_proj.weight", k: "self_attn.k_proj.weight", v: "self_attn.v_proj.weight",
	qNorm: "self_attn.q_norm.weight", kNorm: "self_attn.k_norm.weight", o: "self_attn.o_proj.weight",
	postAttentionNorm: "post_attention_layernorm.weight", gate: "mlp.gate_proj.weight", up: "mlp.up_proj.weight", down: "mlp.down_proj.weight",
}

var ggufNames = naming{
	embed: "token_embd.weight", norm: "output_norm.weight", head: "output.weight", layer: "blk.%d.",
	inputNorm: "attn_norm.weight", q: "attn_q.weight", k: "attn_k.weight", v: "attn_v.weight",
	qNorm: "attn_q_norm.weight", kNorm: "attn_k_norm.weight", o: "attn_output.weight",
	postAttentionNorm: "ffn_norm.weight", gate: "ffn_gate.weight", up: "ffn_up.weight", down: "ffn_down.weight",
}

// finder takes a file's tensors by name, and keeps the first error.
type finder struct {
	left map[string]tensor.Tensor
	err  error
}

func newFinder(tensors []tensor.Tensor) *finder {
	f := &finder{left: make(map[string]tensor.Tensor, len(tensors))}
	for _, t := range tensors {
		f.left[t.Name] = t
	}
	return f
}

func (f *finder) has(name string) bool {
	_, has := f.left[name]
	return has
}

func (f *finder) take(name string, shape ...int) tensor.Tensor {
	t, has := f.left[name]
	delete(f.left, name)
	if f.err == nil && !has {
		f.err = fmt.Errorf("no tensor %s, expected one of %v", name, shape)
	}
	if f.err == nil && !slices.Equal(t.Shape, shape) {
		f.err = fmt.Errorf("tensor %s is %v, expected %v", name, t.Shape, shape)
	}
	return t
}

// vocabulary takes a matrix of one row an id, and cuts off those beyond.
func (f *finder) vocabulary(name string, rows, cols int) tensor.Tensor {
	t := f.left[name]
	if f.err == nil && len(t.Shape) == 2 && t.Shape[0] > rows && t.Shape[1] == cols {
		delete(f.left, name)
		return t.Rows(0, rows)
	}
	return f.take(name, rows, cols)
}

// weights takes what the config asks for.
func (f *finder) weights(c *Config, n *naming) Weights {
	w := Weights{Embed: f.vocabulary(n.embed, c.VocabSize, c.HiddenSize), Norm: f.take(n.norm, c.HiddenSize)}
	for i := 0; i < c.Layers && f.err == nil; i++ {
		w.Layers = append(w.Layers, f.layer(c, n, fmt.Sprintf(n.layer, i)))
	}
	if !c.TieWordEmbeddings || f.has(n.head) {
		w.Head = f.vocabulary(n.head, c.VocabSize, c.HiddenSize)
	}
	if c.TieWordEmbeddings {
		w.Head = w.Embed
	}
	return w
}

func (f *finder) layer(c *Config, n *naming, in string) LayerWeights {
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	l := LayerWeights{
		InputNorm: f.take(in+n.inputNorm, c.HiddenSize),
		Q:         f.take(in+n.q, q, c.HiddenSize),
		K:         f.take(in+n.k, kv, c.HiddenSize),
		V:         f.take(in+n.v, kv, c.HiddenSize),
		O:         f.take(in+n.o, c.HiddenSize, q),

		PostAttentionNorm: f.take(in+n.postAttentionNorm, c.HiddenSize),
		Gate:              f.take(in+n.gate, c.IntermediateSize, c.HiddenSize),
		Up:                f.take(in+n.up, c.IntermediateSize, c.HiddenSize),
		Down:              f.take(in+n.down, c.HiddenSize, c.IntermediateSize),
	}
	if c.QKNorm {
		l.QNorm, l.KNorm = f.take(in+n.qNorm, c.HeadDim), f.take(in+n.kNorm, c.HeadDim)
	}
	return l
}

// rest names a tensor that nobody took.
func (f *finder) rest(passedOver func(name string) bool) error {
	var names []string
	for name := range f.left {
		if !passedOver(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return fmt.Errorf("%d tensors that the architecture has no use for: %.100q is the first", len(names), names[0])
}

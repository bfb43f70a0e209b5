package qwen3

import (
	"fmt"
	"math"
)

// Config has the numbers of a Qwen3 or Llama model, by the names of its config.json where
// that has them.
type Config struct {
	VocabSize         int
	Tokens            int // ids from here on are padding, which is never chosen; 0 where there is none
	HiddenSize        int
	IntermediateSize  int
	Layers            int // num_hidden_layers
	Heads             int // num_attention_heads
	KVHeads           int // num_key_value_heads
	HeadDim           int
	QKNorm            bool // false for Llama, which has no q_norm and k_norm
	RMSNormEps        float64
	RopeTheta         float64
	RopeFrequencies   []float32 // of each pair, where they are scaled; nil for those of RopeTheta
	TieWordEmbeddings bool
	CacheBF16         bool // keys and values are rounded to BF16 as they are kept; no part of a config.json
	ContextLength     int  // max_position_embeddings
	EOS               []int64
}

// Specials are the tokens behind the 256 bytes in the small model's vocabulary:
// the first one's id is 256.
var Specials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>"}

// Small is the config of the model that is served when no other is named.
func Small() Config {
	return Config{
		VocabSize:        256 + len(Specials),
		HiddenSize:       64,
		IntermediateSize: 192,
		Layers:           2,
		Heads:            4,
		KVHeads:          2,
		HeadDim:          32,
		QKNorm:           true,
		RMSNormEps:       1e-6,
		RopeTheta:        1e6,
		ContextLength:    8192,
		EOS:              []int64{258, 256},
	}
}

// SlotBytes is the size of one token's keys and values.
func (c Config) SlotBytes() int { return 2 * c.Layers * c.KVHeads * c.HeadDim * 4 }

// maxDimension keeps the product of any two dimensions inside an int.
const maxDimension = 1 << 20

// Frequencies are those of a head's pairs. Each step is rounded to float32, as in
// transformers.
func (c Config) Frequencies() []float32 {
	if c.RopeFrequencies != nil {
		return c.RopeFrequencies
	}
	frequencies := make([]float32, c.HeadDim/2)
	for j := range frequencies {
		exponent := float32(2*j) / float32(c.HeadDim)
		frequencies[j] = 1 / float32(math.Pow(c.RopeTheta, float64(exponent)))
	}
	return frequencies
}

// Angles sets cos and sin, one number a pair, to those of the position. The angle is
// rounded to float32, as in transformers: far out this shows in the logits.
func Angles(cos, sin, frequencies []float32, position int) {
	for j, f := range frequencies {
		s, c := math.Sincos(float64(float32(position) * f))
		cos[j], sin[j] = float32(c), float32(s)
	}
}

// HidePadding sets the logits of the ids that are padding to −∞.
func (c Config) HidePadding(logits []float32) {
	if c.Tokens == 0 {
		return
	}
	for id := c.Tokens; id < len(logits); id++ {
		logits[id] = float32(math.Inf(-1))
	}
}

// Check names the field that cannot be.
func (c Config) Check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"VocabSize", c.VocabSize}, {"HiddenSize", c.HiddenSize}, {"IntermediateSize", c.IntermediateSize},
		{"Layers", c.Layers}, {"Heads", c.Heads}, {"KVHeads", c.KVHeads}, {"HeadDim", c.HeadDim},
		{"Heads times HeadDim", c.Heads * c.HeadDim}, {"ContextLength", c.ContextLength},
	} {
		if f.value < 1 || f.value > maxDimension {
			return fmt.Errorf("qwen3: %s is %d, expected 1 to %d", f.name, f.value, maxDimension)
		}
	}
	if c.Tokens < 0 || c.Tokens > c.VocabSize {
		return fmt.Errorf("qwen3: Tokens is %d, expected 0 to %d", c.Tokens, c.VocabSize)
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("qwen3: %d Heads for %d KVHeads, expected a multiple", c.Heads, c.KVHeads)
	}
	if c.HeadDim%2 != 0 {
		return fmt.Errorf("qwen3: HeadDim is %d, expected an even number: its halves are rotated", c.HeadDim)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"RMSNormEps", c.RMSNormEps}, {"RopeTheta", c.RopeTheta}} {
		if !(f.value > 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("qwen3: %s is %v, expected a number over 0", f.name, f.value)
		}
	}
	if c.RopeFrequencies != nil && len(c.RopeFrequencies) != c.HeadDim/2 {
		return fmt.Errorf("qwen3: %d RopeFrequencies, expected %d, half of HeadDim", len(c.RopeFrequencies), c.HeadDim/2)
	}
	for _, id := range c.EOS {
		if id < 0 || id >= int64(c.VocabSize) {
			return fmt.Errorf("qwen3: EOS has id %d, expected 0 to %d", id, c.VocabSize-1)
		}
	}
	return nil
}

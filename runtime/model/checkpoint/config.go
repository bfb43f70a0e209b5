package checkpoint

import (
	"fmt"
	"math"
	"slices"
)

// Config has a model's numbers, by the names of its config.json.
type Config struct {
	Architecture      string // "qwen3" or "llama"
	VocabSize         int
	Tokens            int // ids from here on are padding; 0 where the file does not say
	HiddenSize        int
	IntermediateSize  int
	Layers            int // num_hidden_layers
	Heads             int // num_attention_heads
	KVHeads           int // num_key_value_heads
	HeadDim           int
	QKNorm            bool // each head of q and k is normalized
	RMSNormEps        float64
	RopeTheta         float64
	RopeFrequencies   []float32 // of each pair, where they are not those of RopeTheta
	TieWordEmbeddings bool
	ContextLength     int // max_position_embeddings
	EOS               []int64
}

// The architectures.
const (
	qwen3 = "qwen3"
	llama = "llama"
)

// Class is the architecture by the name of transformers' class.
func (c *Config) Class() string {
	for class, architecture := range folderArchitectures {
		if architecture == c.Architecture {
			return class
		}
	}
	return ""
}

// maxDimension keeps the product of any two dimensions inside an int.
const maxDimension = 1 << 20

// check names the number that cannot be.
func (c *Config) check() error {
	for _, f := range []struct {
		name  string
		value int
	}{
		{"vocabulary", c.VocabSize}, {"hidden size", c.HiddenSize}, {"intermediate size", c.IntermediateSize}, {"number of layers", c.Layers},
		{"number of heads", c.Heads}, {"number of key and value heads", c.KVHeads}, {"head dimension", c.HeadDim}, {"context length", c.ContextLength},
	} {
		if f.value < 1 || f.value > maxDimension {
			return fmt.Errorf("the %s is %d, expected 1 to %d", f.name, f.value, maxDimension)
		}
	}
	if c.Heads%c.KVHeads != 0 {
		return fmt.Errorf("%d heads for %d key and value heads, expected a multiple", c.Heads, c.KVHeads)
	}
	if c.HeadDim%2 != 0 {
		return fmt.Errorf("the head dimension is %d, expected an even number", c.HeadDim)
	}
	for _, f := range []struct {
		name  string
		value float64
	}{{"RMS norm's epsilon", c.RMSNormEps}, {"rotation's base", c.RopeTheta}} {
		if !(f.value > 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("the %s is %v, expected a number over 0", f.name, f.value)
		}
	}
	for _, id := range c.EOS {
		if id < 0 || id >= int64(c.VocabSize) {
			return fmt.Errorf("id %d ends a text, expected 0 to %d", id, c.VocabSize-1)
		}
	}
	return nil
}

// addEOS adds those ids that are not there yet.
func (c *Config) addEOS(ids ...int64) {
	for _, id := range ids {
		if !slices.Contains(c.EOS, id) {
			c.EOS = append(c.EOS, id)
		}
	}
}

package checkpoint

import (
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/gguf"
)

// keys reads a file's keys, and keeps the first error.
type keys struct {
	file   *gguf.File
	prefix string
	err    error
}

// int is a key's number, or where it has none another, unless that is negative.
func (k *keys) int(name string, without int) int {
	key := k.prefix + name
	if k.err != nil || without >= 0 && !k.file.Has(key) {
		return without
	}
	n, err := k.file.Int(key)
	if err == nil && (n < math.MinInt32 || n > math.MaxInt32) {
		err = fmt.Errorf("key %s is %d, expected at most %d", key, n, math.MaxInt32)
	}
	k.err = err
	return int(n)
}

func (k *keys) float(name string, without float64) float64 {
	key := k.prefix + name
	if k.err != nil || without >= 0 && !k.file.Has(key) {
		return without
	}
	n, err := k.file.Float(key)
	k.err = err
	return n
}

// must refuse another number than the one that is computed with.
func (k *keys) must(name string, be int) {
	if got := k.int(name, max(be, 0)); k.err == nil && got != be {
		k.err = fmt.Errorf("key %s%s is %d, expected %d", k.prefix, name, got, be)
	}
}

// ggufConfig makes a Config of a file's keys, but for what its tensors say.
func ggufConfig(f *gguf.File) (Config, error) {
	architecture, err := f.String("general.architecture")
	if err != nil {
		return Config{}, err
	}
	if architecture != qwen3 && architecture != llama {
		return Config{}, fmt.Errorf("general.architecture is %.100q, expected qwen3 or llama", architecture)
	}
	const needed = -1
	k := &keys{file: f, prefix: architecture + "."}
	c := Config{Architecture: architecture, QKNorm: architecture == qwen3}
	c.Layers = k.int("block_count", needed)
	c.ContextLength = k.int("context_length", needed)
	c.HiddenSize = k.int("embedding_length", needed)
	c.IntermediateSize = k.int("feed_forward_length", needed)
	c.Heads = k.int("attention.head_count", needed)
	c.KVHeads = k.int("attention.head_count_kv", c.Heads)
	c.HeadDim = k.int("attention.key_length", c.HiddenSize/max(c.Heads, 1))
	c.RMSNormEps = k.float("attention.layer_norm_rms_epsilon", needed)
	c.RopeTheta = k.float("rope.freq_base", 10000)
	k.must("attention.value_length", c.HeadDim)
	k.must("rope.dimension_count", c.HeadDim)
	k.must("expert_count", 0)
	k.must("attention.sliding_window", 0)
	if k.err != nil {
		return Config{}, k.err
	}
	if err := refuseScaling(f, k.prefix); err != nil {
		return Config{}, err
	}
	err = ggufVocabulary(f, k, &c)
	return c, err
}

// refuseScaling names a scaling other than that of rope_freqs.weight.
func refuseScaling(f *gguf.File, prefix string) error {
	if key := prefix + "rope.scaling.type"; f.Has(key) {
		kind, err := f.String(key)
		if err != nil {
			return err
		}
		if kind != "none" {
			return fmt.Errorf("key %s is %.100q, expected none", key, kind)
		}
	}
	if key := prefix + "rope.scale_linear"; f.Has(key) {
		return fmt.Errorf("key %s, expected none: the rotation is not scaled so", key)
	}
	if f.Has("split.count") {
		n, err := f.Int("split.count")
		if err != nil {
			return err
		}
		if n > 1 {
			return fmt.Errorf("split.count is %d, expected one file: those that were split are not joined here", n)
		}
	}
	return nil
}

// unused is the type of a token that pads the vocabulary.
const unused = 5

// ggufVocabulary fills in what the tokens say.
func ggufVocabulary(f *gguf.File, k *keys, c *Config) error {
	c.VocabSize = k.int("vocab_size", 0)
	if k.err != nil {
		return k.err
	}
	const tokens, types = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
	if f.Has(tokens) {
		n, err := f.Len(tokens)
		if err != nil {
			return err
		}
		if c.VocabSize == 0 {
			c.VocabSize = n
		}
		if c.VocabSize < n {
			return fmt.Errorf("key %svocab_size is %d, expected at least the %d of %s", k.prefix, c.VocabSize, n, tokens)
		}
		c.Tokens = n
		if f.Has(types) {
			all, err := f.Ints(types)
			if err != nil {
				return err
			}
			if len(all) != n {
				return fmt.Errorf("key %s has %d values, expected %d as %s", types, len(all), n, tokens)
			}
			for c.Tokens > 0 && all[c.Tokens-1] == unused {
				c.Tokens--
			}
		}
	}
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"} {
		if f.Has(key) {
			id, err := f.Int(key)
			if err != nil {
				return err
			}
			c.addEOS(id)
		}
	}
	if c.VocabSize == 0 {
		return errors.New("neither vocab_size nor tokenizer.ggml.tokens, expected one that gives the vocabulary's size")
	}
	return c.check()
}

package checkpoint

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/gguf"
)

// A file with the least that it may have: all else has its default.
func TestLeastOfGGUF(t *testing.T) {
	c := open(t, ggufFile(t, first(tiny()), second(tiny())))
	if c.KVHeads != 2 || c.HeadDim != 4 || c.RopeTheta != 10000 || c.VocabSize != 5 || c.Tokens != 0 || c.EOS != nil || !c.TieWordEmbeddings {
		t.Errorf("%+v", c.Config)
	}
	if c.Weights.Head.Name != "token_embd.weight" || c.Weights.Layers[0].Down.Shape[1] != 6 {
		t.Errorf("head %s, down %v", c.Weights.Head.Name, c.Weights.Layers[0].Down.Shape)
	}
}

func first(k keyed, _ map[string][]int) keyed             { return k }
func second(_ keyed, s map[string][]int) map[string][]int { return s }

// A list of tokens gives the vocabulary, and those that pad it.
func TestVocabularyOfGGUF(t *testing.T) {
	for _, test := range []struct {
		keys          keyed
		vocab, tokens int
	}{
		{keyed{"llama.vocab_size": nil, "tokenizer.ggml.tokens": []string{"a", "b", "c"}}, 3, 3},
		{keyed{"tokenizer.ggml.tokens": []string{"a", "b", "c"}}, 5, 3},
		{keyed{"tokenizer.ggml.tokens": []string{"a", "", "", "d", "e"}, "tokenizer.ggml.token_type": []int{1, 5, 1, 5, 5}}, 5, 3},
		{keyed{"tokenizer.ggml.tokens": []string{"a"}, "tokenizer.ggml.token_type": []int{5}}, 5, 0},
	} {
		keys, shapes := tiny()
		for k, v := range test.keys {
			if keys[k] = v; v == nil {
				delete(keys, k)
			}
		}
		keys["tokenizer.ggml.eos_token_id"], keys["tokenizer.ggml.eot_token_id"] = 2, 1
		c := open(t, ggufFile(t, keys, shapes))
		if c.VocabSize != test.vocab || c.Tokens != test.tokens || c.Weights.Embed.Shape[0] != test.vocab || !slices.Equal(c.EOS, []int64{2, 1}) {
			t.Errorf("%v: %d, %d tokens, a matrix of %v, EOS %v", test.keys, c.VocabSize, c.Tokens, c.Weights.Embed.Shape, c.EOS)
		}
	}
}

// Divisors of the frequencies, and a head of its own.
func TestTensorsOfGGUF(t *testing.T) {
	keys, shapes := tiny()
	shapes["rope_freqs.weight"], shapes["output.weight"] = []int{2}, []int{5, 8} // 1 and 2
	c := open(t, ggufFile(t, keys, shapes))
	if c.TieWordEmbeddings || c.Weights.Head.Name != "output.weight" {
		t.Errorf("tied %v, the head is %s", c.TieWordEmbeddings, c.Weights.Head.Name)
	}
	if f := c.RopeFrequencies; len(f) != 2 || f[0] != 1 || math.Abs(float64(f[1])-0.005) > 1e-9 {
		t.Errorf("frequencies %v, want 1 and 0.005", f)
	}
}

func TestGGUFsThatCannotBe(t *testing.T) {
	for want, change := range map[string]func(keyed, map[string][]int){
		`no key general.architecture, expected a string`:                        func(k keyed, _ map[string][]int) { delete(k, "general.architecture") },
		`general.architecture is "mamba", expected qwen3 or llama`:              func(k keyed, _ map[string][]int) { k["general.architecture"] = "mamba" },
		`no key llama.block_count, expected a whole number`:                     func(k keyed, _ map[string][]int) { delete(k, "llama.block_count") },
		`key llama.block_count is string, expected a whole number`:              func(k keyed, _ map[string][]int) { k["llama.block_count"] = "1" },
		`no key llama.attention.layer_norm_rms_epsilon, expected f32 or f64`:    func(k keyed, _ map[string][]int) { delete(k, "llama.attention.layer_norm_rms_epsilon") },
		`key llama.rope.freq_base is i32, expected f32 or f64`:                  func(k keyed, _ map[string][]int) { k["llama.rope.freq_base"] = 5 },
		`key llama.attention.value_length is 8, expected 4`:                     func(k keyed, _ map[string][]int) { k["llama.attention.value_length"] = 8 },
		`key llama.rope.dimension_count is 2, expected 4`:                       func(k keyed, _ map[string][]int) { k["llama.rope.dimension_count"] = 2 },
		`key llama.expert_count is 8, expected 0`:                               func(k keyed, _ map[string][]int) { k["llama.expert_count"] = 8 },
		`key llama.attention.sliding_window is 64, expected 0`:                  func(k keyed, _ map[string][]int) { k["llama.attention.sliding_window"] = 64 },
		`key llama.rope.scaling.type is "yarn", expected none`:                  func(k keyed, _ map[string][]int) { k["llama.rope.scaling.type"] = "yarn" },
		`key llama.rope.scale_linear, expected none`:                            func(k keyed, _ map[string][]int) { k["llama.rope.scale_linear"] = 2.0 },
		`split.count is 2, expected one file`:                                   func(k keyed, _ map[string][]int) { k["split.count"] = 2 },
		`vocab_size is 5, expected at least the 6 of tokenizer.ggml.tokens`:     func(k keyed, _ map[string][]int) { k["tokenizer.ggml.tokens"] = make([]string, 6) },
		`key tokenizer.ggml.tokens is string, expected an array`:                func(k keyed, _ map[string][]int) { k["tokenizer.ggml.tokens"] = "a" },
		`neither vocab_size nor tokenizer.ggml.tokens`:                          func(k keyed, _ map[string][]int) { delete(k, "llama.vocab_size") },
		`id 5 ends a text, expected 0 to 4`:                                     func(k keyed, _ map[string][]int) { k["tokenizer.ggml.eos_token_id"] = 5 },
		`the number of heads is 0`:                                              func(k keyed, _ map[string][]int) { k["llama.attention.head_count"] = 0 },
		`the number of layers is -1`:                                            func(k keyed, _ map[string][]int) { k["llama.block_count"] = -1 },
		`no tensor blk.1.attn_norm.weight`:                                      func(k keyed, _ map[string][]int) { k["llama.block_count"] = 2 },
		`tensor blk.0.ffn_down.weight is [6 8], expected [8 6]`:                 func(_ keyed, s map[string][]int) { s["blk.0.ffn_down.weight"] = []int{6, 8} },
		`tensor rope_freqs.weight is [4], expected [2]`:                         func(_ keyed, s map[string][]int) { s["rope_freqs.weight"] = []int{4} },
		`1 tensors that the architecture has no use for: "blk.0.attn_q.bias" i`: func(_ keyed, s map[string][]int) { s["blk.0.attn_q.bias"] = []int{8} },
		`token_type has 2 values, expected 3 as tokenizer.ggml.tokens`: func(k keyed, _ map[string][]int) {
			k["tokenizer.ggml.tokens"], k["tokenizer.ggml.token_type"] = make([]string, 3), []int{1, 1}
		},
	} {
		keys, shapes := tiny()
		change(keys, shapes)
		path := ggufFile(t, keys, shapes)
		_, err := Open(path)
		wantError(t, err, path+": ")
		wantError(t, err, want)
	}
}

// Each row is called by its place in the result; a head's lie in pairs.
func TestHalves(t *testing.T) {
	c := Config{HeadDim: 4, HiddenSize: 2}
	got := c.Halves([]float32{0, 0, 2, 2, 1, 1, 3, 3, 10, 10, 12, 12, 11, 11, 13, 13})
	if want := []float32{0, 0, 1, 1, 2, 2, 3, 3, 10, 10, 11, 11, 12, 12, 13, 13}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Whatever the bytes: an error, or weights whose shapes are the config's.
func FuzzGGUF(f *testing.F) {
	keys, shapes := tiny()
	keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"] = []string{"a", "b"}, []int{1, 5}
	shapes["rope_freqs.weight"], shapes["output.weight"] = []int{2}, []int{5, 8}
	for _, path := range []string{ggufFile(f, first(tiny()), second(tiny())), ggufFile(f, keys, shapes)} {
		raw, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := gguf.Parse("f", raw)
		if err != nil {
			return
		}
		c, err := fromGGUF("f", file)
		if err != nil {
			return
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		if len(c.Weights.Layers) != c.Layers || len(c.Weights.Embed.Float32()) != c.VocabSize*c.HiddenSize {
			t.Fatalf("%d layers and an embedding of %v for %+v", len(c.Weights.Layers), c.Weights.Embed.Shape, c.Config)
		}
		for _, l := range c.Weights.Layers {
			if len(c.Halves(l.Q.Float32())) != c.Heads*c.HeadDim*c.HiddenSize {
				t.Fatalf("Q is %v for %+v", l.Q.Shape, c.Config)
			}
		}
	})
}

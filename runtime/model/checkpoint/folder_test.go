package checkpoint

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// The configs of testdata's folders and files, as scripts/checkpoint_golden.py made
// them; frequencies are compared by another test.
func TestConfigs(t *testing.T) {
	base := Config{
		VocabSize: 64, HiddenSize: 32, IntermediateSize: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, RMSNormEps: 1e-5, ContextLength: 4096,
		EOS: []int64{2, 3},
	}
	with := func(change func(*Config)) Config {
		c := base
		change(&c)
		return c
	}
	for path, want := range map[string]Config{
		"qwen3": with(func(c *Config) { c.Architecture, c.QKNorm, c.RopeTheta = "qwen3", true, 1e6 }),
		"llama": with(func(c *Config) { c.Architecture, c.TieWordEmbeddings, c.RopeTheta = "llama", true, 1e4 }),
		"qwen3.gguf": with(func(c *Config) {
			c.Architecture, c.QKNorm, c.RopeTheta, c.Tokens, c.EOS = "qwen3", true, 1e6, 60, []int64{2}
		}),
		"llama.gguf": with(func(c *Config) {
			c.Architecture, c.TieWordEmbeddings, c.RopeTheta, c.Tokens, c.EOS = "llama", true, 1e4, 60, []int64{2}
		}),
	} {
		got := open(t, filepath.Join("testdata", path))
		if got.QKPairs != (path == "llama.gguf") {
			t.Errorf("%s: QKPairs is %v", path, got.QKPairs)
		}
		if scaled := got.RopeFrequencies != nil; scaled != (want.Architecture == "llama") {
			t.Errorf("%s: frequencies %v", path, got.RopeFrequencies)
		}
		got.RopeFrequencies = nil
		if math.Abs(got.RMSNormEps-1e-5) > 1e-12 {
			t.Errorf("%s: epsilon %v", path, got.RMSNormEps)
		}
		got.RMSNormEps = 1e-5 // GGUF has it in float32
		if !reflect.DeepEqual(got.Config, want) {
			t.Errorf("%s: %+v, want %+v", path, got.Config, want)
		}
	}
}

// The frequencies are transformers', scaled or not.
func TestFrequencies(t *testing.T) {
	raw, err := os.ReadFile("testdata/logits.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Models []struct {
			Name        string
			Frequencies []float32
		}
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Models) != 4 {
		t.Fatalf("%d models, want four", len(golden.Models))
	}
	for _, g := range golden.Models {
		c := open(t, filepath.Join("testdata", g.Name))
		got := c.RopeFrequencies
		if got == nil {
			got = frequencies(c.RopeTheta, c.HeadDim)
		}
		if len(got) != len(g.Frequencies) {
			t.Fatalf("%s: %d frequencies, want %d", g.Name, len(got), len(g.Frequencies))
		}
		for j, want := range g.Frequencies {
			if math.Abs(float64(got[j]/want)-1) > 2e-7 {
				t.Errorf("%s: pair %d has %v, want %v", g.Name, j, got[j], want)
			}
		}
	}
}

// Both generations' forms of config.json give the same.
func TestFormsOfConfig(t *testing.T) {
	scaling := map[string]any{"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 512}
	parameters := map[string]any{"rope_type": "llama3", "rope_theta": 1e4}
	for k, v := range scaling {
		parameters[k] = v
	}
	for _, forms := range []struct {
		folder string
		change []map[string]any
	}{
		{"llama", []map[string]any{
			{"rope_scaling": scaling, "head_dim": nil, "hidden_size": 64},
			{"rope_scaling": scaling, "hidden_size": 64, "rope_theta": nil}, // its default
			{"rope_scaling": nil, "rope_theta": nil, "rope_parameters": parameters, "hidden_size": 64},
			{"rope_scaling": parameters, "rope_theta": nil, "hidden_size": 64},
			{"rope_parameters": parameters, "hidden_size": 64},
		}},
		{"qwen3", []map[string]any{
			{}, {"rope_parameters": nil, "rope_theta": 1e6}, {"rope_theta": 1e6}, {"rope_parameters": map[string]any{"rope_theta": 1e6}},
			{"rope_parameters": nil, "rope_scaling": map[string]any{"rope_theta": 1e6}}, {"quantization_config": json.RawMessage("null")},
		}},
		{"llama", []map[string]any{{"num_attention_heads": 2}, {"num_attention_heads": 2, "num_key_value_heads": nil}}},
		{"qwen3", []map[string]any{{"eos_token_id": 2}, {"eos_token_id": []int{2}}}},
		{"qwen3", []map[string]any{{"eos_token_id": nil}, {"eos_token_id": []int{}}, {"eos_token_id": json.RawMessage("null")}}},
	} {
		var first Config
		for i, change := range forms.change {
			c, err := parseConfig(object(t, forms.folder, change), nil)
			if err != nil {
				t.Errorf("%s %v: %v", forms.folder, change, err)
			}
			if i == 0 {
				first = c
			}
			if !reflect.DeepEqual(c, first) {
				t.Errorf("%s %v: %+v, want %+v", forms.folder, change, c, first)
			}
		}
	}
}

// The ids that end a text are those of both files.
func TestEndsOfGeneration(t *testing.T) {
	c, err := parseConfig(object(t, "qwen3", map[string]any{"eos_token_id": 5}), []byte(`{"eos_token_id":[7,5]}`))
	if err != nil || !slices.Equal(c.EOS, []int64{5, 7}) {
		t.Errorf("%v, %v", c.EOS, err)
	}
	_, err = parseConfig(object(t, "qwen3", nil), []byte(`{"eos_token_id":"x"}`))
	wantError(t, err, "generation_config.json: json: cannot unmarshal string")
}

// A key that is given twice, read here or not, is refused in both files.
func TestConfigsWithDoubledKeys(t *testing.T) {
	raw := object(t, "llama", nil)
	for more, want := range map[string]string{
		`"hidden_size":64`:       `the key "hidden_size" is given twice at the top`,
		`"x":[{"y":1,"y":1}]`:    `the key "y" is given twice in x[0]`,
		`"rope_parameters":null`: "", // once
	} {
		_, err := parseConfig(append(raw[:len(raw)-1:len(raw)-1], (","+more+"}")...), nil)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", more, err, want)
		}
	}
	_, err := parseConfig(raw, []byte(`{"eos_token_id":7,"eos_token_id":5}`))
	wantError(t, err, `generation_config.json: the key "eos_token_id" is given twice at the top`)
}

func TestConfigsThatCannotBe(t *testing.T) {
	llama3 := func(name string, v any) map[string]any {
		m := map[string]any{"type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 512}
		if m[name] = v; v == nil {
			delete(m, name)
		}
		return map[string]any{"rope_scaling": m}
	}
	type change = map[string]any
	for want, c := range map[string]change{
		`architectures is ["MistralForCausalLM"], expected Qwen3ForCausalLM or L`: {"architectures": []string{"MistralForCausalLM"}},
		`architectures is [], expected`:                                           {"architectures": nil},
		`hidden_act is "gelu", expected silu`:                                     {"hidden_act": "gelu"},
		`attention_bias is true`:                                                  {"attention_bias": true},
		`mlp_bias is true`:                                                        {"mlp_bias": true},
		`use_sliding_window is true`:                                              {"use_sliding_window": true},
		`partial_rotary_factor is 0.5, expected 1`:                                {"partial_rotary_factor": 0.5},
		`quant_method "awq", expected weights in F32, F16 or BF16`:                {"quantization_config": change{"quant_method": "awq"}},
		`layer_types has "sliding_attention", expected full`:                      {"layer_types": []string{"full_attention", "sliding_attention"}},
		`no vocab_size, expected a number`:                                        {"vocab_size": nil},
		`no rms_norm_eps`:                                                         {"rms_norm_eps": nil},
		`rope_theta is 10000 and 5, expected one`:                                 {"rope_parameters": change{"rope_theta": 5, "type": "llama3"}},
		`rope_scaling is of type "llama3" and rope_parameters of "default", ex`:   {"rope_parameters": change{"rope_type": "default"}},
		`the rotation is of type "yarn", expected default or llama3`:              {"rope_scaling": change{"rope_type": "yarn"}},
		`the rotation's partial_rotary_factor is 0.5, expected 1`:                 {"rope_scaling": change{"partial_rotary_factor": 0.5}},
		`a rotation of type llama3 lacks one of factor, low_freq`:                 llama3("factor", nil),
		`the rotation's factor is 0, expected a number over 0`:                    llama3("factor", 0),
		`the rotation's original_max_position_embeddings is -1`:                   llama3("original_max_position_embeddings", -1),
		`low_freq_factor is 4, expected less than its high_freq_factor, 4`:        llama3("low_freq_factor", 4),
		`the vocabulary is 0, expected 1 to 1048576`:                              {"vocab_size": 0},
		`the number of layers is 1048577`:                                         {"num_hidden_layers": 1<<20 + 1},
		`the hidden size is -1`:                                                   {"hidden_size": -1},
		`json: cannot unmarshal`:                                                  {"hidden_size": "x"},
		`4 heads for 3 key and value heads, expected a multiple`:                  {"num_key_value_heads": 3},
		`the number of heads is 0`:                                                {"num_attention_heads": 0},
		`the head dimension is 15, expected an even number`:                       {"head_dim": 15},
		`the RMS norm's epsilon is 0, expected`:                                   {"rms_norm_eps": 0},
		`the rotation's base is -1, expected`:                                     {"rope_theta": -1},
		`id 64 ends a text, expected 0 to 63`:                                     {"eos_token_id": 64},
	} {
		_, err := parseConfig(object(t, "llama", c), nil)
		wantError(t, err, want)
	}
	for want, c := range map[string]change{
		`no rope_theta, expected it in config.json, in`: {"rope_parameters": nil},
		`no head_dim`:            {"head_dim": nil},
		`no num_key_value_heads`: {"num_key_value_heads": nil},
	} {
		_, err := parseConfig(object(t, "qwen3", c), nil)
		wantError(t, err, want)
	}
}

func TestFoldersThatCannotBe(t *testing.T) {
	type tensors = map[string]tensor.Tensor
	const q = "model.layers.1.self_attn.q_proj.weight"
	for want, try := range map[string]struct {
		config map[string]any
		change func(tensors)
	}{
		"no tensor " + q + ", expected one of [64 32]":                             {nil, func(x tensors) { delete(x, q) }},
		"tensor " + q + " is [32 32], expected [64 32]":                            {nil, func(x tensors) { x[q] = x[q].Rows(0, 32) }},
		"no tensor lm_head.weight, expected one of [64 32]":                        {nil, func(x tensors) { delete(x, "lm_head.weight") }},
		"tensor lm_head.weight is [63 32], expected [64 32]":                       {nil, func(x tensors) { x["lm_head.weight"] = x["lm_head.weight"].Rows(0, 63) }},
		"1 tensors that the architecture has no use for: \"q.bias\" ":              {nil, func(x tensors) { x["q.bias"] = x[q] }},
		"no tensor model.layers.2.input_layernorm.weight":                          {map[string]any{"num_hidden_layers": 3}, func(tensors) {}},
		"11 tensors that the architecture has no use for: \"model.layers.1.input_": {map[string]any{"num_hidden_layers": 1}, func(tensors) {}},
		"tensor model.embed_tokens.weight is [64 32], expected [65 32]":            {map[string]any{"vocab_size": 65}, func(tensors) {}},
		"4 tensors that the architecture has no use for": { // Qwen3's weights as Llama's
			map[string]any{"architectures": []string{"LlamaForCausalLM"}}, func(tensors) {}},
	} {
		dir := folder(t, "qwen3", try.config, try.change)
		_, err := Open(dir)
		wantError(t, err, dir)
		wantError(t, err, want)
	}
}

// A tied head may be there or not, and is the embedding; one that is not tied is its own.
func TestTiedHead(t *testing.T) {
	with := folder(t, "llama", nil, func(x map[string]tensor.Tensor) { x["lm_head.weight"] = x["model.layers.0.mlp.gate_proj.weight"] })
	for _, dir := range []string{"testdata/llama", with} {
		w := open(t, dir).Weights
		if &w.Head.Data[0] != &w.Embed.Data[0] || w.Head.Name != "model.embed_tokens.weight" {
			t.Errorf("%s: the head is %s", dir, w.Head.Name)
		}
	}
	if w := open(t, "testdata/qwen3").Weights; w.Head.Name != "lm_head.weight" {
		t.Errorf("the head is %s", w.Head.Name)
	}
}

// Rows beyond the vocabulary are cut off; what old exports have besides is passed over.
func TestPaddedRows(t *testing.T) {
	dir := folder(t, "qwen3", map[string]any{"vocab_size": 60}, func(x map[string]tensor.Tensor) {
		x["model.layers.0.self_attn.rotary_emb.inv_freq"] = x["model.norm.weight"]
	})
	c, whole := open(t, dir), open(t, "testdata/qwen3")
	for _, pair := range [][2]tensor.Tensor{{c.Weights.Embed, whole.Weights.Embed}, {c.Weights.Head, whole.Weights.Head}} {
		got, want := pair[0].Float32(), pair[1].Float32()[:60*32]
		if pair[0].Shape[0] != 60 || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %d numbers", pair[0].Name, pair[0].Shape, len(got))
		}
	}
}

func TestPathsThatCannotBe(t *testing.T) {
	dir := t.TempDir()
	_, err := Open(dir)
	wantError(t, err, "config.json: no such file")
	_, err = Open(filepath.Join(dir, "none"))
	wantError(t, err, "none: no such file")
	_, err = Open("testdata/logits.json")
	wantError(t, err, "testdata/logits.json is neither a folder nor a .gguf file")
	if err := os.WriteFile(filepath.Join(dir, "config.json"), object(t, "llama", nil), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	wantError(t, err, "has no weights: expected model.safetensors")
	if err := os.WriteFile(filepath.Join(dir, "config.json"), make([]byte, maxConfig+1), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	wantError(t, err, "config.json has more than 1048576 bytes")
}

// Whatever the bytes: an error, or a config that its own check allows.
func FuzzConfig(f *testing.F) {
	for _, folder := range []string{"qwen3", "llama"} {
		raw, err := os.ReadFile(filepath.Join("testdata", folder, "config.json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, []byte(`{"eos_token_id":[1,2]}`))
	}
	f.Fuzz(func(t *testing.T, raw, generation []byte) {
		c, err := parseConfig(raw, generation)
		if err != nil {
			return
		}
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		if c.RopeFrequencies != nil && len(c.RopeFrequencies) != c.HeadDim/2 {
			t.Fatalf("%d frequencies for a head of %d", len(c.RopeFrequencies), c.HeadDim)
		}
	})
}

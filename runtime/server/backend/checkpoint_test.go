package backend

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cpu"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// files are tiny models: the folder qwen3 has a tokenizer, the others have none.
const files = "../../model/checkpoint/testdata"

// served are the settings for one of files.
func served(name string) args.Args {
	a := settings(CPU)
	a.ModelPath = filepath.Join(files, name)
	return a
}

// copied is a copy of the folder qwen3.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(files, "qwen3"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestDescribeFiles(t *testing.T) {
	for name, want := range map[string]Info{
		"qwen3":      {Architecture: "Qwen3ForCausalLM", EOS: []int64{2, 3}},
		"llama":      {Architecture: "LlamaForCausalLM", EOS: []int64{2, 3}},
		"qwen3.gguf": {Architecture: "Qwen3ForCausalLM", EOS: []int64{2}},
		"llama.gguf": {Architecture: "LlamaForCausalLM", EOS: []int64{2}},
	} {
		a := served(name)
		got, err := Describe(a)
		if err != nil || got.Name != a.ModelPath || got.Architecture != want.Architecture || !slices.Equal(got.EOS, want.EOS) ||
			got.ContextLength != 4096 || got.VocabSize != 64 || got.SlotBytes != 2*2*2*16*4 || got.WeightBytes < 4096*16*4 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		a.ServedModelName, a.ContextLength = "mine", 100
		if got, err := Describe(a); err != nil || got.Name != "mine" || got.ContextLength != 100 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		a.ContextLength = 4097
		_, err = Describe(a)
		wantError(t, err, "context_length is 4097, expected 3 to 4096, which mine has")
	}
}

// greedy are the tokens that a model gives behind the prompt.
func greedy(t *testing.T, m model.Model, prompt []int64, n int) []int64 {
	t.Helper()
	all := slices.Clone(prompt)
	for range n {
		slots := make([]int32, len(all))
		for i := range slots {
			slots[i] = int32(i)
		}
		out, err := m.Forward(&model.Batch{Work: []model.Work{{
			RID: "r", IDs: all, Tokens: all, Prompt: len(prompt), Slots: slots, Next: -1, Sample: true,
			Sampling: &model.Sampling{TopP: 1, TopK: -1, RepetitionPenalty: 1},
		}}})
		if err != nil || out.Chosen[0].Err != nil {
			t.Fatal(err, out.Chosen)
		}
		all = append(all, out.Chosen[0].Token)
	}
	return all[len(prompt):]
}

// The model of files computes with their weights, whose logits package qwen3 compares
// with transformers'.
func TestModelOfFiles(t *testing.T) {
	prompt := []int64{1, 54, 55, 58, 15, 7}
	for _, name := range []string{"qwen3", "llama", "qwen3.gguf", "llama.gguf"} {
		a := served(name)
		a.ContextLength, a.DType = 100, "float32"
		m, err := NewModel(t.Context(), a, 64)
		if err != nil {
			t.Fatal(err)
		}
		if l := m.Limits(); l.ContextLength != 100 || l.VocabSize != 64 || l.EOS[0] != 2 {
			t.Errorf("%s: limits %+v", name, l)
		}
		c, w, err := qwen3.Load(a.ModelPath)
		if err != nil {
			t.Fatal(err)
		}
		twin, err := qwen3.New(c, w, 64, qwen3.Greedy{})
		if err != nil {
			t.Fatal(err)
		}
		got, want := greedy(t, m, prompt, 20), greedy(t, twin, prompt, 20)
		if !slices.Equal(got, want) {
			t.Errorf("%s: tokens %v, want %v", name, got, want)
		}
	}
}

// The settings' numbers are those that the model computes with.
func TestNumbersOfFiles(t *testing.T) {
	prompt := []int64{1, 54, 55, 58, 15, 7}
	for _, c := range []struct {
		dtype, quantization string
		options             cpu.Options
	}{
		{"auto", "", cpu.Options{}}, {"bfloat16", "", cpu.Options{DType: tensor.BF16}}, {"float16", "", cpu.Options{DType: tensor.F16}},
		{"float32", args.Q8, cpu.Options{DType: tensor.F32, Q8: true}},
	} {
		a := served("llama.gguf") // Q4_0 and others
		a.DType, a.Quantization = c.dtype, c.quantization
		m, err := NewModel(t.Context(), a, 64)
		if err != nil {
			t.Fatal(err)
		}
		from, err := checkpoint.Open(a.ModelPath)
		if err != nil {
			t.Fatal(err)
		}
		c.options.Slots, c.options.Sampler = 64, qwen3.Greedy{}
		twin, err := cpu.New(from, c.options)
		if err != nil {
			t.Fatal(err)
		}
		got, want := logprobs(t, m, prompt), logprobs(t, twin, prompt)
		for i := range want { // the two samplers round differently, formats differ by 1e-4 and more
			if !(math.Abs(got[i]-want[i]) < 1e-5) {
				t.Errorf("%s, %s: log-probabilities %v, want %v", c.dtype, c.quantization, got, want)
			}
		}
		twin.Close()
		if err := errors.Join(from.Close(), m.(io.Closer).Close()); err != nil {
			t.Error(err)
		}
	}
}

// logprobs are those of the first ids behind the prompt.
func logprobs(t *testing.T, m model.Model, prompt []int64) []float64 {
	t.Helper()
	out, err := m.Forward(&model.Batch{Work: []model.Work{{
		RID: "r", IDs: prompt, Tokens: prompt, Prompt: len(prompt), Slots: []int32{0, 1, 2, 3, 4, 5}, Next: -1, Sample: true,
		Sampling: &model.Sampling{TopP: 1, TopK: -1, RepetitionPenalty: 1}, Logprobs: model.Logprobs{Want: true, IDs: []int64{0, 1, 2, 3}},
	}}})
	if err != nil || out.Chosen[0].Err != nil {
		t.Fatal(err, out.Chosen)
	}
	var all []float64
	for _, id := range out.Chosen[0].Step.IDs {
		all = append(all, id.Val)
	}
	return all
}

// Whatever is wrong with the files is said before anything is loaded.
func TestFilesThatCannotBeServed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string, a *args.Args)
		want   string
	}{
		"an empty folder":                   {func(t *testing.T, _ string, a *args.Args) { a.ModelPath = t.TempDir() }, "config.json: no such file"},
		"a folder without tokenizer.json":   {func(t *testing.T, dir string, _ *args.Args) { remove(t, dir, "tokenizer.json") }, "tokenizer_path: bpe: open "},
		"a folder without one of its files": {func(t *testing.T, dir string, _ *args.Args) { remove(t, dir, "model-00002-of-00003.safetensors") }, "model-00002-of-00003.safetensors: no such file"},
		"weights cut short":                 {func(t *testing.T, dir string, _ *args.Args) { cut(t, dir, "model-00003-of-00003.safetensors") }, "model-00003-of-00003.safetensors"},
		"a context of two tokens": {func(t *testing.T, dir string, _ *args.Args) {
			path := filepath.Join(dir, "config.json")
			write(t, path, []byte(strings.Replace(string(contents(t, path)), `"max_position_embeddings": 4096`, `"max_position_embeddings": 2`, 1)))
		}, "has room for 2 tokens, expected 3 at least"},
		"a config cut short":    {func(t *testing.T, dir string, _ *args.Args) { cut(t, dir, "config.json") }, "config.json: unexpected end of JSON input"},
		"a tokenizer cut short": {func(t *testing.T, dir string, _ *args.Args) { cut(t, dir, "tokenizer.json") }, "tokenizer_path: bpe: tokenizer.json: unexpected EOF"},
		"a GGUF cut short": {func(t *testing.T, dir string, a *args.Args) {
			a.ModelPath = filepath.Join(dir, "cut.gguf")
			write(t, a.ModelPath, contents(t, filepath.Join(files, "llama.gguf"))[:20000])
		}, "cut.gguf"},
		"neither folder nor .gguf":      {func(t *testing.T, dir string, a *args.Args) { a.ModelPath = filepath.Join(dir, "config.json") }, "neither a folder nor a .gguf file"},
		"a tokenizer that is not there": {func(_ *testing.T, dir string, a *args.Args) { a.TokenizerPath = filepath.Join(dir, "none") }, "tokenizer_path: stat "},
		"ids beyond the model's": {func(t *testing.T, dir string, _ *args.Args) {
			path := filepath.Join(dir, "tokenizer.json")
			write(t, path, []byte(strings.Replace(string(contents(t, path)), `"!": 0`, `"!": 64`, 1)))
		}, "has ids to 64, expected at most 63: the model "},
		"a GGUF without a vocabulary that is known": {func(t *testing.T, _ string, a *args.Args) { a.ModelPath = filepath.Join(files, "llama.gguf") },
			"tokenizer_path: ../../model/checkpoint/testdata/llama.gguf: no key tokenizer.ggml.pre"},
	} {
		dir := copied(t)
		a := settings(CPU)
		a.ModelPath = dir
		c.change(t, dir, &a)
		if err := Check(a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if err := Check(served("qwen3")); err != nil {
		t.Error(err)
	}
}

// Weights that need more than the memory are refused by their size, and nothing of them
// is read: the file has a TiB, and lies on no disk.
func TestWeightsThatDoNotFit(t *testing.T) {
	dir := t.TempDir()
	const rows, cols = 1 << 20, 1 << 19
	write(t, filepath.Join(dir, "config.json"), []byte(fmt.Sprintf(`{"architectures":["LlamaForCausalLM"],"vocab_size":%d,"hidden_size":%d,"intermediate_size":1,
		"num_hidden_layers":1,"num_attention_heads":1,"head_dim":2,"max_position_embeddings":64,"rms_norm_eps":1e-5,"tie_word_embeddings":true}`, rows, cols)))
	header, end := []string{}, 0
	for name, shape := range map[string][2]int{
		"embed_tokens": {rows, cols}, "norm": {1, cols}, "layers.0.input_layernorm": {1, cols}, "layers.0.post_attention_layernorm": {1, cols},
		"layers.0.self_attn.q_proj": {2, cols}, "layers.0.self_attn.k_proj": {2, cols}, "layers.0.self_attn.v_proj": {2, cols}, "layers.0.self_attn.o_proj": {cols, 2},
		"layers.0.mlp.gate_proj": {1, cols}, "layers.0.mlp.up_proj": {1, cols}, "layers.0.mlp.down_proj": {cols, 1},
	} {
		start, text := end, fmt.Sprintf("[%d,%d]", shape[0], shape[1])
		if strings.HasSuffix(name, "norm") {
			text = fmt.Sprintf("[%d]", shape[1])
		}
		end += 2 * shape[0] * shape[1]
		header = append(header, fmt.Sprintf(`"model.%s.weight":{"dtype":"BF16","shape":%s,"data_offsets":[%d,%d]}`, name, text, start, end))
	}
	text := "{" + strings.Join(header, ",") + "}"
	path := filepath.Join(dir, "model.safetensors")
	write(t, path, append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...))
	if err := os.Truncate(path, int64(8+len(text)+end)); err != nil {
		t.Fatal(err)
	}
	a := settings(CPU)
	a.ModelPath, a.DType = dir, "float32"
	info, err := Describe(a)
	if err != nil || info.WeightBytes < int64(2*end) || info.WeightBytes > int64(3*end) {
		t.Fatalf("%+v, %v, want weights of %d bytes and little more", info, err, 2*end)
	}
	if err := Check(a); runtime.GOOS == "linux" {
		wantError(t, err, fmt.Sprintf("too little memory for the model: the weights of %s need %d bytes, and ", dir, info.WeightBytes))
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// cut leaves a file's first half.
func cut(t *testing.T, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	b := contents(t, path)
	write(t, path, b[:len(b)/2])
}

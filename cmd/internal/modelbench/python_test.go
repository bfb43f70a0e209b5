//go:build python

package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// peersPython is an interpreter that has what scripts/peers_requirements.txt names.
func peersPython(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("../../../scripts/python_env", "../../../scripts/peers_requirements.txt")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/python_env: %v\n%s", err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// tinyShape has all that the full one has: tied, padding in no dimension, fewer heads of keys than of queries.
func tinyShape(t *testing.T, python string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	args := strings.Fields("-B ../../../scripts/make_random_qwen3.py " + dir +
		" --layers 2 --hidden 64 --intermediate 96 --heads 4 --kv-heads 2 --head-dim 32 --vocab 200 --context 512")
	if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
		t.Fatalf("make_random_qwen3.py: %v\n%s", err, out)
	}
	return dir
}

// The three forms of scripts/make_random_qwen3.py are one model: the same config, bf16 to the bit, and Q8_0 within half a step.
func TestRandomQwen3IsOneModelInThreeForms(t *testing.T) {
	dir := tinyShape(t, peersPython(t))
	open := func(name string) *checkpoint.Checkpoint { return stored.Open(t, filepath.Join(dir, name)) }
	hf, bf16, q8 := open("hf"), open("bf16.gguf"), open("q8_0.gguf")
	if hf.HiddenSize != 64 || hf.Layers != 2 || hf.HeadDim != 32 || !hf.TieWordEmbeddings || hf.RopeTheta != 1e6 || !slices.Equal(hf.EOS, []int64{199}) {
		t.Errorf("config %+v, want the shape that was asked for", hf.Config)
	}
	for name, c := range map[string]*checkpoint.Checkpoint{"bf16": bf16, "q8_0": q8} {
		got, want := c.Config, hf.Config
		got.Tokens, got.RMSNormEps = want.Tokens, float64(float32(want.RMSNormEps)) // a folder does not say the one, a GGUF has the other in float32
		want.RMSNormEps = got.RMSNormEps
		if got.Architecture != want.Architecture || got.VocabSize != want.VocabSize || got.IntermediateSize != want.IntermediateSize || got.Heads != want.Heads ||
			got.KVHeads != want.KVHeads || got.HeadDim != want.HeadDim || got.RopeTheta != want.RopeTheta || got.ContextLength != want.ContextLength ||
			got.TieWordEmbeddings != want.TieWordEmbeddings || !slices.Equal(got.EOS, want.EOS) {
			t.Errorf("%s: config %+v, want %+v", name, got, want)
		}
	}
	var squares, numbers float64
	for i, want := range tensors(hf) {
		if got := tensors(bf16)[i].Float32(); !slices.Equal(got, want.Float32()) {
			t.Errorf("%s in bf16.gguf has other numbers than %s in the folder", tensors(bf16)[i].Name, want.Name)
		}
		closeInQ8(t, tensors(q8)[i], want)
		if len(want.Shape) == 2 {
			for _, v := range want.Float32() {
				squares += float64(v) * float64(v)
				numbers++
			}
		}
	}
	if variance := squares / numbers / (0.02 * 0.02); variance < 0.97 || variance > 1.03 {
		t.Errorf("the variance is %v times that of 0.02, want 1", variance)
	}
}

func tensors(c *checkpoint.Checkpoint) []tensor.Tensor {
	all := []tensor.Tensor{c.Weights.Embed, c.Weights.Norm}
	for _, l := range c.Weights.Layers {
		all = append(all, l.InputNorm, l.Q, l.K, l.V, l.QNorm, l.KNorm, l.O, l.PostAttentionNorm, l.Gate, l.Up, l.Down)
	}
	return all
}

// closeInQ8 asks of each block of 32 that no number is further off than half a step, the largest over 127; that the step is held as
// a half precision number adds as much as 127 steps times 2^-11.
func closeInQ8(t *testing.T, got, want tensor.Tensor) {
	t.Helper()
	if len(want.Shape) == 1 {
		if !slices.Equal(got.Float32(), want.Float32()) {
			t.Errorf("%s: a norm has other numbers than %s", got.Name, want.Name)
		}
		return
	}
	if got.DType != tensor.Q8_0 || want.DType != tensor.BF16 {
		t.Errorf("%s is %v and %s %v, want Q8_0 and BF16", got.Name, got.DType, want.Name, want.DType)
	}
	g, w := got.Float32(), want.Float32()
	for from := 0; from < len(w); from += 32 {
		var largest float64
		for _, v := range w[from:][:32] {
			largest = max(largest, float64(v), -float64(v))
		}
		for i := from; i < from+32; i++ {
			if off := float64(g[i]) - float64(w[i]); max(off, -off) > largest/127*(0.5+127.0/2048) {
				t.Fatalf("%s: number %d is %v, want %v within half a step of a block up to %v", got.Name, i, g[i], w[i], largest)
			}
		}
	}
}

// llama.cpp itself as the peer, in rounds on the tiny files: both compute the same.
func TestLlamaCppAgrees(t *testing.T) {
	python := peersPython(t)
	dir := tinyShape(t, python)
	peer := "--peer=" + python + " -B ../../../scripts/llamacpp_child.py"
	var out, log bytes.Buffer
	if err := command(t.Context(), []string{"rounds", "--model", "bf16=" + filepath.Join(dir, "bf16.gguf"), "--model", "q8_0=" + filepath.Join(dir, "q8_0.gguf"), peer,
		"--threads", "1", "--room", "64", "--rounds", "1", "--prompt", "20", "--steps", "3", "--vocabulary", "190", "--noise-limit", "0.02", "--settle", "1ms"}, nil, &out, &log); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if _, err := readRun(&out); err != nil {
		t.Error(err)
	}
}

// What llama.cpp is asked wrongly comes back as its own message.
func TestLlamaCppRefuses(t *testing.T) {
	python := peersPython(t)
	file := filepath.Join(tinyShape(t, python), "bf16.gguf")
	script := []string{python, "-B", "../../../scripts/llamacpp_child.py", "--threads", "1", "--model"}
	var log bytes.Buffer
	if _, err := startArm(t.Context(), append(slices.Clone(script), "nowhere.gguf"), &log); err == nil || !strings.Contains(err.Error(), "nowhere.gguf is no file") {
		t.Errorf("no file: %v", err)
	}
	a, err := startArm(t.Context(), append(script, file), &log)
	if err != nil {
		t.Fatal(err)
	}
	defer a.end()
	if _, err := a.generate(t.Context(), generate{Prompt: []int64{5000}, Tokens: 1}); err == nil || !strings.Contains(err.Error(), "invalid tokens") {
		t.Errorf("an id that is none: %v", err)
	}
}

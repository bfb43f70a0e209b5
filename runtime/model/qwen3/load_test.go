package qwen3

import (
	"math"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
)

const files = "../checkpoint/testdata"

func load(t *testing.T, name string) (Config, *Weights) {
	t.Helper()
	c, w, err := Load(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return c, w
}

// Folders and GGUF files, Qwen3 and Llama, every dtype: logits are transformers' to
// 1e-4, over the whole vocabulary at every position.
func TestLogitsOfFilesAreThoseOfTransformers(t *testing.T) {
	for _, g := range modeltest.Goldens(t, files) {
		c, w := load(t, g.Name)
		c.Tokens = 0 // transformers knows no padding
		logits := subject(c, w).Everywhere(t, g.Prompt)
		if len(g.Prompt) < 40 || len(logits) != len(g.Prompt) || len(g.Logits) != len(g.Prompt) {
			t.Fatalf("%s: logits at %d positions of %d, %d of them in the golden", g.Name, len(logits), len(g.Prompt), len(g.Logits))
		}
		worst := 0.0
		for p, want := range g.Logits {
			if got := logits[p]; len(got) != len(want) || len(want) != c.VocabSize {
				t.Fatalf("%s: %d logits at position %d, the golden has %d", g.Name, len(got), p, len(want))
			}
			for id, v := range want {
				off := math.Abs(float64(logits[p][id] - v))
				if !(off <= 1e-4) {
					t.Fatalf("%s: position %d, id %d: logit %v, want %v", g.Name, p, id, logits[p][id], v)
				}
				worst = max(worst, off)
			}
		}
		t.Logf("%s: at most %.2g off", g.Name, worst)
	}
}

// The files of GGUF have 60 tokens among 64 ids: no other is chosen, whatever its logit.
func TestPaddingIsNeverChosen(t *testing.T) {
	c, w := load(t, "qwen3.gguf")
	if c.Tokens != 60 || c.VocabSize != 64 {
		t.Fatalf("%d tokens of %d, want 60 of 64", c.Tokens, c.VocabSize)
	}
	prompt := []int64{1, 2, 3}
	_, hidden := alone(t, c, w, prompt, 1)
	c.Tokens = 0
	_, all := alone(t, c, w, prompt, 1)
	for id, got := range hidden[0] {
		want := all[0][id]
		if id >= 60 {
			want = float32(math.Inf(-1))
		}
		if got != want {
			t.Errorf("id %d has logit %v, want %v", id, got, want)
		}
	}
}

// A model without q_norm and k_norm has none in its weights, and another result.
func TestModelWithoutQKNorm(t *testing.T) {
	c := odd()
	c.QKNorm = false
	w := seeded(t, c, 1)
	for _, l := range w.Layers {
		if l.QNorm != nil || l.KNorm != nil {
			t.Fatal("q_norm or k_norm was drawn")
		}
	}
	_, without := alone(t, c, w, []int64{1, 2, 3}, 1)
	ones := *w
	ones.Layers = nil
	for _, l := range w.Layers {
		l.QNorm, l.KNorm = []float32{1, 1, 1, 1, 1, 1}, []float32{1, 1, 1, 1, 1, 1}
		ones.Layers = append(ones.Layers, l)
	}
	_, with := alone(t, odd(), &ones, []int64{1, 2, 3}, 1)
	if reflect.DeepEqual(without, with) {
		t.Error("the same logits with heads normalized and without")
	}
}

// Frequencies of the base, named one by one, change nothing; others do.
func TestRopeFrequencies(t *testing.T) {
	c := odd()
	w := seeded(t, c, 1)
	_, plain := alone(t, c, w, []int64{1, 2, 3}, 1)
	for j := range c.HeadDim / 2 {
		exponent := float32(2*j) / float32(c.HeadDim)
		c.RopeFrequencies = append(c.RopeFrequencies, 1/float32(math.Pow(c.RopeTheta, float64(exponent))))
	}
	if _, same := alone(t, c, w, []int64{1, 2, 3}, 1); !reflect.DeepEqual(same, plain) {
		t.Error("other logits with the same frequencies")
	}
	c.RopeFrequencies[2] /= 2
	if _, other := alone(t, c, w, []int64{1, 2, 3}, 1); reflect.DeepEqual(other, plain) {
		t.Error("the same logits with another frequency")
	}
}

func TestLoadOfWhatIsNotThere(t *testing.T) {
	_, _, err := Load(filepath.Join(files, "none"))
	wantError(t, err, "none: no such file")
	_, _, err = Load(t.TempDir())
	wantError(t, err, "config.json: no such file")
}

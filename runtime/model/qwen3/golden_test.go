package qwen3

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// goldenModel is what scripts/qwen3_golden.py wrote of one model: weights drawn
// by another program, logits of another implementation. To write it anew:
//
//	"$(scripts/sglang_env.sh)" scripts/qwen3_golden.py
type goldenModel struct {
	Name   string
	Config struct {
		VocabSize         int     `json:"vocab_size"`
		HiddenSize        int     `json:"hidden_size"`
		IntermediateSize  int     `json:"intermediate_size"`
		Layers            int     `json:"num_hidden_layers"`
		Heads             int     `json:"num_attention_heads"`
		KVHeads           int     `json:"num_key_value_heads"`
		HeadDim           int     `json:"head_dim"`
		RMSNormEps        float64 `json:"rms_norm_eps"`
		RopeTheta         float64 `json:"rope_theta"`
		TieWordEmbeddings bool    `json:"tie_word_embeddings"`
		ContextLength     int     `json:"max_position_embeddings"`
	}
	Seed          uint64
	WeightsSHA256 string `json:"weights_sha256"`
	Prompt        []int64
	Positions     []int
	Logits        [][]float32
	Cos, Sin      []float32 // of the context's last position
}

func (g goldenModel) config() Config {
	c := g.Config
	return Config{
		VocabSize: c.VocabSize, HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers,
		Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim, QKNorm: true, RMSNormEps: c.RMSNormEps, RopeTheta: c.RopeTheta,
		TieWordEmbeddings: c.TieWordEmbeddings, ContextLength: c.ContextLength,
	}
}

func readGolden(t *testing.T) []goldenModel {
	t.Helper()
	raw, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Models []goldenModel }
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Models) != 2 {
		t.Fatalf("%d models, want two", len(g.Models))
	}
	return g.Models
}

// The same weights as those drawn in Python, to the last bit.
func TestSeededWeightsAreThoseOfPython(t *testing.T) {
	for _, g := range readGolden(t) {
		w, err := Seeded(g.config(), g.Seed)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.New()
		for _, x := range w.tensors(g.config()) {
			var b bytes.Buffer
			if err := binary.Write(&b, binary.LittleEndian, *x.data); err != nil {
				t.Fatal(err)
			}
			hash.Write(b.Bytes())
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != g.WeightsSHA256 {
			t.Errorf("%s: the weights' SHA-256 is %s, want %s", g.Name, got, g.WeightsSHA256)
		}
	}
}

// Far out an angle of float64 is another: this shows before the logits do.
func TestAnglesAreThoseOfTransformers(t *testing.T) {
	for _, g := range readGolden(t) {
		cos, sin := angles(g.config())
		half, n := g.Config.HeadDim/2, g.Config.ContextLength
		if len(cos) != n*half || len(sin) != n*half || len(g.Cos) != half || len(g.Sin) != half {
			t.Fatalf("%s: %d and %d for %d positions, %d in the golden", g.Name, len(cos), len(sin), n, len(g.Cos))
		}
		for j := range half {
			c, s := cos[(n-1)*half+j], sin[(n-1)*half+j]
			if math.Abs(float64(c-g.Cos[j])) > 1e-6 || math.Abs(float64(s-g.Sin[j])) > 1e-6 {
				t.Errorf("%s: pair %d at position %d: %v, %v, want %v, %v", g.Name, j, n-1, c, s, g.Cos[j], g.Sin[j])
			}
		}
	}
}

// Logits are transformers' to 1e-4, over the whole vocabulary.
func TestLogitsAreThoseOfTransformers(t *testing.T) {
	for _, g := range readGolden(t) {
		w, err := Seeded(g.config(), g.Seed)
		if err != nil {
			t.Fatal(err)
		}
		logits := subject(g.config(), w).Everywhere(t, g.Prompt)
		if len(g.Positions) < 6 {
			t.Fatalf("%s: %d positions in the golden", g.Name, len(g.Positions))
		}
		worst := 0.0
		for i, p := range g.Positions {
			got := logits[p]
			if len(got) != g.Config.VocabSize || len(g.Logits[i]) != len(got) {
				t.Fatalf("%s: %d logits at position %d, the golden has %d, want %d", g.Name, len(got), p, len(g.Logits[i]), g.Config.VocabSize)
			}
			for id, v := range got {
				off := math.Abs(float64(v - g.Logits[i][id]))
				if !(off <= 1e-4) {
					t.Fatalf("%s: position %d, id %d: logit %v, want %v", g.Name, p, id, v, g.Logits[i][id])
				}
				worst = max(worst, off)
			}
		}
		t.Logf("%s: at most %.2g off", g.Name, worst)
	}
}

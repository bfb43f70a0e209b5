package modeltest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Golden is what scripts/checkpoint_golden.py wrote of one model's files: the logits
// of transformers, in float32, at every position.
type Golden struct {
	Name   string
	Prompt []int64
	Logits [][]float32
}

// Goldens are those of the four models in a folder of package checkpoint's testdata.
func Goldens(t testing.TB, folder string) []Golden {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(folder, "logits.json"))
	if err != nil {
		t.Fatal(err)
	}
	var g struct{ Models []Golden }
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Models) != 4 {
		t.Fatalf("%d models, want four", len(g.Models))
	}
	return g.Models
}

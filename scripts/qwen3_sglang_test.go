//go:build sglang

package scripts_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// qwen3Logits takes the logits out of what qwen3_golden.py wrote, and the
// versions, which may be others.
func qwen3Logits(t *testing.T, path string) (rest map[string]any, logits []float64) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &rest); err != nil {
		t.Fatal(err)
	}
	delete(rest, "versions")
	for _, model := range rest["models"].([]any) {
		for _, row := range model.(map[string]any)["logits"].([]any) {
			for _, v := range row.([]any) {
				logits = append(logits, v.(float64))
			}
		}
		delete(model.(map[string]any), "logits")
	}
	return rest, logits
}

// The committed golden is what the script writes: all of it the same but the
// logits' last digits, which depend on the machine.
func TestQwen3GoldenIsFresh(t *testing.T) {
	out := filepath.Join(t.TempDir(), "golden.json")
	if _, errs, err := python(t, sglangPython, "qwen3_golden.py", out); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	got, gotLogits := qwen3Logits(t, out)
	want, wantLogits := qwen3Logits(t, "../runtime/model/qwen3/testdata/golden.json")
	if !reflect.DeepEqual(got, want) {
		t.Error("configs, weights or prompts differ; scripts/qwen3_golden.py writes the golden anew")
	}
	closeLogits(t, gotLogits, wantLogits)
}

func closeLogits(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%d logits, want %d", len(got), len(want))
	}
	for i, v := range want {
		if math.Abs(got[i]-v) > 1e-5 {
			t.Fatalf("logit %d is %v, in the golden %v", i, got[i], v)
		}
	}
}

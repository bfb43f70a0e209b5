//go:build sglang

package scripts_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// The committed goldens of files are what the script writes: bytes for bytes, but for
// the logits' last digits, which depend on the machine, and the versions.
func TestCheckpointGoldensAreFresh(t *testing.T) {
	out, committed := t.TempDir(), "../runtime/model"
	if _, errs, err := python(t, sglangPython, "checkpoint_golden.py", out); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	compared := 0
	err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		want := filepath.Join(committed, name)
		if filepath.Base(path) == "logits.json" {
			compareLogits(t, path, want)
		} else {
			compareBytes(t, path, want)
		}
		compared++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared < 10 {
		t.Errorf("%d files were compared, want ten at least", compared)
	}
}

func compareBytes(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, old) {
		t.Errorf("%s has other bytes; scripts/checkpoint_golden.py writes it anew", want)
	}
}

func compareLogits(t *testing.T, path, want string) {
	t.Helper()
	got, gotLogits := qwen3Logits(t, path)
	old, oldLogits := qwen3Logits(t, want)
	if !reflect.DeepEqual(got, old) {
		t.Error("prompts or frequencies differ; scripts/checkpoint_golden.py writes the golden anew")
	}
	closeLogits(t, gotLogits, oldLogits)
}

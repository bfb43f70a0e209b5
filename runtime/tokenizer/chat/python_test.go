//go:build python

package chat

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Some thousand made-up chats have Python's prompts, and the committed templates are those that are shipped.
func TestPythonChats(t *testing.T) {
	cmd := exec.Command("../../../scripts/tokenizer_files")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/tokenizer_files: %v", err)
	}
	folder, dir := strings.TrimSpace(string(out)), t.TempDir()
	for _, args := range [][]string{{"chats", folder, dir}, {"random", folder, "1", filepath.Join(dir, "random.json")}} {
		python := exec.Command(filepath.Join(folder, "bin", "python"), append([]string{"../../../scripts/chat_golden.py"}, args...)...)
		if out, err := python.CombinedOutput(); err != nil {
			t.Fatalf("scripts/chat_golden.py %s: %v\n%s", args, err, out)
		}
	}
	checkGolden(t, readGolden(t, filepath.Join(dir, "random.json")), 6000)
	for _, name := range []string{"qwen3.jinja", "smollm2.jinja", "chats.json"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join("testdata", name)); err != nil || string(got) != string(want) {
			t.Errorf("testdata/%s is not what scripts/chat_golden.py writes (%v)", name, err)
		}
	}
}

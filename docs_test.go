package fanoutbench_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// blocks returns the fenced blocks of a page in that language.
func blocks(t *testing.T, path, language string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(b, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) == 0 {
		t.Fatalf("%s has no block in %q", path, language)
	}
	return out
}

func buildTool(t *testing.T, args ...string) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "fanoutbench")
	out, err := exec.Command("go", append(append([]string{"build"}, args...), "-o", tool, "./cmd/fanoutbench")...).CombinedOutput()
	if err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tool
}

// TestProtocolPage plays docs/protocol.md with a real controller.
func TestProtocolPage(t *testing.T) {
	tool := buildTool(t)
	work, err := filepath.Abs("protocol/testdata/work.json")
	if err != nil {
		t.Fatal(err)
	}
	sum, size := fileHash(t, work)
	var c *conversation
	for _, line := range strings.Split(strings.Join(blocks(t, "docs/protocol.md", ""), ""), "\n") {
		mark, text, ok := strings.Cut(line, " ")
		if !ok {
			continue
		}
		if mark == ">" && strings.Contains(text, `"hello"`) {
			c = converse(t, tool)
		}
		text = strings.NewReplacer("$DIR", c.dir, "$WORK_SHA256", sum, "$WORK_BYTES", fmt.Sprint(size), "$WORK", work).Replace(text)
		switch mark {
		case ">":
			c.say(text)
		case "<":
			c.hear(text)
		default:
			t.Fatalf("line %q begins with neither > nor <", line)
		}
	}
}

func fileHash(t *testing.T, path string) (sum string, size int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := protocol.WriteFile(filepath.Join(t.TempDir(), "copy.json"), json.RawMessage(b))
	if err != nil {
		t.Fatal(err)
	}
	if f.Bytes != int64(len(b)) {
		t.Fatalf("%s is not compact JSON", path)
	}
	return f.SHA256, f.Bytes
}

type conversation struct {
	t    *testing.T
	dir  string
	conn *protocol.Conn
}

func converse(t *testing.T, tool string) *conversation {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "fanoutbench-page-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "__controller", "--strategy", "per-row")
	cmd.Stderr = &bytes.Buffer{}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // the controller may have left already
		_ = cmd.Wait() // and with another status after an error
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return &conversation{t: t, dir: dir, conn: protocol.NewConn(out, in)}
}

func (c *conversation) say(line string) {
	c.t.Helper()
	if err := c.conn.Send(json.RawMessage(line)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) hear(want string) {
	c.t.Helper()
	got, err := c.conn.Receive()
	if err != nil {
		c.t.Fatal(err)
	}
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		c.t.Fatalf("%s: %v", want, err)
	}
	if err := json.Unmarshal(got.Raw, &g); err != nil {
		c.t.Fatal(err)
	}
	if !holds(g, w) {
		c.t.Errorf("the page says\n  %s\nthe controller\n  %s", want, got.Raw)
	}
}

// holds reports whether got has all that want shows.
func holds(got, want any) bool {
	if want == "..." {
		return got != nil
	}
	w, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(got, want)
	}
	g, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range w {
		if !holds(g[k], v) {
			return false
		}
	}
	return true
}

// TestStrategyPage adds the toy strategy of docs/strategy.md and runs what the
// page says. The tree is left alone: Go reads the two files from an overlay.
func TestStrategyPage(t *testing.T) {
	code := blocks(t, "docs/strategy.md", "go")
	if len(code) != 3 {
		t.Fatalf("%d Go blocks, want the file, the line in the registry and the line in the test", len(code))
	}
	overlay := writeOverlay(t, map[string]string{
		"runtime/fanout/eager.go":         code[0],
		"runtime/fanout/fanout.go":        insertAfter(t, "runtime/fanout/fanout.go", "}, newSplice},\n", code[1]),
		"runtime/fanout/property_test.go": insertAfter(t, "runtime/fanout/property_test.go", "want := map[string][]string{\n", code[2]),
	})
	tool := buildTool(t, "-overlay", overlay)
	for _, line := range strings.Split(strings.TrimSpace(blocks(t, "docs/strategy.md", "sh")[0]), "\n") {
		args := strings.Fields(line)
		cmd := exec.Command(tool, args[min(3, len(args)):]...) // behind "go run ./cmd/fanoutbench"
		if args[1] == "test" {
			cmd = exec.Command("go", "test", "-overlay", overlay, args[2])
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

func insertAfter(t *testing.T, path, anchor, text string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(b), anchor)
	if !ok {
		t.Fatalf("%s has no line that ends in %q", path, anchor)
	}
	return before + anchor + text + after
}

func writeOverlay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for name, text := range files {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		replace[path] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

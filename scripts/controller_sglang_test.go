//go:build sglang

package scripts_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	perRow  = "0.5.21" // sends a message a row
	grouped = "0.5.23" // a message a consumer
)

// tree is an unpacked release.
func tree(t *testing.T, version string) string {
	return filepath.Join(setting(t, "FANOUTBENCH_SGLANG_TREES"), "sglang-"+version)
}

func interpreter(t *testing.T) string { return setting(t, sglangPython) }

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func buildTool(t *testing.T) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "fanoutbench")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/fanoutbench").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return tool
}

// resident imports a tree once, for all arms of a test. It returns their command.
func resident(t *testing.T, version string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sgl") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	socket, script := filepath.Join(dir, "s"), abs(t, "testdata/sglang_resident.py")
	cmd := exec.Command(interpreter(t), script, "serve", socket, abs(t, "sglang_controller.py"), tree(t, version), "msgpack")
	cmd.Stderr = os.Stderr
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
		_ = in.Close() // it ends by that
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the tree %s did not import: %q, %v", version, line, err)
	}
	return strings.Join([]string{interpreter(t), script, "join", socket, "--tree", tree(t, version)}, " ")
}

type record struct {
	VerifiedRows int `json:"verified_rows"`
	Verdict      struct {
		Status string `json:"status"`
	} `json:"verdict"`
	Arms map[string]struct {
		Runtime, Strategy string
		Sources           []struct{ Path string }
		Packages          map[string]string
	} `json:"arms"`
}

// compare runs a comparison of one round and returns its record and the decodes of
// each arm and batch in rich cells of 32 rows.
func compare(t *testing.T, tool, reference, candidate string, args ...string) (r record, decodes map[string]float64) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	args = append([]string{"--reference", "exec:" + reference, "--candidate", "exec:" + candidate, "--rounds", "1", "--repetitions", "1",
		"--start-timeout", "300s", "--output", dir}, args...)
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if err := json.Unmarshal(read("result.json"), &r); err != nil {
		t.Fatal(err)
	}
	if r.Verdict.Status != "verified" {
		t.Fatalf("%v: %s, want verified", args, r.Verdict.Status)
	}
	decodes = map[string]float64{}
	for _, line := range strings.Split(strings.TrimSpace(string(read("raw.jsonl"))), "\n") {
		var trial struct {
			Arm, Metadata string
			Count         int
			Counters      map[string]float64
		}
		if err := json.Unmarshal([]byte(line), &trial); err != nil {
			t.Fatal(err)
		}
		if trial.Count == 32 && trial.Metadata == "rich" {
			decodes[trial.Arm] = trial.Counters["opaque_decodes"]
		}
	}
	return r, decodes
}

func TestTrees(t *testing.T) {
	tool := buildTool(t)
	old, now := resident(t, perRow), resident(t, grouped)
	t.Run("check", func(t *testing.T) { checkTree(t, tool, now) })
	t.Run("killed", func(t *testing.T) { killWorker(t, now) })
	t.Run("releases", func(t *testing.T) {
		r, decodes := compare(t, tool, old, now, "--counts", "1,32")
		// (1 + 32) rows, two kinds of metadata, three steps, two rounds, two arms.
		if want := 33 * 2 * 3 * 2 * 2; r.VerifiedRows != want {
			t.Errorf("%d rows verified, want %d", r.VerifiedRows, want)
		}
		if decodes["reference"] != 64 || decodes["candidate"] != 8 {
			t.Errorf("%v decodes a batch of 32 rows, want 64 and 8", decodes)
		}
		for arm, want := range map[string]string{"reference": "sglang " + perRow + ", per-row", "candidate": "sglang " + grouped + ", grouped"} {
			if got := r.Arms[arm].Runtime + ", " + r.Arms[arm].Strategy; got != want {
				t.Errorf("the %s is %s, want %s", arm, got, want)
			}
			if n := len(r.Arms[arm].Sources); n < 100 {
				t.Errorf("the %s has %d sources, want those of all that is imported", arm, n)
			}
		}
	})
	t.Run("switched off", func(t *testing.T) {
		off := now + " --env SGLANG_BATCH_TOKENIZER_OUTPUTS=0"
		if r, decodes := compare(t, tool, off, now, "--counts", "32", "--metadata", "rich"); r.Arms["reference"].Strategy != "per-row" || decodes["reference"] != 64 {
			t.Errorf("%v, %v decodes: want grouping off in the reference", r.Arms["reference"].Strategy, decodes)
		}
	})
	t.Run("router", func(t *testing.T) {
		if r, _ := compare(t, tool, old, now, "--counts", "32", "--loop", "router", "--set", "router=ipc"); r.Arms["reference"].Strategy != "per-row" || r.Arms["candidate"].Strategy != "grouped" {
			t.Errorf("strategies %+v", r.Arms)
		}
	})
	t.Run("processes", func(t *testing.T) {
		compare(t, tool, old, now, "--counts", "33", "--metadata", "rich", "--consumers", "process")
	})
	t.Run("raw", func(t *testing.T) {
		compare(t, tool, old, now, "--counts", "33", "--consumer", "raw", "--pace", "none")
	})
	t.Run("rate", func(t *testing.T) {
		compare(t, tool, old, now, "--counts", "33", "--metadata", "rich", "--pace", "rate:20")
	})
	t.Run("cross", func(t *testing.T) {
		for _, arm := range []string{old, now} {
			for _, strategy := range []string{"per-row", "grouped-splice"} {
				worker := arm + ` --worker-command '["` + tool + `","__worker"]' --worker-strategy ` + strategy
				if r, _ := compare(t, tool, arm, worker, "--counts", "32"); r.Arms["candidate"].Strategy != strategy {
					t.Errorf("%s: strategy %s, want %s", arm, r.Arms["candidate"].Strategy, strategy)
				}
			}
		}
	})
}

// checkTree plays all clauses. One of them must fail, since these releases lose
// the text from before a request's first row, and must say so.
func checkTree(t *testing.T, tool, command string) {
	out, err := exec.Command(tool, "check-arm", "exec:"+command, "--start-timeout", "300s").CombinedOutput()
	if err == nil {
		t.Error("check-arm: exit status 0, although the tree loses decoded_texts")
	}
	clauses := 0
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "ok    ") {
			clauses++
		} else if strings.HasPrefix(line, "FAIL") && !(strings.HasPrefix(line, "FAIL  mixed:") && strings.Contains(line, "the tree loses decoded_texts")) {
			t.Error(line)
		}
	}
	if clauses < 11 {
		t.Errorf("%d clauses passed, want at least 11:\n%s", clauses, out)
	}
}

// killWorker kills a worker while a trial's batches are still to come.
func killWorker(t *testing.T, command string) {
	cmd := exec.Command("sh", "-c", "exec "+command)
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
	lines := bufio.NewReaderSize(out, 4<<20)
	dir := t.TempDir()
	answer := ask(t, in, lines, strings.NewReplacer("/nowhere", dir, "arrived", "rate:1", "1000", "60000").Replace(hello))
	if answer.Type != "receipt" || len(answer.PIDs) != 1 {
		t.Fatalf("answer to hello: %+v", answer)
	}
	time.AfterFunc(500*time.Millisecond, func() { _ = syscall.Kill(answer.PIDs[0], syscall.SIGKILL) }) // of batches at 0, 1 and 2 s
	answer = ask(t, in, lines, trialLine(t, dir))
	if answer.Type != "error" || !strings.Contains(answer.Message, "the worker ended: killed by SIGKILL") {
		t.Errorf("answer to a trial whose worker was killed: %+v", answer)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("exit status 0 after an error")
	}
}

type answerLine struct {
	Type, Message string
	PIDs          []int
}

// ask writes a line and reads its answer.
func ask(t *testing.T, in io.Writer, out *bufio.Reader, line string) answerLine {
	t.Helper()
	if _, err := io.WriteString(in, line+"\n"); err != nil {
		t.Fatal(err)
	}
	said, err := out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("no answer to %s: %v", line, err)
	}
	var a answerLine
	if err := json.Unmarshal(said, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// trialLine is the line of a trial with the protocol's sample of three batches.
func trialLine(t *testing.T, dir string) string {
	t.Helper()
	b, err := os.ReadFile("../protocol/testdata/work.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "work.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"type":"trial","id":"1","round":0,"repetition":0,"cell":{"count":3,"metadata":"rich"},"work":{"path":%q,"sha256":"%x","bytes":%d}}`, path, sha256.Sum256(b), len(b))
}

// TestPickle runs both trees as a user does, by the script and without a resident
// process, in the control without wrappers.
func TestPickle(t *testing.T) {
	command := func(version string) string {
		return strings.Join([]string{interpreter(t), abs(t, "sglang_controller.py"), "--tree", tree(t, version), "--transport", "pickle"}, " ")
	}
	r, decodes := compare(t, buildTool(t), command(perRow), command(grouped), "--counts", "1,32", "--transport", "pickle")
	if decodes["reference"] != 0 || decodes["candidate"] != 0 {
		t.Errorf("%v decodes, want none where nothing is wrapped", decodes)
	}
	if r.Arms["reference"].Strategy != "per-row" || r.Arms["candidate"].Strategy != "grouped" {
		t.Errorf("strategies %+v", r.Arms)
	}
}

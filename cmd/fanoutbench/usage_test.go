package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
)

// usageErrors are command lines and what is said of them.
var usageErrors = []struct {
	args string
	want string
}{
	{"--candidate nosuch", `arm "nosuch": is no strategy (per-row, reuse, grouped, splice, grouped-splice, floor), no folder and no revision here; write KIND:nosuch with a kind of builtin, exec, dir, git, sglang`},
	{"--candidate splice", `arm "splice": could be builtin:splice or dir:splice; write which`},
	{"--reference reuse", `arm "reuse": could be builtin:reuse or git:reuse; write which`},
	{"--candidate folder", `candidate: arm "dir:folder": folder folder has no go.mod, want the root of a checkout of github.com/fanoutbench/fanoutbench`},
	{"--candidate both", `arm "dir:both": folder both has no go.mod`},
	{"--candidate dir:nosuch", `arm "dir:nosuch": nosuch is no folder`},
	{"--candidate git:both", `arm "git:both": the go.mod of revision "both" in the repository of . names module ""`},
	{"--candidate git:nosuch", `no revision "nosuch" in the repository of ., want a commit, a tag or a branch`},
	{"--candidate git:both --repo folder/nosuch", `repository "folder/nosuch" is no folder`},
	{"--candidate sglang:0.5", `arm "sglang:0.5": no reference is given, and none to be found: a release has no history, give --reference sglang:VERSION`},
	{"--layouts -1", "reference.layouts is -1, want 0 to 64"},
	{"--layouts 65", "reference.layouts is 65, want 0 to 64"},
	{"--layouts 2 --process run", "reference.layouts is 2, want 0 with process run"},
	{"--layouts 2", `arm "builtin:per-row": layouts of a built-in worker are linked from the checkout around the working directory, and there is none of github.com/fanoutbench/fanoutbench`},
	{"--layouts 2 --reference exec:x --candidate exec:y", "layouts is 2, want 0: an exec arm brings its own worker"},
	{"check-arm git:nosuch", `no revision "nosuch"`},
	{"--candidate docker:image", `unknown kind "docker", want one of builtin, exec, dir, git, sglang`},
	{"--candidate builtin:nosuch", `no strategy "nosuch", want one of per-row, reuse, grouped, splice, grouped-splice, floor`},
	{"--candidate builtin:", "nothing after the colon"},
	{"--candidate exec:", "nothing after the colon"},
	{"--candidate=", `arm "": is no strategy`},
	{"--candidate builtin:splice@zmq", `option "zmq", want NAME=VALUE`},
	{"--candidate builtin:splice@zmq=zmtp,zmq=zmtp", "option zmq is given twice"},
	{"--candidate builtin:splice@burst=4", `no option "burst", a builtin arm has zmq`},
	{"--set foo=bar", `no option "foo", a builtin arm has zmq`},
	{"--set zmq=nosuch", `option zmq is "nosuch", want one of zmtp`},
	{"--set method=luck", `option method is "luck", want one of offset, bytes`},
	{"--set zmq=zmtp --candidate-set zmq=zmtp", "option zmq is given twice"},
	{"--set zmq", `option "zmq", want NAME=VALUE`},
	{"--set router=ipc", `option router is "ipc", but there is one detokenizer, and nothing to choose: give --detokenizers, or --loop router`},
	{"--candidate exec:true --candidate-set router=rid", `option router is "rid", but there is one detokenizer`},
	{"--detokenizers 0", `option detokenizers is "0", want 1 to 64`},
	{"--candidate-set detokenizers=65", `option detokenizers is "65", want 1 to 64`},
	{"--set router=luck", `option router is "luck", want "rid" or "ipc"`},
	{"--candidate builtin:splice@detokenizers=2,router=none", `option router is "none" with 2 detokenizers`},
	{"--candidate exec:true --candidate-set detokenizers=many", `option detokenizers is "many", want 1 to 64`},
	{"--detokenizers 2 --candidate-set detokenizers=3", "option detokenizers is given twice"},
	{"--loop router --detokenizers 2", `option detokenizers is "2", but in the router's loop the consumers are the detokenizers: give --http-workers`},
	{"--loop tight", `loop "tight", want "fanout" or "router"`},
	{"--loop router --candidate builtin:splice", `no strategy "splice", want one of per-row, grouped, grouped-splice`},
	{"--transport pickle", `transport "pickle", a builtin arm has "msgpack" and "native"`},
	{"--transport carrier-pigeon", `transport is "carrier-pigeon", want one of`},
	{"--consumer none", `consumer is "none", want one of ["decode" "raw"]`},
	{"--pace slow", `pace is "slow", want one of ["arrived" "none"]`},
	{"--pace 0", `pace is "rate:0", want one of ["arrived" "none"], or rate:R with R batches a second, 0.001 to 1e+06`},
	{"--pace -5", `pace is "rate:-5"`},
	{"--pace nan", `pace is "rate:NaN"`},
	{"--process never", `process is "never", want one of ["round" "run" "spawn"]`},
	{"--rounds 0", "rounds is 0, want 1 to 1000"},
	{"--rounds 1001", "rounds is 1001, want 1 to 1000"},
	{"--rounds x", `invalid argument "x"`},
	{"--repetitions 0", "repetitions is 0, want 1 to 1000"},
	{"--counts 0", "counts[0] is 0, want 1 to 100000"},
	{"--counts 5,5", "counts[1] is 5, want each count once"},
	{"--counts 100001", "counts[0] is 100001, want 1 to 100000"},
	{"--counts 1,x", `invalid argument "1,x"`},
	{"--metadata plain,plain", `metadata[1] is "plain", want each of`},
	{"--metadata gaudy", `metadata[0] is "gaudy"`},
	{"--http-workers 0", "http_workers is 0, want 1 to 1024"},
	{"--seed -1", `invalid argument "-1"`},
	{"--timeout 0", "timeout_ms is 0"},
	{"--timeout 100us", "timeout_ms is 0"},
	{"--start-timeout 25h", "start_timeout_ms is 90000000"},
	{"--plan sometimes", `plan "sometimes", want "fixed" or "anytime"`},
	{"--margin 0", `margin "0", want a slow-down of 0.1 to 100 per cent, such as 5%`},
	{"--margin -1", `margin "-1", want a slow-down`},
	{"--margin 1000%", `margin "1000%", want a slow-down`},
	{"--margin NaN", `margin "NaN", want a slow-down`},
	{"--margin 5%%", `margin "5%%", want a slow-down`},
	{"--margin=", `margin "", want a slow-down`},
	{"--primary 7:rich:complete_ms", `primary[0] is "7 rich complete_ms", want a cell of counts [1 32 310] and metadata ["plain" "rich"]`},
	{"--primary 32:rich:speed", `primary[0].metric is "speed", want one of ["complete_ms"`},
	{"--primary 32:rich:complete_ms:worse", `primary[0].role is "worse", want "superiority" or "non-inferiority"`},
	{"--primary 32:rich", `primary "32:rich", want COUNT:METADATA:METRIC[:ROLE] such as 310:rich:complete_ms, or none alone`},
	{"--primary many:rich:complete_ms", `primary "many:rich:complete_ms", want COUNT`},
	{"--primary 32:rich:complete_ms --primary 32:rich:complete_ms:non-inferiority", "want each cell and metric once"},
	{"--primary none,32:rich:complete_ms", `primary "none", want COUNT`},
	{"--primary=", "primary is empty, want cells, or none"},
	{"--primary none --margin 3", "margin is given, but with --primary none nothing is decided"},
	{"--primary none --budget 1m", "budget is given, but with --primary none nothing is decided"},
	{"--primary none --plan anytime", `plan is "anytime", but with --primary none there is nothing to settle`},
	{"--budget 0s", "budget 0s, want a time above 0"},
	{"--budget -1m", "budget -1m0s, want a time above 0"},
	{"--budget 10", `invalid argument "10"`},
	{"--budget 10m --rounds 9", "budget 10m0s and rounds 9, want one of them"},
	{"--nosuch", "unknown flag: --nosuch"},
	{"nosuch", `no command "nosuch", see fanoutbench --help; arms are given with --reference and --candidate`},
	{"reprot x", `no command "reprot", did you mean report?`},
	{"run nosuch", `run: 1 argument ["nosuch"], want none: arms are given with --reference and --candidate`},
	{"list more", "want none"},
	{"report", "want the folder of a run"},
	{"report x --format yaml", `format "yaml", want one of`},
	{"report x --format bench --what", "unknown flag"},
	{"history", "no arguments, want the folders of one or more runs"},
	{"history x --format json", `format "json", want one of ["text" "csv" "html"]`},
	{"history x --metric speed", `metric "speed", want one of ["complete_ms"`},
	{"history x --count -1", "count -1, want 1 or more"},
	{"history x --metadata gaudy", `metadata "gaudy", want "plain" or "rich"`},
	{"verify x y", "want the folder of a run"},
	{"doctor all", "want none"},
	{"explain", "want the folder of a run"},
	{"explain x --count y", `invalid argument "y"`},
	{"check-arm", "want one arm spec"},
	{"check-arm builtin:nosuch", `no strategy "nosuch"`},
	{"check-arm builtin:splice --transport pickle", `transport "pickle"`},
	{"check-arm builtin:splice --set foo=bar", `no option "foo"`},
	{"check-arm builtin:splice --timeout 0", "timeout 0s"},
}

// Mistakes in the command line: exit status 2, the message says what is wrong
// and what would be right, and nothing is measured or made.
func TestUsageErrors(t *testing.T) {
	dir := ambiguous(t)
	before := filesBelow(t, dir)
	for _, k := range usageErrors {
		t.Run(k.args, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil, strings.Fields(k.args)...)
			p.cmd.Dir = dir
			p.run(exitUsage)
			p.has("stderr", p.stderr.String(), k.want)
			if p.stdout.Len() > 0 {
				t.Errorf("stdout: %s", &p.stdout)
			}
			if after := filesBelow(t, dir); !slices.Equal(after, before) {
				t.Errorf("files %q, before %q", after, before)
			}
		})
	}
}

// ambiguous makes a checkout with folders and revisions of telling names.
func ambiguous(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"splice", "folder", "both"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range []string{
		"init -q", "-c user.name=t -c user.email=t@example.org commit -q --allow-empty -m one", "tag reuse", "tag both",
	} {
		c := exec.Command("git", strings.Fields(args)...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	return dir
}

// A run never writes into a folder, or over a file, that exists.
func TestOutputExists(t *testing.T) {
	t.Parallel()
	for _, dry := range [][]string{nil, {"--dry-run"}} {
		p := measure(t, nil, dry...)
		kept := filepath.Join(p.output, "kept")
		if err := os.Mkdir(p.output, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(kept, []byte("as it was"), 0o644); err != nil {
			t.Fatal(err)
		}
		p.run(exitUsage)
		p.has("stderr", p.stderr.String(), "output "+p.output+" exists, want a folder to make")
		if b, err := os.ReadFile(kept); err != nil || string(b) != "as it was" || len(filesBelow(t, p.output)) != 1 {
			t.Errorf("the folder holds %q with %q, %v", filesBelow(t, p.output), b, err)
		}
	}
}

// A folder that cannot be made is no mistake of the command line's form.
func TestOutputCannotBeMade(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	if err := os.WriteFile(p.output, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p.cmd.Args = append(p.cmd.Args, "--output", filepath.Join(p.output, "below"))
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), p.output, "not a directory")
	if p.stdout.Len() > 0 {
		t.Errorf("stdout: %s", &p.stdout)
	}
}

// A run of the other program is not taken for a broken one of this.
func TestVerifyOfBatchsend(t *testing.T) {
	t.Parallel()
	const dir = "../../results/runs/batchsend/cpu"
	var out bytes.Buffer
	c := newVerify()
	c.SetArgs([]string{dir})
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.Execute()
	if err == nil || !strings.Contains(err.Error(), "batchsend verify "+dir) || cli.Status(io.Discard, "", err) != cli.ExitUsage || out.Len() > 0 {
		t.Errorf("%v, printed %q, want a mistake that names the command", err, out.String())
	}
}

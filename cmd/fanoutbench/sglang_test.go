package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/results"
)

// writeTree makes a fake tree below a folder.
func writeTree(t *testing.T, folder, version string) {
	t.Helper()
	for name, content := range treeFiles(version) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// twoTrees is measure over two folders, a and b, beside the run, with a cache there
// too.
func twoTrees(t *testing.T, kind string, args ...string) *program {
	t.Helper()
	p := measure(t, nil, append(args, "--python", interpreter(t, kind))...)
	p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"), "VIRTUAL_ENV=")
	writeTree(t, filepath.Join(p.dir, "a"), "0.5.21")
	writeTree(t, filepath.Join(p.dir, "b", "python"), "0.5.23")
	return p
}

// Two folders: each tree is run by the script that this program carries, in one
// controller for all rounds, and nothing of it is a clock of the arm's own.
func TestSGLangFolders(t *testing.T) {
	t.Parallel()
	p := twoTrees(t, "", "--reference", "dir:a", "--candidate", "b", "--process", "round", "--candidate-set", "env.SGLANG_X=a b")
	before := filesBelow(t, filepath.Join(p.dir, "a"))
	p.run(exitOK)
	f := p.folder()
	for name, version := range map[string]string{results.Reference: "0.5.21", results.Candidate: "0.5.23"} {
		a := f.Result.Arms[name]
		if a.Runtime != "sglang "+version || a.OwnClock || !a.Again || a.ControllerSHA256 != sglang.ScriptSHA256() || len(a.Sources) != 1 || a.Packages["torch"] != "2.9.1" || a.Revision != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if spec := f.Result.Arms[results.Candidate].Spec; spec != "dir:b" || f.Plan.Candidate.Options["env.SGLANG_X"] != "a b" {
		t.Errorf("spec %q, options %v", spec, f.Plan.Candidate.Options)
	}
	if f.Plan.StartTimeoutMS != 180_000 {
		t.Errorf("start timeout %d ms, want three minutes", f.Plan.StartTimeoutMS)
	}
	p.has("stdout", p.stdout.String(), "each round from one parent process")
	if strings.Contains(p.stdout.String(), "OWN CLOCK") {
		t.Errorf("stdout: %s", &p.stdout)
	}
	if after := filesBelow(t, filepath.Join(p.dir, "a")); !slices.Equal(after, before) {
		t.Errorf("the tree was touched: %q", after)
	}
	v := newProgram(t, nil, "verify", p.output, "--candidate-tree", filepath.Join(p.dir, "b", "python"))
	v.run(exitOK)
	v.has("verify", v.stdout.String(), "candidate controller: the script of this program", "candidate sources: 1 files")
}

// How often a controller is started: once where it is used again, once a round with
// spawn, and where it does not offer it.
func TestControllersStarted(t *testing.T) {
	for name, k := range map[string]struct {
		kind, process string
		want          int
	}{
		"again": {"", "round", 1}, "spawn": {"", "spawn", 3}, "once": {"once", "round", 3}, "run": {"", "run", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twoTrees(t, "", "--reference", "builtin:per-row", "--candidate", execTree(t, k.kind), "--process", k.process, "--rounds", "2")
			p.cmd.Args = withoutPython(p.cmd.Args)
			p.run(exitOK)
			if got := len(p.pids(fakePythonCommand)); got != k.want {
				t.Errorf("%d controllers, want %d", got, k.want)
			}
			if a := p.folder().Result.Arms[results.Candidate]; a.Again != (name == "again") {
				t.Errorf("again is %v in the record", a.Again)
			}
		})
	}
}

// execTree is a fake tree as an exec arm, whose controller is started by the shell
// and not also asked for its version.
func execTree(t *testing.T, kind string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("exec:'%s' %s '%s' x.py --tree a --transport msgpack", self, fakePythonCommand, kind)
}

func withoutPython(args []string) []string {
	i := slices.Index(args, "--python")
	return slices.Delete(slices.Clone(args), i, i+2)
}

// A controller that is used again, and does not keep to it.
func TestFaultyAgain(t *testing.T) {
	for kind, want := range map[string]string{
		"dies":     "the process ended (exit status 7) without an answer",
		"encore":   `line of type "stopped"`,
		"silent":   "no receipt within 1s",
		"fickle":   "receipt: strategy is another one, but it was per-row when the run began",
		"spent":    "receipt: again is false, but it was offered before",
		"bad exit": "after stopped: exit status 1",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := twoTrees(t, "", "--candidate", execTree(t, kind), "--process", "round")
			p.cmd.Args = withoutPython(p.cmd.Args)
			if kind == "silent" {
				p.cmd.Args = append(p.cmd.Args, "--reference", execTree(t, ""), "--start-timeout", "1s")
			}
			p.run(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, want)
			if f.Arm != results.Candidate && kind != "silent" {
				t.Errorf("the failure names arm %q", f.Arm)
			}
		})
	}
}

// Packages of different versions: refused with both versions and the flag that
// allows it, which leaves a warning.
func TestDifferentPackages(t *testing.T) {
	for _, allowed := range []bool{false, true} {
		p := twoTrees(t, "", "--reference", "dir:a", "--candidate", "dir:b")
		p.cmd.Args = append(p.cmd.Args, "--candidate-python", interpreter(t, "torch=2.14.1,python=3.13.0,worker go=1.26"))
		says := []string{"python is 3.12.3 in the reference and 3.13.0 in the candidate; ", "torch is 2.9.1 in the reference and 2.14.1 in the candidate"}
		if !allowed {
			p.run(exitInvalid)
			p.has("failure", p.failed(results.StatusInvalid).Message, append(says, "--allow-different-packages")...)
			continue
		}
		p.cmd.Args = append(p.cmd.Args, "--allow-different-packages")
		p.run(exitOK)
		p.has("stdout", p.stdout.String(), "warning", "different packages", says[1])
		if a := p.folder().Result.Arms[results.Candidate]; a.Packages["torch"] != "2.14.1" {
			t.Errorf("packages %v", a.Packages)
		}
	}
}

// The first fault of a start ends the other arm's, which would be silent for longer
// than the test may take.
func TestFaultEndsOtherStart(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--reference", fakeArm(t, "silent"), "--candidate", fakeArm(t, "dies at once"), "--start-timeout", "1h")
	p.run(exitInvalid)
	f := p.failed(results.StatusInvalid)
	p.has("failure", f.Message, "the process ended (exit status 7)")
	if f.Arm != results.Candidate {
		t.Errorf("the failure names arm %q", f.Arm)
	}
}

// The router's loop: a tree has one rule, which need not be given.
func TestSGLangRouter(t *testing.T) {
	t.Parallel()
	p := twoTrees(t, "", "--reference", "dir:a", "--candidate", "dir:b", "--loop", "router")
	p.run(exitOK)
	if options := p.folder().Plan.Candidate.Options; options["router"] != "ipc" {
		t.Errorf("options %v", options)
	}
}

// Controllers that are used again are gone, and their sockets, when a run is
// interrupted or one of them is killed between or in its rounds.
func TestAgainIsEnded(t *testing.T) {
	for name, kill := range map[string]func(p *program){
		"interrupted": func(p *program) { p.kill(p.cmd.Process.Pid, syscall.SIGINT) },
		"killed":      func(p *program) { p.kill(p.pids(fakePythonCommand)[0], syscall.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := twoTrees(t, "", "--candidate", execTree(t, ""), "--process", "round", "--rounds", "1000")
			p.cmd.Args = withoutPython(p.cmd.Args)
			p.begin("round 2 begins")
			kill(p)
			p.wait(exitInvalid)
			if n := len(p.pids(fakePythonCommand)); n != 1 {
				t.Errorf("%d controllers were started, want 1", n)
			}
			p.failed(map[bool]string{true: results.StatusIncomplete, false: results.StatusInvalid}[name == "interrupted"])
		})
	}
}

// An arm that says why its figures decide nothing: a warning, in every report.
func TestDescriptive(t *testing.T) {
	t.Parallel()
	p := twoTrees(t, "descriptive", "--reference", "dir:a", "--candidate", "dir:b", "--transport", "pickle")
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "figures of the reference are descriptive and decide nothing: its parent has 3 threads", "DESCRIPTIVE")
	if why := p.folder().Result.Arms[results.Candidate].Descriptive; why != "its parent has 3 threads" {
		t.Errorf("descriptive %q", why)
	}
}

// A release is fetched once; what is changed in the cache, or was never right, is
// refused.
func TestReleases(t *testing.T) {
	t.Parallel()
	p := twoTrees(t, "", "--reference", "sglang:0.5.21", "--candidate", "sglang:0.5.22.post1")
	p.run(exitOK)
	f := p.folder()
	if a := f.Result.Arms[results.Candidate]; a.Spec != "sglang:0.5.22.post1" || a.Runtime != "sglang 0.5.22.post1" {
		t.Errorf("%+v", a)
	}
	p.has("command", strings.Join(f.Result.Environment.Command, " "), "$ELSEWHERE/python")
	again := func(want int, kind string, args ...string) *program {
		q := twoTrees(t, kind, append([]string{"--reference", "sglang:0.5.21"}, args...)...)
		q.cmd.Env = append(q.cmd.Env, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"))
		q.run(want)
		return q
	}
	again(exitOK, "offline", "--candidate", "sglang:0.5.22.post1", "--transport", "pickle")
	q := again(exitUsage, "", "--candidate", "sglang:9.0")
	q.has("stderr", q.stderr.String(), `arm "sglang:9.0": release 9.0 of sglang cannot be fetched`, "No matching distribution found for sglang==9.0")
	q = again(exitUsage, "short wheel", "--candidate", "sglang:0.5.30")
	q.has("stderr", q.stderr.String(), "has the hash")
	q = again(exitUsage, "climbing wheel", "--candidate", "sglang:0.5.31")
	q.has("stderr", q.stderr.String(), `holds "../escaped.py"`)
	releases, err := filepath.Glob(filepath.Join(p.dir, "cache", "fanoutbench", "releases", "*"))
	if err != nil || len(releases) != 2 {
		t.Fatalf("releases %q, %v; want two and nothing half-made", releases, err)
	}
	if err := os.WriteFile(filepath.Join(releases[0], "sglang", "version.py"), []byte("version = \"1\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	q = again(exitUsage, "offline", "--candidate", "sglang:0.5.22.post1")
	q.has("stderr", q.stderr.String(), "is not what its wheel held: sglang/version.py differs; remove that folder")
}

// The cross arm: this program's worker is in the command, and its hash in the
// record.
func TestCrossArm(t *testing.T) {
	t.Parallel()
	p := twoTrees(t, "", "--reference", "dir:a", "--candidate", "dir:a", "--candidate-set", "worker=builtin:grouped-splice", "--candidate-set", "zmq=zmtp")
	p.run(exitOK)
	a := p.folder().Result.Arms[results.Candidate]
	if a.Strategy != "grouped-splice" || len(a.BinarySHA256) != 1 || !maps.Equal(a.Options, map[string]string{"worker": "builtin:grouped-splice", "zmq": "zmtp"}) {
		t.Errorf("%+v", a)
	}
}

// check-arm plays a second hello where the arm offers it, and only there.
func TestCheckArmAgain(t *testing.T) {
	for kind, want := range map[string]string{"": "ok    again: ", "once": "", "fickle": "FAIL  again: ", "dies": "FAIL  fields: "} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, nil, "check-arm", "dir:a", "--python", interpreter(t, kind))
			p.cmd.Env = append(p.cmd.Env, "XDG_CACHE_HOME="+filepath.Join(p.dir, "cache"))
			writeTree(t, filepath.Join(p.dir, "a"), "0.5.21")
			p.run(map[bool]int{true: exitInvalid, false: exitOK}[strings.HasPrefix(want, "FAIL")])
			p.has("stdout", p.stdout.String(), want)
			if kind == "once" && strings.Contains(p.stdout.String(), "again:") {
				t.Errorf("the clause is played with an arm that does not offer it:\n%s", &p.stdout)
			}
		})
	}
}

// sglangErrors are command lines over two trees, and what is said of them.
var sglangErrors = []struct {
	args string
	want string
}{
	{"--candidate dir:empty", "; or want an SGLang tree, a folder with sglang/__init__.py or python/sglang/__init__.py"},
	{"--candidate dir:twice", "has both sglang/__init__.py and python/sglang/__init__.py"},
	{"--candidate sglang:0.5;x", `version "0.5;x", want one such as 0.5.21`},
	{"--candidate sglang:--help", `version "--help", want one such as`},
	{"--candidate sglang:0.5.21", "no reference is given, and none to be found: a release has no history"},
	{"--candidate dir:b", "no reference is given, and none to be found: folder "},
	{"--reference dir:a --candidate git:nosuch --repo repo", `no revision "nosuch" in the repository of repo`},
	{"--reference dir:a --candidate git:HEAD --repo repo", "; or want an SGLang tree"},
	{"--reference dir:a --candidate dir:b --python nosuch", "candidate: arm \"dir:b\": python: interpreter nosuch"},
	{"--reference dir:a --candidate dir:b --candidate-python /nosuch/python", "candidate: arm \"dir:b\": python: interpreter /nosuch/python"},
	{"--reference dir:a --candidate dir:b --transport native", `transport "native", an SGLang tree has "msgpack" and "pickle"`},
	{"--reference builtin:splice --candidate dir:b", "dir:b and builtin:splice have different messages, so that their times say nothing of each other: compare dir:b with itself over a worker of this program (--candidate-set worker=builtin:STRATEGY)"},
	{"--reference dir:a --candidate dir:b --layouts 2", "layouts is 2, want 0"},
	{"--reference dir:a --candidate dir:b --detokenizers 2", `option detokenizers is "2", an SGLang tree is measured with one: --loop router measures the way to several`},
	{"--reference dir:a --candidate dir:b --set router=ipc", `option router is "ipc", but there is one detokenizer, and nothing to choose: --loop router`},
	{"--reference dir:a --candidate dir:b --loop router --set router=rid", `option router is "rid", an SGLang tree has "ipc"`},
	{"--reference dir:a --candidate dir:b --set zmq=zmtp", "option zmq is \"zmtp\", but the tree's own worker has pyzmq"},
	{"--reference dir:a --candidate dir:b --set worker=splice", `option worker is "splice", want builtin: and one of per-row`},
	{"--reference dir:a --candidate dir:b --set worker=builtin:nosuch", `option worker is "builtin:nosuch"`},
	{"--reference dir:a --candidate dir:b --set worker=builtin:splice --transport pickle", "do not read messages that are pickled as a whole"},
	{"--reference dir:a --candidate dir:b --set strategy=splice", `no option "strategy", an SGLang tree has env.NAME, worker`},
	{"--reference dir:a --candidate dir:b --set env.9=x", `"9" is no name of an environment variable`},
	{"--reference dir:a --candidate dir:b --set env.SGLANG_USE_PICKLE_IPC=1", "the variable is set by --transport"},
	{"--candidate-python x", "candidate-python is \"x\", but the candidate is no SGLang tree"},
	{"--python x", `python is "x", but no arm is an SGLang tree`},
	{"--allow-different-packages", "allow-different-packages is given, but no arm is an SGLang tree"},
	{"check-arm builtin:splice --python x", `python is "x", but builtin:splice is no SGLang tree`},
	{"check-arm dir:a --transport native", `transport "native", an SGLang tree has`},
}

func TestSGLangUsageErrors(t *testing.T) {
	dir := t.TempDir()
	python := interpreter(t, "")
	for folder, version := range map[string]string{"a": "1", "b/python": "2", "twice": "3", "twice/python": "4"} {
		writeTree(t, filepath.Join(dir, folder), version)
	}
	makeRepo(t, filepath.Join(dir, "repo"))
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, k := range sglangErrors {
		t.Run(k.args, func(t *testing.T) {
			t.Parallel()
			p := newProgram(t, []string{"VIRTUAL_ENV=" + venvOf(t, python)}, strings.Fields(k.args)...)
			p.cmd.Dir = dir
			p.run(exitUsage)
			p.has("stderr", p.stderr.String(), k.want)
			if p.stdout.Len() > 0 {
				t.Errorf("stdout: %s", &p.stdout)
			}
		})
	}
	t.Run("broken", func(t *testing.T) {
		p := newProgram(t, nil, "--reference", "dir:a", "--candidate", "dir:b", "--python", interpreter(t, "broken"))
		p.cmd.Dir = dir
		p.run(exitUsage)
		p.has("stderr", p.stderr.String(), "does not run: exit status 1: error while loading shared libraries")
	})
}

// venvOf is a virtual environment with that interpreter.
func venvOf(t *testing.T, python string) string {
	t.Helper()
	env := t.TempDir()
	if err := os.Mkdir(filepath.Join(env, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(python, filepath.Join(env, "bin", "python")); err != nil {
		t.Fatal(err)
	}
	return env
}

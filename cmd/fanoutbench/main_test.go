package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/htmlreport"
)

// The exit statuses by short names.
const (
	exitOK           = cli.ExitOK
	exitRegression   = cli.ExitRegression
	exitUsage        = cli.ExitUsage
	exitInconclusive = cli.ExitInconclusive
	exitInvalid      = cli.ExitInvalid
)

// The tests run this very test binary as the program: with envPIDs set it is
// fanoutbench, and so are the controllers and workers that it starts.
const (
	envPIDs  = "FANOUTBENCH_TEST_PIDS"       // file to which every process writes its role and id
	envFault = "FANOUTBENCH_TEST_FAULT"      // a faulty.Fault of its workers
	envLimit = "FANOUTBENCH_TEST_FILE_LIMIT" // bytes that a file of the driver may have
	envFiles = "FANOUTBENCH_TEST_OPEN_FILES" // ROLE=N: descriptors that a process of the role, and what it starts, may have
)

// fakeCommand is a controller of the test's own: fakeCommand KIND.
const fakeCommand = "__fake"

func TestMain(m *testing.M) {
	if os.Getenv(envPIDs) == "" {
		flag.Parse()
		if err := flag.Set("test.parallel", "4"); err != nil { // these tests mostly wait
			panic(err)
		}
		code := m.Run()
		if err := removeScratch(); err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	role := "driver"
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "__") {
		role = os.Args[1]
	}
	if err := note(role); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if limited, n, _ := strings.Cut(os.Getenv(envFiles), "="); limited == role {
		if err := limitDescriptors(n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fault := os.Getenv(envFault)
	switch {
	case role == fakeCommand:
		os.Exit(fake(os.Args[2]))
	case role == fakePythonCommand:
		os.Exit(fakePython(os.Args[2], os.Args[3:]))
	case role == arm.WorkerCommand && fault != "" && len(os.Args) == 2:
		f, err := faulty.Parse(fault)
		if err == nil {
			err = faulty.Run(context.Background(), os.Stdin, os.Stdout, f)
		}
		os.Exit(cli.Status(os.Stderr, "fanoutbench", err))
	case role == "driver" && os.Getenv(envLimit) != "":
		if err := limitFiles(os.Getenv(envLimit)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	main()
}

// note appends this process's role, its id and its parent's, in one write.
func note(role string) error {
	f, err := os.OpenFile(os.Getenv(envPIDs), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %d %d\n", role, os.Getpid(), os.Getppid())
	return errors.Join(err, f.Close())
}

// program is one run of fanoutbench with a temporary folder and a process list
// of its own.
type program struct {
	t      *testing.T
	dir    string // holds the two below
	tmp    string // its TMPDIR
	output string // where its run goes
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr bytes.Buffer

	drained chan struct{} // closed when a stderr read by begin has ended
}

// bound ends a program that hangs; no test waits for it. It is the time of a trial
// too, unless a test is about that: a disk may stall for longer than the default.
const bound = 4 * time.Minute

func newProgram(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	dir, err := os.MkdirTemp("", "fb") // short, since sockets go below it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	p := &program{t: t, dir: dir, tmp: filepath.Join(dir, "t"), output: filepath.Join(dir, "run")}
	if err := errors.Join(os.Mkdir(p.tmp, 0o700), os.WriteFile(p.pidFile(), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	t.Cleanup(cancel)
	p.cmd = exec.CommandContext(ctx, self, args...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "TMPDIR="+p.tmp, envPIDs+"="+p.pidFile(),
		"GORACE=atexit_sleep_ms=0") // the race detector would keep each process for a second
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

// measure is newProgram for a run of few small trials; by its seed the candidate
// goes first in round -1.
func measure(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := newProgram(t, env)
	p.cmd.Args = append(p.cmd.Args, "run", "--output", p.output, "--seed", "7")
	for _, small := range [][]string{{"--rounds", "1"}, {"--repetitions", "1"}, {"--counts", "5"}, {"--metadata", "rich"}, {"--process", "run"}, {"--timeout", bound.String()}} {
		if !slices.Contains(args, small[0]) {
			p.cmd.Args = append(p.cmd.Args, small...)
		}
	}
	p.cmd.Args = append(p.cmd.Args, args...)
	return p
}

func (p *program) pidFile() string { return filepath.Join(p.dir, "pids") }

// run runs the program to its end and wants its exit status.
func (p *program) run(want int) {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.wait(want)
}

func (p *program) wait(want int) {
	p.t.Helper()
	if p.drained != nil {
		<-p.drained // before Wait, which closes what is read
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		p.t.Fatalf("%q ended with %v, want status %d\nstdout: %s\nstderr: %s", p.cmd.Args[1:], p.cmd.ProcessState, want, &p.stdout, &p.stderr)
	}
	p.nothingLeft()
}

// nothingLeft wants no process of the program, and an empty temporary folder.
func (p *program) nothingLeft() {
	p.t.Helper()
	for _, pid := range p.pids("") {
		p.ends(pid)
	}
	if left := filesBelow(p.t, p.tmp); len(left) > 0 {
		p.t.Errorf("left in the temporary folder: %q", left)
	}
}

func filesBelow(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// pids are the ids of the program's processes of that role, or of all.
func (p *program) pids(role string) (pids []int) {
	p.t.Helper()
	return p.children(role, 0)
}

// children is pids for those of one parent, or of any if that is 0.
func (p *program) children(role string, parent int) (pids []int) {
	p.t.Helper()
	b, err := os.ReadFile(p.pidFile())
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var name string
		var pid, by int
		if _, err := fmt.Sscan(line, &name, &pid, &by); err != nil {
			p.t.Fatalf("line %q: %v", line, err)
		}
		if (role == "" || role == name) && (parent == 0 || parent == by) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ends waits for a process to be gone. What its parent left as a zombie is gone.
func (p *program) ends(pid int) {
	p.t.Helper()
	p.until(fmt.Sprintf("process %d ends", pid), func() bool { return gone(pid) })
}

// until waits for what no channel tells. Its patience is for a loaded machine under the race detector; a
// test that passes does not need it.
func (p *program) until(what string, done func() bool) {
	p.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(3 * time.Minute)
	for !done() {
		select {
		case <-tick.C:
		case <-deadline:
			p.t.Fatalf("still waiting until %s", what)
		}
	}
}

func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return errors.Is(err, os.ErrNotExist) && fileExists("/proc/self/stat")
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// folder reads the run's folder, which every run that began must leave.
func (p *program) folder() *results.Folder {
	p.t.Helper()
	f, err := results.Read(p.output)
	if err != nil {
		p.t.Fatalf("%v\nstderr: %s", err, &p.stderr)
	}
	return f
}

// has wants each of texts in a stream of the program.
func (p *program) has(name, stream string, texts ...string) {
	p.t.Helper()
	for _, want := range texts {
		if !strings.Contains(stream, want) {
			p.t.Errorf("%s lacks %q:\n%s", name, want, stream)
		}
	}
}

// hasNoTiming wants no figure of the run on a stream: neither the table nor the
// name of a metric outside of the failure's own words.
func (p *program) hasNoTiming(name, stream string) {
	p.t.Helper()
	lines := strings.ReplaceAll(stream, "<dt>", "\n") // a page has its names and values in one line
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(strings.TrimPrefix(line, "- "), "failure") {
			continue
		}
		for _, metric := range append(slices.Clone(results.Metrics), "reduction", "reference ms") {
			if strings.Contains(line, metric) {
				p.t.Errorf("%s has %q of a run that was not verified: %s", name, metric, line)
			}
		}
	}
}

// failed wants a run that ended with the given status and without figures, on
// stdout, in its folder and in every report, and returns its failure.
func (p *program) failed(as string) *results.Failure {
	p.t.Helper()
	f := p.folder()
	if v := f.Result.Verdict; v.Status != as || v.Failure == nil {
		p.t.Fatalf("verdict %+v, want status %s with a failure", v, as)
	}
	if len(f.Result.Summary) > 0 {
		p.t.Errorf("a summary of %d rows in a run that is %s", len(f.Result.Summary), as)
	}
	p.has("stdout", p.stdout.String(), "run", as+", decision none", "NOT verified")
	p.hasNoTiming("stdout", p.stdout.String())
	for _, format := range append([]string{htmlreport.Format}, results.Formats...) {
		var b bytes.Buffer
		err := run(p.t.Context(), nil, &b, io.Discard, []string{"report", p.output, "--format", format})
		if cli.Status(io.Discard, "fanoutbench", err) != exitInvalid {
			p.t.Errorf("report --format %s: %v, want exit status %d", format, err, exitInvalid)
		}
		switch text := b.String(); format {
		case "json":
			p.has("report as json", text, `"summary": []`)
		case "csv":
			head, _, _ := strings.Cut(text, "\n")
			p.hasNoTiming("report as csv", head)
		default:
			p.hasNoTiming("report as "+format, text)
		}
	}
	return f.Result.Verdict.Failure
}

package main

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
)

// begin starts a run without a foreseeable end and returns in the middle of it,
// when a line of its progress has the text.
func (p *program) begin(text string) {
	p.t.Helper()
	p.cmd.Stderr = nil
	errs, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewReader(io.TeeReader(errs, &p.stderr))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.t.Fatalf("the program ended before %q: %v; stderr: %s", text, err, &p.stderr)
		}
		if strings.Contains(line, text) {
			break
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	p.drained = drained
}

// endless is a run of 1000 rounds by one set of processes, in its third round.
func endless(t *testing.T, args ...string) *program {
	t.Helper()
	p := measure(t, nil, append(args, "--rounds", "1000", "--process", "run")...)
	p.begin("round 2 begins")
	return p
}

func (p *program) kill(pid int, s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		p.t.Fatal(err)
	}
}

// The death of a worker or a controller ends the run, and the message names
// what killed it.
func TestKilledProcesses(t *testing.T) {
	for _, role := range []string{arm.WorkerCommand, arm.ControllerCommand} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			p := endless(t)
			pids := p.pids(role)
			victim := pids[len(pids)-1]
			p.kill(victim, syscall.SIGKILL)
			p.wait(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, "signal: killed", arm.ControllerCommand)
			if f.Arm == "" || f.Round == nil || *f.Round < 2 {
				t.Errorf("failure %+v, want the arm and a round from 2", f)
			}
			p.wholeLines()
		})
	}
}

// wholeLines wants the trials of a run that was cut short to be readable, and
// not all there.
func (p *program) wholeLines() {
	p.t.Helper()
	f := p.folder()
	if n := len(f.Trials); n < 6 || n >= f.Plan.Len() {
		p.t.Errorf("%d trials are kept, want at least those of three rounds and not all %d", n, f.Plan.Len())
	}
	if f.Result.VerifiedRows != 15*len(f.Trials) {
		p.t.Errorf("%d rows verified in %d trials of 15", f.Result.VerifiedRows, len(f.Trials))
	}
}

// When the driver is killed, nothing of it lives on, and no socket file is left.
func TestKilledDriver(t *testing.T) {
	for _, pace := range []string{"arrived", "none"} {
		t.Run(pace, func(t *testing.T) {
			t.Parallel()
			endless(t, "--pace", pace).killDriver()
		})
	}
}

func (p *program) killDriver() {
	p.t.Helper()
	p.kill(p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.drained
	if err := p.cmd.Wait(); err == nil {
		p.t.Error("the driver ended well")
	}
	for _, pid := range p.pids("") {
		p.ends(pid)
	}
	works := 0
	for _, name := range filesBelow(p.t, p.tmp) {
		st, err := os.Lstat(name)
		if err != nil || st.Mode()&os.ModeSocket != 0 {
			p.t.Errorf("left: %s (%v)", name, err)
		}
		if strings.HasPrefix(filepath.Base(name), "work-") {
			works++
		}
	}
	if works > 1 {
		p.t.Errorf("%d work files, want that of the trial at most: they would fill a disk", works)
	}
	if fileExists(filepath.Join(p.output, results.ResultFile)) {
		p.t.Error("a result of a killed run")
	}
}

// hung is a run whose candidate's worker has come to a halt in the middle of a
// trial, with more sent to it than its socket takes.
func hung(t *testing.T) *program {
	t.Helper()
	f := faulty.Fault{Kind: faulty.Hang, RID: struckRow, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--reference", "builtin:splice", "--counts", "2000", "--pace", "none", "--timeout", "2m")
	p.begin("round -1 begins")
	log := filepath.Join(p.output, results.LogFolder, results.Candidate+".log")
	p.until("the worker hangs", func() bool {
		b, err := os.ReadFile(log)
		return err == nil && strings.Contains(string(b), faulty.HangLine)
	})
	return p
}

// A worker that hangs keeps nothing from ending.
func TestHungWorker(t *testing.T) {
	t.Run("driver killed", func(t *testing.T) {
		t.Parallel()
		hung(t).killDriver()
	})
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		p := hung(t)
		p.kill(p.cmd.Process.Pid, syscall.SIGINT)
		p.wait(exitInvalid)
		p.failed(results.StatusIncomplete)
	})
}

// stopWorkers halts the workers of the arms.
func (p *program) stopWorkers() {
	p.t.Helper()
	for _, pid := range p.pids(arm.WorkerCommand)[1:] { // after the list
		p.kill(pid, syscall.SIGSTOP)
	}
}

// Ctrl-C ends every process, keeps what was measured and says so.
func TestInterrupted(t *testing.T) {
	for name, s := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := endless(t)
			p.kill(p.cmd.Process.Pid, s)
			p.wait(exitInvalid)
			f := p.failed(results.StatusIncomplete)
			p.has("failure", f.Message, s.String()+" signal received")
			p.wholeLines()
		})
	}
}

// A worker that does not run cannot keep its arm from ending.
func TestInterruptedWithAStoppedWorker(t *testing.T) {
	t.Parallel()
	p := endless(t)
	p.stopWorkers()
	p.kill(p.cmd.Process.Pid, syscall.SIGINT)
	p.wait(exitInvalid)
	p.failed(results.StatusIncomplete)
}

// A progress that nobody reads any more does not end the run half-way.
func TestNobodyReadsProgress(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = w
	r.Close()
	p.run(exitOK)
	w.Close()
	if len(p.folder().Trials) != 4 {
		t.Errorf("%d trials, want 4", len(p.folder().Trials))
	}
}

// A result that cannot be written is no success.
func TestNobodyReadsResults(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	done := measure(t, nil)
	done.run(exitOK)
	for _, args := range [][]string{{"list"}, {"--dry-run"}, {"report", done.output}, {"verify", done.output}, {"check-arm", "builtin:splice"}} {
		p := newProgram(t, nil, args...)
		p.cmd.Stdout = w
		p.run(exitInvalid)
		p.has("stderr", p.stderr.String(), "broken pipe")
	}
	p := measure(t, nil)
	p.cmd.Stdout = w
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), "broken pipe")
	if v := p.folder().Result.Verdict; v.Status != results.StatusVerified {
		t.Errorf("verdict %+v, want the run verified all the same", v)
	}
}

package main

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
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
			p := endless(t, "--pace", pace)
			p.kill(p.cmd.Process.Pid, syscall.SIGKILL)
			<-p.drained
			if err := p.cmd.Wait(); err == nil {
				t.Error("the driver ended well")
			}
			for _, pid := range p.pids("") {
				p.ends(pid)
			}
			for _, name := range filesBelow(t, p.tmp) {
				st, err := os.Lstat(name)
				if err != nil || st.Mode()&os.ModeSocket != 0 {
					t.Errorf("left: %s (%v)", name, err)
				}
			}
			if _, err := os.Lstat(p.output + "/" + results.ResultFile); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a result of a killed run: %v", err)
			}
		})
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
	for _, pid := range p.pids(arm.WorkerCommand)[1:] { // after the list
		p.kill(pid, syscall.SIGSTOP)
	}
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

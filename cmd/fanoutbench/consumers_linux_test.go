package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Consumers in processes of their own: two strategies, both kinds of consumer,
// both loops, every pace and engine. The run is as one by a thread, and nothing of
// it is left.
func TestConsumerProcesses(t *testing.T) {
	turn := 0
	for _, strategy := range []string{"splice", "grouped"} {
		for _, consumer := range []string{protocol.ConsumerDecode, protocol.ConsumerRaw} {
			args := []string{
				"--consumers", "process", "--candidate", "builtin:" + strategy, "--consumer", consumer, "--process", "round",
				"--counts", "1,32", "--metadata", []string{"plain", "rich"}[(turn+turn/2)%2], "--http-workers", "3",
				"--pace", []string{protocol.PaceArrived, protocol.PaceNone, "2000"}[turn%3],
				"--set", "zmq=" + []string{"zmtp", "zmq4"}[turn/2],
				"--detokenizers", []string{"1", "2"}[turn%2],
			}
			turn++
			t.Run(strategy+"/"+consumer, func(t *testing.T) {
				t.Parallel()
				p := measure(t, nil, args...)
				p.run(exitOK)
				p.consumerProcesses(3)
			})
		}
	}
	t.Run("router loop", func(t *testing.T) {
		t.Parallel()
		p := measure(t, nil, "--consumers", "process", "--loop", "router", "--stream", "mixed", "--process", "round", "--http-workers", "3")
		p.run(exitOK)
		p.consumerProcesses(3)
	})
}

// consumerProcesses wants a verified run of round -1 and one more, n consumers each
// in a process, and times in the order in which they can come.
func (p *program) consumerProcesses(n int) {
	p.t.Helper()
	f := p.folder()
	if v := f.Result.Verdict; v.Status != results.StatusVerified || f.Plan.Consumers != protocol.ConsumersProcess {
		p.t.Errorf("verdict %+v, consumers %q", v, f.Plan.Consumers)
	}
	for _, trial := range f.Trials {
		first, all := *trial.FirstMS, *trial.FirstAllMS
		if !(0 < first && first <= all && all <= trial.CompleteMS && trial.CompleteMS <= trial.OuterMS) {
			p.t.Errorf("%s: first %v, all %v, complete %v, outer %v ms", trial.Slot(), first, all, trial.CompleteMS, trial.OuterMS)
		}
		if trial.SpreadMS != nil && !(0 <= *trial.SpreadMS && *trial.SpreadMS < trial.CompleteMS) {
			p.t.Errorf("%s: spread %v of %v ms", trial.Slot(), *trial.SpreadMS, trial.CompleteMS)
		}
	}
	for _, c := range p.pids(arm.ControllerCommand) {
		if got := len(p.children(arm.ConsumerCommand, c)); got != n {
			p.t.Errorf("a controller with %d consumers' processes, want %d", got, n)
		}
	}
	if got := len(p.pids(arm.ConsumerCommand)); got != 2*2*n {
		p.t.Errorf("%d consumers' processes, want %d of two arms in two rounds", got, 2*2*n)
	}
	p.has("stdout", p.stdout.String(), "consumers  ", "each in a process of its own")
	v := newProgram(p.t, nil, "verify", p.output)
	v.run(exitOK)
}

// A thread is the default; a plan does not speak of it, so that plans of before
// stay as they are.
func TestConsumersThread(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--consumers", "thread")
	p.run(exitOK)
	if f := p.folder(); f.Plan.Consumers != "" || len(p.pids(arm.ConsumerCommand)) != 0 {
		t.Errorf("consumers %q, %d processes of them", f.Plan.Consumers, len(p.pids(arm.ConsumerCommand)))
	}
	if strings.Contains(p.stdout.String(), "consumers  ") {
		t.Errorf("the report speaks of processes: %s", &p.stdout)
	}
	p = measure(t, nil, "--consumers", "threads")
	p.run(exitUsage)
	p.has("stderr", p.stderr.String(), `consumers`, `threads`)
}

// The death of a consumer ends the run with its number.
func TestKilledConsumer(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := endless(t, "--consumers", "process", "--pace", []string{"arrived", "none"}[i%2])
			controller := p.pids(arm.ControllerCommand)[0]
			victim := p.consumerOf(controller, i)
			p.kill(victim, syscall.SIGKILL)
			p.wait(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, fmt.Sprintf("the consumer %d's process: the process ended (signal: killed)", i))
			if f.Arm == "" || f.Round == nil || *f.Round < 2 {
				t.Errorf("failure %+v, want the arm and a round from 2", f)
			}
			p.wholeLines()
		})
	}
}

// consumerOf is the process that has bound the endpoint of consumer i: processes are
// noted in the order in which they come to it, not in which they are started.
func (p *program) consumerOf(controller, i int) int {
	p.t.Helper()
	pids := p.children(arm.ConsumerCommand, controller)
	for _, pid := range pids {
		if boundBy(p.t, pid, fmt.Sprintf("/c%d", i)) {
			return pid
		}
	}
	p.t.Fatalf("none of %v has bound c%d", pids, i)
	return 0
}

// When the driver is killed, consumers and their sockets go as well.
func TestKilledDriverOfConsumers(t *testing.T) {
	t.Parallel()
	endless(t, "--consumers", "process").killDriver()
}

// Ctrl-C is not taken for the death of a consumer.
func TestInterruptedConsumers(t *testing.T) {
	t.Parallel()
	p := endless(t, "--consumers", "process")
	p.kill(p.cmd.Process.Pid, syscall.SIGINT)
	p.wait(exitInvalid)
	p.failed(results.StatusIncomplete)
}

// What a worker does wrong is found as with a thread; a row that is missing ends
// the wait in time.
func TestFaultyWorkerOfConsumers(t *testing.T) {
	for _, k := range []struct {
		kind, field, wanted, got string
		step                     int
	}{
		{faulty.Drop, "rows", "3", "1", 1},
		{faulty.Double, "rows", "3", "4", 1},
		{faulty.Field, "completion_tokens", "2", "3", 1},
	} {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			foundOut(t, faulty.Fault{Kind: k.kind, RID: struckRow, Step: k.step},
				results.Failure{Consumer: new(1), RID: struckRow, Field: k.field, Wanted: &k.wanted, Got: &k.got}, "--consumers", "process", "--timeout", "1500ms")
		})
	}
}

// A row that a worker sends when its input has ended is found before its consumer
// ends.
func TestLateRowOfConsumers(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.After, RID: struckRow, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--consumers", "process", "--candidate", "builtin:per-row")
	p.run(exitInvalid)
	p.has("failure", p.failed(results.StatusInvalid).Message,
		`1 rows came after the last trial's quiet period, the first to consumer 1 with rid "never-asked-for"`)
}

// Consumers replay a stream for a profile as well, without an end to their rows.
func TestProfileOfConsumers(t *testing.T) {
	onlyLong(t)
	t.Parallel()
	p := measure(t, nil, "--consumers", "process", "--profile")
	p.run(exitOK)
	if len(filesBelow(t, filepath.Join(p.output, results.ProfileFolder))) == 0 {
		t.Error("no profiles")
	}
}

// An arm that does not say where its consumers run is taken at its word: on a thread.
func TestConsumersNotInForce(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--consumers", "process", "--candidate", fakeArm(t, "threads"))
	p.run(exitInvalid)
	p.has("failure", p.failed(results.StatusInvalid).Message, `receipt: consumers "", want "process"`)
}

// boundBy reports whether a process has a socket whose path ends so: the kernel's
// table has the path to each inode, and the process's descriptors name inodes.
func boundBy(t *testing.T, pid int, end string) bool {
	t.Helper()
	fds := fmt.Sprintf("/proc/%d/fd", pid)
	names, err := os.ReadDir(fds)
	table, err2 := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 8 || !strings.HasSuffix(fields[7], end) {
			continue
		}
		for _, name := range names {
			if to, err := os.Readlink(filepath.Join(fds, name.Name())); err == nil && to == "socket:["+fields[6]+"]" {
				return true
			}
		}
	}
	return false
}

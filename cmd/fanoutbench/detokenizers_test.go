package main

import (
	"fmt"
	"hash/crc32"
	"strings"
	"syscall"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Every strategy behind a router to 2 and 3 detokenizers, by both rules, two of
// these a run, and a single one by either rule; transport, consumer, pace and
// metadata take turns.
func TestDetokenizers(t *testing.T) {
	type side struct {
		strategy, rule string
		n              int
	}
	type pair struct{ reference, candidate side }
	pairs := []pair{{side{"per-row", protocol.RouterRID, 1}, side{"splice", protocol.RouterIPC, 1}}}
	all := worker.List().Strategies
	for i, s := range all {
		other := all[(i+1)%len(all)].Name
		pairs = append(pairs,
			pair{side{s.Name, protocol.RouterRID, 2}, side{other, protocol.RouterIPC, 3}},
			pair{side{s.Name, protocol.RouterRID, 3}, side{other, protocol.RouterIPC, 2}})
	}
	spec := func(s side) string {
		return fmt.Sprintf("builtin:%s@detokenizers=%d,router=%s", s.strategy, s.n, s.rule)
	}
	for turn, pair := range pairs {
		args := []string{
			"--reference", spec(pair.reference), "--candidate", spec(pair.candidate), "--counts", "1,32",
			"--metadata", []string{"plain", "rich"}[turn/4%2],
			"--transport", []string{protocol.TransportMsgpack, protocol.TransportNative}[turn%2],
			"--consumer", []string{protocol.ConsumerDecode, protocol.ConsumerRaw}[turn/2%2],
			"--pace", []string{protocol.PaceArrived, protocol.PaceNone, "2000"}[turn%3],
		}
		t.Run(spec(pair.reference)+" "+spec(pair.candidate), func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, args...)
			p.run(exitOK)
			p.routed(results.Reference, pair.reference.n, pair.reference.rule)
			p.routed(results.Candidate, pair.candidate.n, pair.candidate.rule)
			newProgram(t, nil, "verify", p.output).run(exitOK)
		})
	}
}

// routed wants a verified run in which an arm says how it routes, with counters
// that add up.
func (p *program) routed(name string, n int, rule string) {
	p.t.Helper()
	f := p.folder()
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		p.t.Fatalf("verdict %+v", v)
	}
	options := f.Result.Arms[name].Options
	if n == 1 {
		rule = protocol.RouterNone
	}
	if options["detokenizers"] != fmt.Sprint(n) || options["router"] != rule {
		p.t.Errorf("%s: options %v, want %d detokenizers by %s", name, options, n, rule)
	}
	for _, trial := range f.Trials {
		if trial.Arm != name || trial.Count != 32 {
			continue
		}
		got, has := trial.Counters[protocol.CounterRouterMessages]
		if has != (n > 1) || got > float64(n) || n > 1 && got < 1 {
			p.t.Errorf("%s, %d detokenizers: %v router messages a batch", name, n, got)
		}
		if messages := trial.Counters[protocol.CounterMessages]; n == 1 && messages > float64(trial.Count) || messages < float64(f.Plan.HTTPWorkers) {
			p.t.Errorf("%s, %d detokenizers: %v messages a batch", name, n, messages)
		}
	}
}

// What a batch of 32 rich rows costs is known behind a router too: no column is
// opened there, a row's message is sent once, and each detokenizer gets one
// message of a batch. Of one row two detokenizers get nothing but the fence's,
// which is not counted.
func TestRoutedCounters(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--detokenizers", "3", "--counts", "1,32")
	p.run(exitOK)
	for _, trial := range p.folder().Trials {
		want := map[string]float64{protocol.CounterOpaqueDecodes: 64, protocol.CounterMessages: 32, protocol.CounterRouterMessages: 3}
		if trial.Count == 1 {
			want = map[string]float64{protocol.CounterOpaqueDecodes: 2, protocol.CounterMessages: 1, protocol.CounterRouterMessages: 1}
		}
		if trial.Arm == results.Candidate { // splice
			want[protocol.CounterOpaqueDecodes] = 0
		}
		for name, n := range want {
			if trial.Counters[name] != n {
				t.Errorf("%s: %s is %v, want %v", trial.Slot(), name, trial.Counters[name], n)
			}
		}
	}
	if n := len(p.pids(arm.WorkerCommand)); n != 1+2*4 {
		t.Errorf("%d worker processes, want the list, and four for each arm", n)
	}
}

// The fence of a routed run is as wide as planned.
func TestRoutedFence(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--reference-set", "detokenizers=2", "--candidate-set", "detokenizers=3")
	p.run(exitOK)
	f := p.folder()
	// Round -1 and one more, one repetition, two arms, three steps, four consumers.
	if want := 2 * 2 * 3 * 4 * 3; f.Plan.FencePerRun != want || f.Result.FenceRows != want {
		t.Errorf("%d fence rows planned and %d verified, want %d", f.Plan.FencePerRun, f.Result.FenceRows, want)
	}
}

// The death of one process of a worker ends the run with its name, and no other.
func TestKilledDetokenizer(t *testing.T) {
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := endless(t, "--candidate-set", "detokenizers=2")
			p.kill(p.workersOf(3)[i], syscall.SIGKILL)
			p.wait(exitInvalid)
			f := p.failed(results.StatusInvalid)
			named := 0
			for _, name := range []string{"detokenizer 0", "detokenizer 1", "router"} {
				if strings.Contains(f.Message, name+": the process ended: signal: killed") {
					named++
				} else if strings.Contains(f.Message, name+": the process ended") {
					t.Errorf("the failure blames %s: %s", name, f.Message)
				}
			}
			if named != 1 || f.Arm != results.Candidate {
				t.Errorf("%d processes named in %+v, want the one that was killed", named, f)
			}
		})
	}
}

// workersOf are the workers of the arm that has n of them.
func (p *program) workersOf(n int) []int {
	p.t.Helper()
	for _, c := range p.pids(arm.ControllerCommand) {
		if pids := p.children(arm.WorkerCommand, c); len(pids) == n {
			return pids
		}
	}
	p.t.Fatalf("no controller with %d workers", n)
	return nil
}

// A detokenizer that is wrong is found out behind a router as well; which one
// has the row that is struck follows from its rid.
func TestFaultyDetokenizers(t *testing.T) {
	for _, k := range []struct {
		kind, field, wanted, got string
		step                     int
	}{
		{faulty.Drop, "rows", "3", "1", 1},
		{faulty.Double, "rows", "3", "4", 1},
		{faulty.Field, "completion_tokens", "2", "3", 1},
		{faulty.Cut, "output_strs", `"a b c" in all`, `"a b " in all`, 2},
	} {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			foundOut(t, faulty.Fault{Kind: k.kind, RID: struckRow, Step: k.step},
				results.Failure{Consumer: new(1), RID: struckRow, Field: k.field, Wanted: &k.wanted, Got: &k.got}, "--detokenizers", "2", "--timeout", "1500ms")
		})
	}
}

// A detokenizer that fails in mid-trial is named with its number.
func TestDetokenizerDiesInTrial(t *testing.T) {
	t.Parallel()
	f := faulty.Fault{Kind: faulty.Die, RID: struckRow, Only: "/candidate-"}
	p := measure(t, []string{envFault + "=" + f.String()}, "--candidate", "builtin:per-row", "--detokenizers", "3")
	p.run(exitInvalid)
	number := crc32.ChecksumIEEE([]byte(struckRow)) % 3
	p.has("failure", p.failed(results.StatusInvalid).Message,
		fmt.Sprintf("the detokenizer %d's process ended; detokenizer %d: the process ended: signal: killed", number, number))
}

func TestCheckRoutedArm(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{protocol.RouterRID, protocol.RouterIPC} {
		p := newProgram(t, nil, "check-arm", "builtin:grouped@detokenizers=3,router="+rule)
		p.run(exitOK)
		if text := p.stdout.String(); strings.Contains(text, "FAIL") {
			t.Errorf("check-arm: %s", text)
		}
	}
}

// Batches at a rate: the plan says so, nothing comes before its time, and a
// stream that cannot end in time is refused before it begins.
func TestRate(t *testing.T) {
	t.Parallel()
	p := measure(t, nil, "--pace", "100")
	p.run(exitOK)
	f := p.folder()
	if f.Plan.Pace != "rate:100" {
		t.Errorf("the plan's pace is %q", f.Plan.Pace)
	}
	for _, trial := range f.Trials {
		if trial.CompleteMS < 20 { // the third batch is due then
			t.Errorf("%s: complete after %v ms, want at least the 20 of its schedule", trial.Slot(), trial.CompleteMS)
		}
	}
	p = measure(t, nil, "--pace", "0.5", "--timeout", "3s")
	p.run(exitInvalid)
	p.has("failure", p.failed(results.StatusInvalid).Message, "pace rate:0.5: the last of 2 batches is due after 2s, want less than the 2s that rows may take")
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// settles is the first round at which the trials settle an anytime plan, by its
// rule, counted from one; the plan's last where none does.
func settles(t *testing.T, f *results.Folder) int {
	t.Helper()
	per := len(f.Plan.Arms()) * f.Plan.Repetitions * len(f.Plan.Counts) * len(f.Plan.Metadata)
	for n := 1; n < f.Plan.Rounds; n++ {
		if len(f.Trials) < (n+1)*per {
			t.Fatalf("%d trials end before round %d, and nothing was settled", len(f.Trials), n-1)
		}
		settled, err := results.Settled(f.Plan.UpTo(n), f.Trials[:(n+1)*per])
		if err != nil {
			t.Fatal(err)
		}
		if settled {
			return n
		}
	}
	return f.Plan.Rounds
}

// stopped wants a run that ended after the round at which its rule says so.
func (p *program) stopped(decision string) int {
	p.t.Helper()
	f := p.folder()
	want := settles(p.t, f)
	per := f.Plan.Len() / (f.Plan.Rounds + 1)
	if got := f.Result.Rounds; got != want || len(f.Trials) != (want+1)*per || f.Result.Verdict.Decision != decision {
		p.t.Errorf("%d rounds, %d trials, decision %s; want %d rounds, %d trials, %s", got, len(f.Trials), f.Result.Verdict.Decision, want, (want+1)*per, decision)
	}
	if want < f.Plan.Rounds {
		p.has("stderr", p.stderr.String(), fmt.Sprintf("every primary cell is settled after %d rounds of at most %d", want, f.Plan.Rounds))
	}
	v := newProgram(p.t, nil, "verify", p.output)
	v.run(exitOK)
	v.has("verify", v.stdout.String(), "ok    decision: "+decision, fmt.Sprintf("ok    trials: %d", len(f.Trials)))
	e := newProgram(p.t, nil, "explain", p.output)
	e.run(exitOK)
	e.has("explain", e.stdout.String(), fmt.Sprintf("all %d rounds: ", want))
	newProgram(p.t, nil, "report", p.output).run(exitOK)
	return want
}

// A clear win ends an anytime run before its last round, whatever the processes'
// lifetime, and a profile behind it runs all the same (FANOUTBENCH_LONG).
func TestAnytime(t *testing.T) {
	for _, process := range []string{results.ProcessRound, results.ProcessRun} {
		t.Run(process, func(t *testing.T) {
			t.Parallel()
			args := []string{"--plan", "anytime", "--rounds", "30", "--counts", "32", "--process", process, "--primary", "32:rich:complete_ms", "--primary", "32:rich:worker_cpu_ms"}
			profiled := 0
			if process == results.ProcessRound {
				args = append(args, "--control")
				if os.Getenv(envLong) != "" { // ten seconds of replays
					args, profiled = append(args, "--profile"), 2
				}
			}
			p := measure(t, nil, args...)
			p.run(exitOK)
			if n := len(p.pids("__worker")); process == results.ProcessRound && n != 1+3*(p.folder().Result.Rounds+1)+profiled {
				t.Errorf("%d worker processes, want the list's, three each round, and %d that are profiled", n, profiled)
			}
			if rounds := p.stopped(results.DecisionImproved); rounds >= 30 {
				t.Errorf("a clear win took all %d rounds", rounds)
			}
		})
	}
}

// With times that do not vary the number of rounds is that of the rule: eight equal
// signs are an e-value above 20, and an interval without width lies within any margin
// as soon as there is one.
func TestAnytimeStopsByItsRule(t *testing.T) {
	for name, k := range map[string]struct {
		candidate, decision string
		rounds              int
	}{
		"faster": {"takes 10", results.DecisionImproved, 8},
		"equal":  {"also takes 20", results.DecisionEquivalent, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, "--plan", "anytime", "--rounds", "12", "--control", "--primary", "5:rich:complete_ms",
				"--reference", fakeArm(t, "takes 20"), "--candidate", fakeArm(t, k.candidate))
			p.run(exitOK)
			if rounds := p.stopped(k.decision); rounds != k.rounds {
				t.Errorf("%d rounds, want %d", rounds, k.rounds)
			}
		})
	}
}

// A run decides by default, about the cells that it has; with too few rounds it
// says beforehand that it cannot. With none it decides nothing.
func TestFamilyOfARun(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	p.run(exitOK)
	f := p.folder()
	if v := f.Result.Verdict; v.Decision != results.DecisionInsufficient || f.Plan.MarginPct != 5 || len(f.Plan.Primary) != 3 || f.Plan.Kind != "" {
		t.Errorf("verdict %+v, margin %v, family %v, kind %q", v, f.Plan.MarginPct, f.Plan.Primary, f.Plan.Kind)
	}
	p.has("stderr", p.stderr.String(), "note: 1 rounds decide nothing, no interval exists below 6")

	p = measure(t, nil, "--primary", "none", "--control")
	p.run(exitOK)
	if f = p.folder(); f.Result.Verdict.Decision != results.DecisionNone || f.Result.Analysis != nil || len(f.Result.Control) == 0 {
		t.Errorf("verdict %+v, analysis %v, %d control rows", f.Result.Verdict, f.Result.Analysis, len(f.Result.Control))
	}
	if strings.Contains(p.stderr.String(), "note") {
		t.Errorf("stderr: %s", &p.stderr)
	}

	p = measure(t, nil, "--rounds", "6", "--margin", "0.5%", "--primary", "5:rich:spread_ms,5:rich:first_ms:non-inferiority", "--candidate", "builtin:per-row")
	p.run(exitOK)
	f = p.folder()
	want := []results.Primary{
		{Count: 5, Metadata: "rich", Metric: "spread_ms", Role: results.RoleSuperiority},
		{Count: 5, Metadata: "rich", Metric: "first_ms", Role: results.RoleNonInferiority},
	}
	if f.Plan.MarginPct != 0.5 || !slices.Equal(f.Plan.Primary, want) || f.Result.Verdict.Decision != results.DecisionIdentical {
		t.Errorf("margin %v, family %v, verdict %+v; want 0.5, %v and identical", f.Plan.MarginPct, f.Plan.Primary, f.Result.Verdict, want)
	}
}

func TestDryRunShowsTheDecision(t *testing.T) {
	t.Parallel()
	p := newProgram(t, nil, "--dry-run", "--plan", "anytime", "--control", "--margin", "3", "--budget", "10m")
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "control: the reference once more", "anytime", "at most 30", "margin of 3 %", "310 rich first_ms, non-inferiority",
		"budget: 10m0s", "[9 12 17 20 25 30]", `"kind": "anytime"`, `"control_at": [`)
	p = newProgram(t, nil, "--dry-run", "--primary", "none")
	p.run(exitOK)
	p.has("stdout", p.stdout.String(), "control: none", "decision: none")
}

// A budget chooses the rounds before the plan is made, and the pilot leaves nothing.
func TestBudget(t *testing.T) {
	t.Parallel()
	p := measured(t, []string{"XDG_CACHE_HOME=" + t.TempDir()}, "--budget", "200s") // without a calibration
	p.run(exitOK)
	f := p.folder()
	b := f.Plan.Budget
	few := f.Plan.Rounds >= verdict.MinRounds && f.Plan.Rounds < plan.Choices[0] // where a slow disk leaves time for no more
	if b == nil || b.Seconds != 200 || b.SpreadPct != nil || !few && !slices.Contains(plan.Choices, f.Plan.Rounds) || float64(f.Plan.Rounds)*b.RoundSeconds > b.Seconds {
		t.Errorf("budget %+v, rounds %d", b, f.Plan.Rounds)
	}
	p.has("stderr", p.stderr.String(), "pilot: one round", fmt.Sprintf("%d rounds: the spread of this machine is unknown, so they are the most that fit", f.Plan.Rounds))

	p = measured(t, nil, "--budget", "1ms")
	p.run(exitUsage)
	p.has("stderr", p.stderr.String(), "budget 1ms is too small: 6 rounds, below which no interval exists, need ", " seconds")
	p.noFolder()

	p = measured(t, nil, "--budget", "1m", "--candidate", fakeArm(t, "row missing"))
	p.run(exitInvalid)
	p.has("stderr", p.stderr.String(), "pilot of --budget: the run is not verified", `rid "end-`)
	p.noFolder()
}

// measured is measure without a number of rounds.
func measured(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := measure(t, env, args...)
	at := slices.Index(p.cmd.Args, "--rounds")
	p.cmd.Args = slices.Delete(p.cmd.Args, at, at+2)
	return p
}

// noFolder wants no run folder, and nothing on standard output.
func (p *program) noFolder() {
	p.t.Helper()
	if fileExists(p.output) || p.stdout.Len() > 0 {
		p.t.Errorf("a run folder was made, or stdout written: %s", &p.stdout)
	}
}

package results

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"
)

// disturbedRun has one cell and nine rounds; rounds 2 and 5 are disturbed, and no
// trial knows of the frequency.
func disturbedRun(t testing.TB) string {
	p := handPlan(9, 2)
	r := create(t, p)
	for i, trial := range trialsOf(p, source()) {
		d := &Disturbance{
			StealTicks: ref(int64(0)), PressureUS: ref(int64(1000 + 10*i)), Involuntary: ref(int64(10 + i%3)), Voluntary: ref(int64(100 + i)),
		}
		switch {
		case trial.Round == 2 && trial.Position == 0:
			d.StealTicks, d.PressureUS = ref(int64(9)), ref(int64(90_000))
		case trial.Round == 5 && trial.Arm == Candidate:
			d.Involuntary = ref(int64(400))
			trial.CompleteMS, trial.OuterMS = 3*trial.CompleteMS, 3*trial.OuterMS
		case trial.Round == 7 && trial.Position == 0:
			d.StealTicks = ref(int64(1)) // not above the floor
		}
		trial.Disturbance = d
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.WarmupRows = p.WarmupRows()
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

// partlyDisturbedRun lacks steal in one trial, and shares its first cell's shape.
func partlyDisturbedRun(t testing.TB) string {
	p := handPlan(6, 1)
	r := create(t, p)
	for i, trial := range trialsOf(p, source()) {
		trial.Disturbance = &Disturbance{PressureUS: ref(int64(500)), Involuntary: ref(int64(i)), LowestKHz: ref(int64(2_000_000)), HighestKHz: ref(int64(3_000_000 + 1000*int64(i)))}
		if i != 9 {
			trial.Disturbance.StealTicks = ref(int64(4))
		}
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.WarmupRows = p.WarmupRows()
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

func TestExplainGoldens(t *testing.T) {
	for name, k := range map[string]struct {
		run func(testing.TB) string
		opt ExplainOptions
	}{
		"explain-disturbed":  {disturbedRun, ExplainOptions{}},
		"explain-partly":     {partlyDisturbedRun, ExplainOptions{Metric: "first_ms"}},
		"explain-without":    {exampleRun, ExplainOptions{Count: 32, Metadata: "rich", Metric: "worker_cpu_ms"}},
		"explain-control":    {controlledRun, ExplainOptions{Count: 32, Metadata: "rich"}},
		"explain-incomplete": {func(t testing.TB) string { return brokenRun(t, StatusIncomplete) }, ExplainOptions{}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Read(k.run(t))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", explainText(t, f, k.opt))
		})
	}
}

// controlledRun is that of an anytime plan with a control, which ends early.
func controlledRun(t testing.TB) string {
	p := withFamily()
	p.Kind, p.Primary = KindAnytime, p.Primary[:1]
	r, out := familyRun(t, p, nil)
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

func explainText(t *testing.T, f *Folder, opt ExplainOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Explain(&b, f, opt); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Without options every cell is explained; each option chooses.
func TestExplainChooses(t *testing.T) {
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for want, opt := range map[int]ExplainOptions{4: {}, 2: {Count: 1}, 1: {Count: 32, Metadata: "plain", Metric: "spread_ms"}} {
		if got := strings.Count(explainText(t, f, opt), "\ncount "); got != want {
			t.Errorf("%+v explains %d cells, want %d", opt, got, want)
		}
	}
	for want, opt := range map[string]ExplainOptions{
		"count is 7, want one of [1 32]":      {Count: 7},
		`metadata is "odd"`:                   {Metadata: "odd"},
		`metric is "speed", want one of ["co`: {Metric: "speed"},
	} {
		wantError(t, Explain(&bytes.Buffer{}, f, opt), want)
	}
	wantError(t, Explain(failingWriter{}, f, ExplainOptions{}), "closed pipe")
	*f.Result.Summary[2].ReferenceMS += 1
	wantError(t, Explain(&bytes.Buffer{}, f, ExplainOptions{}), "recomputed")
}

// A run that was not verified shows its failure and no time.
func TestExplainUnverified(t *testing.T) {
	for _, status := range []string{StatusInvalid, StatusIncomplete} {
		f, err := Read(brokenRun(t, status))
		if err != nil {
			t.Fatal(err)
		}
		got := explainText(t, f, ExplainOptions{})
		if strings.Contains(got, "_ms") || strings.Contains(got, "reduction") || !strings.Contains(got, f.Result.Verdict.Failure.Message) {
			t.Errorf("%s:\n%s", status, got)
		}
	}
}

// The figures without the disturbed rounds are those of a run that never had
// them.
func TestExplainLeavesRoundsOut(t *testing.T) {
	f, err := Read(disturbedRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range f.Result.Summary {
		e, err := explainRow(f.Plan, f.Trials, row)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(e.excluded, []int{2, 5}) || !slices.Equal(e.rounds[2].disturbed, []string{"steal", "pressure"}) || !slices.Equal(e.rounds[5].disturbed, []string{"switches"}) {
			t.Fatalf("%s: excluded %v, for %v and %v", row.Metric, e.excluded, e.rounds[2].disturbed, e.rounds[5].disturbed)
		}
		p := f.Plan
		p.Rounds = 7
		var kept []Trial
		for _, trial := range f.Trials {
			switch {
			case trial.Round == 2 || trial.Round == 5 || trial.Round < 0:
				continue
			case trial.Round > 5:
				trial.Round -= 2
			case trial.Round > 2:
				trial.Round--
			}
			kept = append(kept, trial)
		}
		want, err := summarizeMetric(p, kept, row.Metric, Candidate)
		if err != nil {
			t.Fatal(err)
		}
		want.Count, want.Metadata, want.Metric, want.Counters = row.Count, row.Metadata, row.Metric, row.Counters
		if err := sameFields(*e.without, want); err != nil {
			t.Errorf("%s: %v", row.Metric, err)
		}
	}
}

// beyond against the rule spelled out with sorting and counting.
func TestBeyond(t *testing.T) {
	middle := func(x []float64) float64 {
		x = slices.Sorted(slices.Values(x))
		return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
	}
	rng := rand.New(rand.NewPCG(3, 4))
	marked := 0
	if err := quick.Check(func(seed uint8) bool {
		values := make([]float64, 1+rng.IntN(12))
		for i := range values {
			values[i] = float64(rng.IntN(20))
			if rng.IntN(5) == 0 {
				values[i] += 200
			}
		}
		floor, m := float64(rng.IntN(100)), middle(values)
		var distances []float64
		for _, v := range values {
			distances = append(distances, math.Abs(v-m))
		}
		var want []int
		for i, v := range values {
			if v-m > floor && v-m > 5*middle(distances) {
				want = append(want, i)
			}
		}
		marked += len(want)
		got := beyond(values, floor)
		if !slices.Equal(got, want) {
			fmt.Printf("%v, floor %v: %v, want %v\n", values, floor, got, want)
		}
		return slices.Equal(got, want) && 2*len(got) < len(values)
	}, &quick.Config{MaxCount: 2000}); err != nil || marked < 100 {
		t.Errorf("%v; %d were marked in all", err, marked)
	}
}

// A wall clock that was set back in mid-run changes nothing but the times of day.
func TestWallClockSetBack(t *testing.T) {
	p := handPlan(6, 1)
	r := create(t, p)
	for i, trial := range trialsOf(p, source()) {
		if i >= 5 {
			trial.StartedAt = trial.StartedAt.Add(-48 * time.Hour)
		}
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.WarmupRows = p.WarmupRows()
	out.Environment.EndedAt = out.Environment.StartedAt.Add(-47 * time.Hour)
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	if names, details := failed(t, r.Dir(), VerifyOptions{}); len(names) > 0 {
		t.Error(details)
	}
	f, err := Read(r.Dir())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Summarize(p, trialsOf(p, source()))
	if err != nil || sameRows(rows, f.Result.Summary) != nil {
		t.Errorf("other figures than with a clock that goes on: %v", err)
	}
	_ = explainText(t, f, ExplainOptions{})
}

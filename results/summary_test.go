package results

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// handPlan has one cell, so its figures can be worked out by hand.
func handPlan(rounds, repetitions int) Plan {
	p := examplePlan()
	p.Counts, p.Metadata, p.Rounds, p.Repetitions = []int{2}, []string{"plain"}, rounds, repetitions
	p.First = slices.Repeat([]string{Reference}, rounds+1)
	p.RowsPerRun, p.FencePerRun = 6*p.Len(), 12*p.Len()
	return p
}

// Two repetitions of nine rounds. Means of the reference 100 (90 and 110), of
// the candidate 90, 80, ... 10: reductions 10, 20, ... 90, their median 50, the
// second and eighth 20 and 80.
func TestFiguresByHand(t *testing.T) {
	p := handPlan(9, 2)
	var trials []Trial
	for _, trial := range trialsOf(p, source()) {
		trial.OuterMS = 1e6
		trial.FirstMS, trial.FirstAllMS, trial.SpreadMS = nil, ref(0.0), ref(1.0)
		switch {
		case trial.Round < 0:
			trial.CompleteMS = 12345 // would move every figure
		case trial.Arm == Reference:
			trial.CompleteMS = 90 + 20*float64(trial.Repetition)
		default:
			trial.CompleteMS = 90 - 10*float64(trial.Round)
		}
		trials = append(trials, trial)
	}
	rows, err := Summarize(p, trials)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(Metrics) {
		t.Fatalf("%d rows", len(rows))
	}
	got := rows[0]
	if got.Count != 2 || got.Metadata != "plain" || got.Metric != "complete_ms" {
		t.Errorf("the first row is %d %s %s", got.Count, got.Metadata, got.Metric)
	}
	if *got.ReferenceMS != 100 || *got.CandidateMS != 50 || got.FasterRounds != 9 || got.Rounds != 9 {
		t.Errorf("reference %v, candidate %v, faster %d/%d", *got.ReferenceMS, *got.CandidateMS, got.FasterRounds, got.Rounds)
	}
	near(t, "median reduction", *got.MedianPairedReductionPct, 50)
	for i, r := range got.Reductions {
		near(t, fmt.Sprintf("reduction of round %d", i), *r, float64(10*(i+1)))
	}
	for name, ci := range map[string]*Interval{"order": got.OrderCI, "bootstrap": got.BootstrapCI} {
		near(t, name+" low", ci.Low, 20)
		near(t, name+" high", ci.High, 80)
		near(t, name+" level", *ci.Level, 1-2*(1.0+9)/512)
	}
	if got.Counters[Candidate]["opaque_decodes"] != 4 || got.Counters[Reference]["messages"] != 2 {
		t.Errorf("counters %v", got.Counters)
	}
	// A metric that no trial has, and one whose reference is 0.
	if null := rows[1]; null.ReferenceMS != nil || null.MedianPairedReductionPct != nil || null.BootstrapCI != nil || null.OrderCI != nil || null.Rounds != 0 || len(null.Reductions) != 9 {
		t.Errorf("first_ms is %+v", null)
	}
	if zero := rows[2]; *zero.ReferenceMS != 0 || zero.MedianPairedReductionPct != nil || zero.Reductions[0] != nil || zero.Rounds != 0 {
		t.Errorf("first_all_ms is %+v", zero)
	}
	if equal := rows[3]; *equal.MedianPairedReductionPct != 0 || equal.FasterRounds != 0 || equal.Rounds != 9 {
		t.Errorf("spread_ms is %+v", equal)
	}
}

func near(t *testing.T, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

// twinRow computes a row by loops and sorting, sharing no code. Values are
// whole numbers, so no order of additions can change a sum.
func twinRow(p Plan, trials []Trial, count int, metadata, metric string) map[string]any {
	column := map[string]func(Trial) *float64{
		"complete_ms":   func(t Trial) *float64 { return &t.CompleteMS },
		"first_ms":      func(t Trial) *float64 { return t.FirstMS },
		"first_all_ms":  func(t Trial) *float64 { return t.FirstAllMS },
		"spread_ms":     func(t Trial) *float64 { return t.SpreadMS },
		"worker_cpu_ms": func(t Trial) *float64 { return t.WorkerCPUMS },
	}[metric]
	means := map[string][]any{}
	counters := map[string]map[string]float64{}
	for _, arm := range []string{Reference, Candidate} {
		all, trialsSeen := map[string]float64{}, 0.0
		for round := range p.Rounds {
			total, missing := 0.0, false
			for _, t := range trials {
				if t.Round != round || t.Count != count || t.Metadata != metadata || t.Arm != arm {
					continue
				}
				trialsSeen++
				for k, v := range t.Counters {
					all[k] += v
				}
				if v := column(t); v == nil {
					missing = true
				} else {
					total += *v
				}
			}
			if missing {
				means[arm] = append(means[arm], nil)
			} else {
				means[arm] = append(means[arm], total/float64(p.Repetitions))
			}
		}
		for k := range all {
			all[k] /= trialsSeen
		}
		counters[arm] = all
	}
	reductions, known, faster := []any{}, []any{}, 0
	for i := range p.Rounds {
		r, okR := means[Reference][i].(float64)
		c, okC := means[Candidate][i].(float64)
		if !okR || !okC || r == 0 {
			reductions = append(reductions, nil)
			continue
		}
		x := 100 * (1 - c/r)
		reductions, known = append(reductions, x), append(known, x)
		if c < r {
			faster++
		}
	}
	return map[string]any{
		"count": count, "metadata": metadata, "metric": metric,
		"reference_ms": twinMedian(means[Reference]), "candidate_ms": twinMedian(means[Candidate]),
		"median_paired_reduction_pct": twinMedian(known), "faster_rounds": faster, "rounds": len(known),
		"reductions": reductions, "counters": counters,
		"order_ci": twinOrderCI(known), "bootstrap_ci": twinBootstrap(known),
	}
}

func twinSorted(x []any) (out []float64) {
	for _, v := range x {
		if v != nil {
			out = append(out, v.(float64))
		}
	}
	sort.Float64s(out)
	return out
}

func twinMedian(x []any) any {
	s := twinSorted(x)
	if len(s) == 0 {
		return nil
	}
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// twinOrderCI reads the ranks from the published table.
func twinOrderCI(x []any) any {
	s := twinSorted(x)
	k := map[int]int{6: 1, 7: 1, 8: 1, 9: 2, 10: 2}[len(s)]
	if k == 0 {
		return nil
	}
	below := map[int]float64{1: 1, 2: 1 + float64(len(s))}[k]
	return map[string]any{"low": s[k-1], "high": s[len(s)-k], "level": 1 - 2*below/math.Pow(2, float64(len(s)))}
}

// twinBootstrap goes through every resample, up to five values; "skip" beyond.
func twinBootstrap(x []any) any {
	s := twinSorted(x)
	n := len(s)
	if n == 0 {
		return nil
	}
	if n > 5 {
		return "skip"
	}
	var medians []float64
	total := int(math.Pow(float64(n), float64(n)))
	for code := range total {
		var draw []any
		for range n {
			draw, code = append(draw, s[code%n]), code/n
		}
		medians = append(medians, twinMedian(draw).(float64))
	}
	sort.Float64s(medians)
	// The first value that holds 2.5 % of the resamples at or below it.
	at := int(math.Ceil(float64(total)*25/1000)) - 1
	out := map[string]any{"low": medians[at], "high": medians[total-1-at], "level": nil}
	if n%2 == 1 {
		out["level"] = map[int]float64{1: 0, 3: 0.75, 5: 0.9375}[n]
	}
	return out
}

func TestSummaryAgainstTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 60 {
		p := examplePlan()
		p.Rounds, p.Repetitions = 1+rng.IntN(10), 1+rng.IntN(3)
		p.First = slices.Repeat([]string{Candidate}, p.Rounds+1)
		p.RowsPerRun, p.FencePerRun = 3*33*2*2*(p.Rounds+1)*p.Repetitions, 12*p.Len()
		trials := trialsOf(p, rng)
		for k := range trials {
			randomize(&trials[k], rng)
		}
		rows, err := Summarize(p, trials)
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, count := range p.Counts {
			for _, metadata := range p.Metadata {
				for _, metric := range Metrics {
					want := twinRow(p, trials, count, metadata, metric)
					if want["bootstrap_ci"] == "skip" {
						want["bootstrap_ci"] = rows[at].BootstrapCI
					}
					if got, want := canonical(t, rows[at]), canonical(t, want); got != want {
						t.Fatalf("plan %d:\n got %s\nwant %s", i, got, want)
					}
					at++
				}
			}
		}
		if at != len(rows) {
			t.Fatalf("%d rows, want %d", len(rows), at)
		}
	}
}

// randomize gives whole numbers with many ties, zeros and nulls.
func randomize(t *Trial, rng *rand.Rand) {
	t.OuterMS = 1e9
	t.CompleteMS = float64(8 + rng.IntN(8))
	value := func() *float64 {
		if rng.IntN(12) == 0 {
			return nil
		}
		return ref(float64(rng.IntN(8)))
	}
	t.FirstMS, t.FirstAllMS, t.SpreadMS, t.WorkerCPUMS = value(), value(), value(), value()
	t.Counters = map[string]float64{"messages": float64(rng.IntN(50))}
	if t.Arm == Candidate {
		t.Counters["opaque_decodes"] = float64(rng.IntN(3))
	}
}

// canonical is v with sorted keys.
func canonical(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var any any
	if err := json.Unmarshal(b, &any); err != nil {
		t.Fatal(err)
	}
	if b, err = json.Marshal(any); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSummarizeRefuses(t *testing.T) {
	p := examplePlan()
	for _, c := range []struct {
		name   string
		change func([]Trial) []Trial
		says   []string
	}{
		{"none", func([]Trial) []Trial { return nil }, []string{"0 of 160 trials", "round -1, repetition 0, count 1"}},
		{"last missing", func(x []Trial) []Trial { return x[:159] }, []string{"159 of 160", "round 8", "arm reference"}},
		{"one missing", func(x []Trial) []Trial { return slices.Delete(x, 20, 21) }, []string{"trial 21 is", "want"}},
		{"surplus", func(x []Trial) []Trial { return append(x, x[159]) }, []string{"trial 161", "surplus"}},
		{"doubled", func(x []Trial) []Trial { return slices.Insert(x, 3, x[3]) }, []string{"trial 5 is"}},
		{"swapped", func(x []Trial) []Trial { x[0], x[1] = x[1], x[0]; return x }, []string{"trial 1 is", "candidate"}},
		{"more rows", func(x []Trial) []Trial { x[100].Rows++; return x }, []string{"trial 101", "rows is"}},
		{"other fence", func(x []Trial) []Trial { x[100].FenceRows = 13; return x }, []string{"trial 101", "fence_rows is 13"}},
		{"counter gone", func(x []Trial) []Trial { delete(x[100].Counters, "messages"); return x }, []string{"counters", "messages"}},
		{"not finite", func(x []Trial) []Trial { x[5].CompleteMS = math.NaN(); return x }, []string{"trial 6", "complete_ms is NaN"}},
		{"negative", func(x []Trial) []Trial { x[5].FirstMS = ref(-1.0); return x }, []string{"first_ms is -1"}},
		{"longer than outside", func(x []Trial) []Trial { x[5].CompleteMS = x[5].OuterMS + 1; return x }, []string{"complete_ms", "outer_ms"}},
		{"longer than whole", func(x []Trial) []Trial { x[5].SpreadMS = ref(x[5].CompleteMS + 1); return x }, []string{"spread_ms", "complete_ms"}},
		{"hash", func(x []Trial) []Trial { x[5].WorkSHA256 = "AB"; return x }, []string{"work_sha256", "64"}},
		{"fewer rows all over", func(x []Trial) []Trial {
			for i := range x {
				x[i].Rows = 2 * x[i].Count
			}
			return x
		}, []string{"the trials have 5280 rows, the plan 7920"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Summarize(p, c.change(trialsOf(p, source())))
			wantError(t, err, c.says...)
		})
	}
}

package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// decided is the example with a family and an analysis made by hand: one cell of
// every kind, a control, and text that would be markup.
func decided(t testing.TB) *Folder {
	t.Helper()
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	f.Dir = "runs/a run" // what stands in the reports must not depend on the machine
	f.Plan.MarginPct = 5
	f.Plan.Primary = DefaultPrimary(f.Plan.Counts, f.Plan.Metadata)
	f.Result.Verdict.Decision, f.Result.Verdict.Reason = DecisionImproved, "32 rich complete_ms is faster, and none is slower"
	f.Result.Verdict.Warnings = []string{"the idle arm used <b>3 ms</b> of CPU in round 2"}
	f.Result.Analysis = &Analysis{
		Decision: DecisionImproved, Reason: "32 rich complete_ms is faster, and none is slower", Level: 0.95, Rounds: 9, Flips: 512,
		Primary: []PrimaryAnalysis{
			{Count: 32, Metadata: "rich", Metric: "complete_ms", Role: RoleSuperiority, Decision: DecisionImproved, Reason: "p is 0.0039, and the estimate is below 0",
				SlowdownPct: ref(-24.5012), LowerPct: ref(-29.25), UpperPct: ref(-20.75), P: ref(0.00390625), SpreadPct: ref(4.5), SmallestEffectPct: ref(3.21), Lag1: ref(0.125), PositionP: ref(0.5)},
			{Count: 32, Metadata: "rich", Metric: "worker_cpu_ms", Role: RoleSuperiority, Decision: DecisionInconclusive, Reason: "the bounds are on both sides of the margin | *wide*",
				SlowdownPct: ref(-1.5), LowerPct: ref(-8.0), UpperPct: ref(6.25), P: ref(0.75), SmallestEffectPct: ref(7.5), RoundsNeeded: ref(20)},
			{Count: 32, Metadata: "rich", Metric: "first_ms", Role: RoleNonInferiority, Decision: DecisionNotInferior, Reason: "the upper bound is within the margin",
				SlowdownPct: ref(0.0), UpperPct: ref(2.5)},
		},
		Control: &ControlAnalysis{Reason: "no cell differs", Primary: []PrimaryAnalysis{
			{Count: 32, Metadata: "rich", Metric: "complete_ms", Role: RoleSuperiority, Decision: DecisionEquivalent, Reason: "both bounds are within the margin"},
		}},
		Effects: []Effect{{Count: 32, Metadata: "rich", Metric: "complete_ms", SlowdownPct: ref(-24.75), CI: &Interval{Low: -28, High: -22.5, Level: ref(0.960938)}}},
	}
	return f
}

// unchecked is the report without a look at the trials, of which a hand-made
// analysis is no function.
func unchecked(t testing.TB, f *Folder, format string) string {
	t.Helper()
	b, err := f.report(format)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A run with a family, its analysis and its control is reported in every format,
// fixed and anytime.
func TestReportGoldensFamily(t *testing.T) {
	fixed, anytime := withFamily(), withFamily()
	anytime.Kind = KindAnytime
	for name, p := range map[string]Plan{"family": fixed, "family-anytime": anytime} {
		r, out := familyRun(t, p, nil)
		result, err := r.Finish(out)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(r.Dir())
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats {
			got := reported(t, f, format)
			golden(t, name+"."+endings[format], strings.ReplaceAll(got, f.Dir, "DIR"))
			if !strings.Contains(got, result.Verdict.Decision) {
				t.Errorf("%s as %s does not say %s", name, format, result.Verdict.Decision)
			}
		}
		if got := strings.Count(reported(t, f, "bench"), "\nBenchmark"); got != 3*4*result.Rounds {
			t.Errorf("%s: %d benchmark lines, want one of %d rounds, 4 cells and 3 arms", name, got, result.Rounds)
		}
	}
}

func TestReportGoldensDecided(t *testing.T) {
	f := decided(t)
	for _, format := range Formats {
		golden(t, "decided."+endings[format], unchecked(t, f, format))
	}
	f.Plan.Kind = KindAnytime
	f.Result.Analysis.Control.Failed = true
	f.Result.Analysis.Primary[0].P, f.Result.Analysis.Primary[0].EValue = nil, ref(60.235)
	golden(t, "anytime.md", unchecked(t, f, "markdown"))
}

// The first line of Markdown and of text is the verdict, and every cell's
// decision stands in every format.
func TestDecisionInEveryFormat(t *testing.T) {
	f := decided(t)
	for _, format := range []string{"text", "markdown", "csv", "json"} {
		got := unchecked(t, f, format)
		for _, c := range f.Result.Analysis.Primary {
			if !strings.Contains(got, c.Decision) {
				t.Errorf("%s lacks the decision %s of %s:\n%s", format, c.Decision, c.Metric, got)
			}
		}
		first, _, _ := strings.Cut(got, "\n")
		if (format == "text" || format == "markdown") && !strings.Contains(first, "candidate is faster") {
			t.Errorf("%s begins with %q, want the verdict", format, first)
		}
	}
}

// Columns and keys of a run without an analysis are the first ones of a run with
// one, in the same order.
func TestOldColumnsStay(t *testing.T) {
	f := decided(t)
	with := unchecked(t, f, "csv")
	f.Result.Analysis = nil
	without := unchecked(t, f, "csv")
	a, err := csv.NewReader(strings.NewReader(with)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	b, err := csv.NewReader(strings.NewReader(without)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if !slices.Equal(a[i][:len(b[i])], b[i]) {
			t.Errorf("line %d begins %q, want %q", i, a[i], b[i])
		}
		if added := a[i][len(b[i]):]; len(added) != len(primaryColumns) {
			t.Errorf("line %d ends with %q, want %d columns", i, added, len(primaryColumns))
		}
	}
	keys := func(doc string) []string {
		d := json.NewDecoder(strings.NewReader(doc))
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		var keys []string
		for d.More() {
			k, err := d.Token()
			var v json.RawMessage
			if err == nil {
				err = d.Decode(&v)
			}
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k.(string))
		}
		return keys
	}
	old := keys(unchecked(t, f, "json"))
	f = decided(t)
	if got := keys(unchecked(t, f, "json")); !slices.Equal(got[:len(old)], old) || len(got) == len(old) {
		t.Errorf("keys are %q, want %q first and more behind", got, old)
	}
}

// CSV and JSON lose no digit of the analysis.
func TestReportsKeepAnalysis(t *testing.T) {
	f := decided(t)
	var back struct {
		Analysis *Analysis `json:"analysis"`
	}
	if err := json.Unmarshal([]byte(unchecked(t, f, "json")), &back); err != nil {
		t.Fatal(err)
	}
	if back.Analysis == nil || !reflect.DeepEqual(back.Analysis.Primary, f.Result.Analysis.Primary) {
		t.Errorf("analysis is %+v, want %+v", back.Analysis, f.Result.Analysis)
	}
	want := ",superiority,improved,-24.5012,-29.25,-20.75,0.00390625,,4.5,3.21,,0.125,0.5\n"
	if got := unchecked(t, f, "csv"); strings.Count(got, want) != 1 {
		t.Errorf("csv lacks %q:\n%s", want, got)
	}
}

// A sentence for every decision, and for runs that are not verified.
func TestConclusions(t *testing.T) {
	seen := map[string]bool{}
	for _, decision := range Decisions {
		got := Result{Verdict: Verdict{Status: StatusVerified, Decision: decision}}.Conclusion()
		if !strings.Contains(got, "("+decision+")") || !strings.HasSuffix(got, ".") || seen[got] {
			t.Errorf("%s is concluded as %q", decision, got)
		}
		seen[got] = true
	}
	for _, status := range []string{StatusInvalid, StatusIncomplete} {
		if got := (Result{Verdict: Verdict{Status: status, Decision: DecisionImproved}}).Conclusion(); !strings.Contains(got, status) || strings.Contains(got, "faster") {
			t.Errorf("%s is concluded as %q", status, got)
		}
	}
}

// A run that is not verified shows no analysis, whatever its result holds.
func TestNoAnalysisUnverified(t *testing.T) {
	f := decided(t)
	f.Result.Verdict = Verdict{Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: "a row differs"}}
	for _, format := range Formats {
		if got := unchecked(t, f, format); strings.Contains(got, "24.5") || strings.Contains(got, DecisionImproved) || strings.Contains(got, "Benchmark") {
			t.Errorf("%s shows an analysis:\n%s", format, got)
		}
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"--seed": "--seed", "$TREE/x": "$TREE/x", "exec:python3 a.py": "'exec:python3 a.py'", "it's": `'it'\''s'`, "a\nb": `'a\x0ab'`, "": "''", "a;b": "'a;b'",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q is quoted as %s, want %s", word, got, want)
		}
	}
	if got := fenced("a ``` b"); !strings.HasPrefix(got, "````\n") {
		t.Errorf("fenced as %q", got)
	}
}

// The benchmark lines are the rounds: as many for each cell and arm, and their
// medians are those of the summary.
func TestBenchHasEveryRound(t *testing.T) {
	f := decided(t)
	values := map[string][]float64{}
	arm := ""
	for line := range strings.Lines(unchecked(t, f, "bench")) {
		words := strings.Fields(line)
		if words[0] == "arm:" {
			arm = words[1]
		}
		if !bytes.HasPrefix([]byte(line), []byte("Benchmark")) {
			continue
		}
		for i := 2; i < len(words); i += 2 {
			v, err := strconv.ParseFloat(words[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			key := words[0] + " " + words[i+1] + " " + arm
			values[key] = append(values[key], v/1e6)
		}
	}
	for _, row := range f.Result.Summary {
		for arm, want := range map[string]*float64{Reference: row.ReferenceMS, Candidate: row.CandidateMS} {
			key := "BenchmarkFanout/count=" + strconv.Itoa(row.Count) + "/metadata=" + row.Metadata + " " + benchUnits[row.Metric] + " " + arm
			if want == nil {
				if len(values[key]) > 0 {
					t.Errorf("%s: %v, want none", key, values[key])
				}
				continue
			}
			if len(values[key]) != f.Plan.Rounds {
				t.Errorf("%s: %d rounds, want %d", key, len(values[key]), f.Plan.Rounds)
			}
			if got := *median(values[key]); got < *want*(1-1e-12) || got > *want*(1+1e-12) {
				t.Errorf("%s: median %v, want %v", key, got, *want)
			}
		}
	}
}

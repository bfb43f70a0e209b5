package batchrun

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files and schemas anew")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was, go test ./results/batchrun -rewrite writes it anew:\n%s", path, got)
	}
}

// reported is the report of an example as it is read back, with a name for its
// folder.
func reported(t *testing.T, dir, format string) string {
	t.Helper()
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Report(&b, f, format); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), dir, "DIR")
}

func TestReports(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(9), nil)
	for _, format := range Formats {
		golden(t, "verified."+format, reported(t, dir, format))
	}
	late, _ := exampleRun(t, examplePlan(3), func(trial *Trial, q []Request) {
		if trial.Cell == 2 && trial.Round == 1 {
			trial.Valid, trial.Reasons = false, []string{"lateness: the 99th percentile is 3 ms, want at most 1 ms"}
			trial.Disturbance = stolen(7)
			q[5].Error, q[5].Status, q[5].DoneMS = "timed out", 0, nil
		}
	})
	golden(t, "invalid.text", reported(t, late, "text"))
	r := begin(t, examplePlan(3))
	out := exampleOutcome(r.plan)
	out.Failure = "the server of the candidate <died>"
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	golden(t, "incomplete.markdown", reported(t, r.Dir(), "markdown"))
}

// A headline of one word would hide that the candidate is faster by one measure and slower by another.
func TestConclusionSaysBoth(t *testing.T) {
	dir, result := exampleRun(t, examplePlan(9), func(trial *Trial, q []Request) {
		for i := range q {
			if trial.Arm == Reference {
				*q[i].LeadingMS *= 0.25
			}
		}
	})
	if result.Verdict.Decision != results.DecisionRegressed {
		t.Fatalf("the example is decided as %s, want %s", result.Verdict.Decision, results.DecisionRegressed)
	}
	want := "VALID. The candidate is faster by one measure and slower by another: single 50 items avg_ms 49.9 % faster, " +
		"poisson 50 items 10 rps p50_ms 49.9 % faster; poisson 50 items 10 rps leading_ms 100.0 % slower. " +
		"As a whole it is regressed, since one slower primary cell is enough."
	if got := reported(t, dir, "text"); !strings.Contains(got, want) {
		t.Errorf("the report begins %.400q, want %q", got, want)
	}
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	f.Result.Analysis.Primary[0].Decision = results.DecisionInconclusive
	if got, want := f.Conclusion(), "% slower; inconclusive: single 50 items avg_ms. As a whole"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
	f.Result.Analysis.Primary[1].Decision = results.DecisionInconclusive
	if got := f.Conclusion(); !strings.HasPrefix(got, "VALID. The candidate is slower than the reference (regressed)") {
		t.Errorf("where none is faster: %q", got)
	}
}

// One of a thing is one, of a thing of which there may be more.
func TestCounted(t *testing.T) {
	p := examplePlan(1)
	p.Rounds, p.UniqueRequests, p.Cells = 1, 1, p.Cells[:1]
	f := &Folder{Plan: p, Result: Result{Requests: 16, Trials: 2}}
	header := f.Header()
	if got, want := header[3][1], "16 in 2 trials: 1 round, 1 cell, 2 arms, "; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := header[4][1], "score, 120 + 180 tokens an item, 1 different request, seed 7"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The CSV begins with the published columns, has every figure in full, and one line
// for each cell and arm.
func TestSummaryCSV(t *testing.T) {
	dir, result := exampleRun(t, examplePlan(3), nil)
	b, err := os.ReadFile(filepath.Join(dir, SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	published := "target_rps,item_count,avg_response_time_ms,p50_response_time_ms,p90_response_time_ms,p99_response_time_ms,Method,"
	if !strings.HasPrefix(string(b), published) {
		t.Errorf("summary.csv begins %.140q, want the published columns", b)
	}
	lines, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil || len(lines) != 7 {
		t.Fatalf("%d lines (%v), want a head and 6", len(lines), err)
	}
	for i, f := range result.Figures {
		line := map[string]string{}
		for c, name := range lines[0] {
			line[name] = lines[i+1][c]
		}
		for name, v := range map[string]*float64{
			"avg_response_time_ms": f.Response.AvgMS, "p99_response_time_ms": f.Response.P99.MS, "p90_low_ms": f.Response.P90.Low,
			"p99_level": f.Response.P99.Level, "all_p50_ms": f.AllP50MS, "p90_service_ms": f.Service.P90.MS, "leading_ms": f.LeadingMS, "max_ms": f.Response.MaxMS,
		} {
			want := ""
			if v != nil {
				w, err := json.Marshal(*v)
				if err != nil {
					t.Fatal(err)
				}
				want = string(w)
			}
			if line[name] != want {
				t.Errorf("line %d, %s is %q, want %q", i+1, name, line[name], want)
			}
		}
		if line["Method"] != []string{"builtin:individual", "builtin:batch"}[i%2] || (line["target_rps"] == "") != (line["kind"] == KindSingle) {
			t.Errorf("line %d is of %s, %s at %s", i+1, line["Method"], line["kind"], line["target_rps"])
		}
	}
}

// A report shows no figure that does not follow, and knows its formats.
func TestReportRefuses(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(3), nil)
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Report(&bytes.Buffer{}, f, "xml"); err == nil || !strings.Contains(err.Error(), `"xml"`) {
		t.Errorf("format xml: %v", err)
	}
	f.Result.Figures = slices.Clone(f.Result.Figures)
	f.Result.Figures[0].Failed = 3
	if err := Report(&bytes.Buffer{}, f, "text"); err == nil || !strings.Contains(err.Error(), "figures") {
		t.Errorf("a figure that does not follow: %v", err)
	}
	if f.Result.Verdict.Status != results.StatusVerified {
		t.Error("the example is not verified")
	}
}

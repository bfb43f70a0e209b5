package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// runs for the goldens: what each is there for is its name.
var goldenRuns = map[string]func(testing.TB) string{
	"verified":   exampleRun,
	"invalid":    func(t testing.TB) string { return brokenRun(t, StatusInvalid) },
	"incomplete": func(t testing.TB) string { return brokenRun(t, StatusIncomplete) },
	"exec":       execRun,
	"trees":      pooledRun,
}

// execRun has a candidate with its own clock, and a warning.
func execRun(t testing.TB) string {
	p := handPlan(6, 1)
	p.Candidate.Spec = "exec:python3 examples/arm.py"
	p.Process = ProcessRun
	r := create(t, p)
	for _, trial := range trialsOf(p, source()) {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	out.WarmupRows = 12
	out.Arms[Candidate] = Arm{Spec: p.Candidate.Spec, Runtime: "example", Strategy: "per-row", ZMQ: "pyzmq", OwnClock: true}
	out.Verdict.Warnings = []string{"the idle arm used 3 ms of CPU in round 2"}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

var endings = map[string]string{"text": "txt", "markdown": "md", "csv": "csv", "json": "json", "bench": "bench"}

func TestReportGoldens(t *testing.T) {
	for name, make := range goldenRuns {
		f, err := Read(make(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats {
			t.Run(name+" "+format, func(t *testing.T) {
				var b bytes.Buffer
				if err := Report(&b, f, format); err != nil {
					t.Fatal(err)
				}
				golden(t, name+"."+endings[format], b.String())
			})
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "report", name)
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -rewrite writes it anew); got\n%s", path, got)
	}
}

func reported(t *testing.T, f *Folder, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Report(&b, f, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A run that was not verified shows no timing in any format, and all of its
// failure.
func TestNoTimingUnverified(t *testing.T) {
	for _, status := range []string{StatusInvalid, StatusIncomplete} {
		f, err := Read(brokenRun(t, status))
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range Formats {
			got := reported(t, f, format)
			for _, never := range []string{"_ms", "reference ms", "reduction", "Benchmark", shortest(&f.Trials[0].CompleteMS)} {
				if strings.Contains(got, never) {
					t.Errorf("%s of an %s run shows %q:\n%s", format, status, never, got)
				}
			}
			if !strings.Contains(got, f.Result.Verdict.Failure.Message) {
				t.Errorf("%s does not show the failure:\n%s", format, got)
			}
			if status == StatusInvalid {
				for _, want := range []string{Candidate, "32", "rich", "rid-17", "strs", "a b c"} {
					if !strings.Contains(got, want) {
						t.Errorf("%s does not show %q of the failure:\n%s", format, want, got)
					}
				}
			}
		}
	}
}

// Nor does a result that was made in memory and never checked.
func TestNoTimingUnverifiedInMemory(t *testing.T) {
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	f.Result.Verdict = Verdict{Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: "a row differs"}}
	for _, format := range Formats {
		if got := reported(t, f, format); strings.Contains(got, shortest(f.Result.Summary[0].ReferenceMS)) || strings.Contains(got, "complete_ms") {
			t.Errorf("%s shows times:\n%s", format, got)
		}
	}
}

func TestOwnClockInEveryFormat(t *testing.T) {
	f, err := Read(execRun(t))
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"text": "OWN CLOCK", "markdown": "OWN CLOCK", "csv": "candidate_own_clock", "json": `"own_clock": true`,
	} {
		if got := reported(t, f, format); !strings.Contains(got, want) {
			t.Errorf("%s does not say %q:\n%s", format, want, got)
		}
	}
	lines, err := csv.NewReader(strings.NewReader(reported(t, f, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1+len(Metrics) || lines[1][13] != "true" || lines[1][9] != "false" {
		t.Errorf("csv is %q", lines)
	}
}

// CSV and JSON lose no digit.
func TestReportsKeepDigits(t *testing.T) {
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Summary []SummaryRow `json:"summary"`
	}
	if err := json.Unmarshal([]byte(reported(t, f, "json")), &back); err != nil {
		t.Fatal(err)
	}
	if err := sameRows(back.Summary, f.Result.Summary); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(content(t, f.Dir, SummaryFile)) {
		if !strings.Contains(reported(t, f, "csv"), line) {
			t.Errorf("csv lacks %q", line)
		}
	}
}

func TestReportRefuses(t *testing.T) {
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, Report(&bytes.Buffer{}, f, "xml"), `"xml"`, "markdown")
	wantError(t, Report(failingWriter{}, f, "text"), "closed pipe")
	*f.Result.Summary[2].ReferenceMS += 1
	for _, format := range Formats {
		var b bytes.Buffer
		wantError(t, Report(&b, f, format), "summary row 3", "first_all_ms", "recomputed")
		if b.Len() != 0 {
			t.Errorf("%s wrote %q all the same", format, b.String())
		}
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("closed pipe") }

func TestRounding(t *testing.T) {
	for _, c := range []struct {
		v           float64
		significant string
		decimal     string
	}{
		{0, "0.000", "0.0"}, {1888.44, "1888", "1888.4"}, {18884.4, "18884", "18884.4"}, {999.96, "1000", "1000.0"},
		{99.999, "100.0", "100.0"}, {0.00012345, "0.0001234", "0.0"}, {-0.04, "-0.04000", "0.0"}, {-41.26, "-41.26", "-41.3"},
	} {
		if got := significant(&c.v, 4); got != c.significant {
			t.Errorf("%v has 4 digits as %s, want %s", c.v, got, c.significant)
		}
		if got := oneDecimal(&c.v); got != c.decimal {
			t.Errorf("%v has one decimal as %s, want %s", c.v, got, c.decimal)
		}
	}
}

func TestEscaped(t *testing.T) {
	if got, want := escaped("a|b\n`c` <d> _e_ \x1b[1m"), "a\\|b\\\\x0a\\`c\\` \\<d> \\_e\\_ \\\\x1b\\[1m"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCounted(t *testing.T) {
	for n, want := range map[int]string{0: "0 rounds", 1: "1 round", 2: "2 rounds"} {
		if got := counted(n, "round"); got != want {
			t.Errorf("counted(%d) is %q, want %q", n, got, want)
		}
	}
}

// The commands name the folder as it was given, and a recorded one says what its
// variables are.
func TestCommandsAreThoseToType(t *testing.T) {
	f := decided(t)
	f.Dir = "../runs/a b"
	f.Result.Environment.Command = []string{"fanoutbench", "run", "--output=$TMP/x"}
	want := []string{"fanoutbench verify '../runs/a b'", "fanoutbench report '../runs/a b'", "fanoutbench explain '../runs/a b'", asRecorded, "fanoutbench run --output=$TMP/x"}
	if got := f.Commands(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	gate := string(GateReport{Folder: f}.Markdown([]string{"fanoutbench", "gate", f.Dir}))
	if block := "    fanoutbench gate '../runs/a b'\n    " + asRecorded + "\n    fanoutbench run --output=$TMP/x\n"; !strings.Contains(gate, block) {
		t.Errorf("%s\nwant in it\n%s", gate, block)
	}
	f.Result.Environment.Command = []string{"fanoutbench", "run"}
	if got := f.Commands(); len(got) != 4 {
		t.Errorf("%q, want no word about folders", got)
	}
}

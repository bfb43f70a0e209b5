package results

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func committed(t testing.TB, names ...string) []*Folder {
	t.Helper()
	var folders []*Folder
	for _, name := range names {
		f, err := Read(filepath.Join("runs", name))
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, f)
	}
	return folders
}

func written(t testing.TB, h History, format string) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteHistory(&b, h, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The order is that of time, whatever that of the arguments.
func TestHistory(t *testing.T) {
	want := written(t, history(t, HistoryOptions{}, "default", "reuse", "a-a", "native", "mixed"), "text")
	golden(t, "history.txt", want)
	if got := written(t, history(t, HistoryOptions{}, "mixed", "a-a", "default", "native", "reuse"), "text"); got != want {
		t.Errorf("another order of arguments gives\n%s", got)
	}
	golden(t, "history.csv", written(t, history(t, HistoryOptions{Count: 32, Metadata: "plain", Metric: "worker_cpu_ms"}, "default", "native"), "csv"))
}

func history(t testing.TB, opt HistoryOptions, names ...string) History {
	t.Helper()
	h, err := NewHistory(committed(t, names...), opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// The figures are those of the summaries, every digit in CSV.
func TestHistoryFigures(t *testing.T) {
	h := history(t, HistoryOptions{}, "default", "reuse")
	if h.Cell != (Primary{Count: 310, Metadata: "rich", Metric: "complete_ms"}) {
		t.Errorf("the cell is %s, want 310 rich complete_ms", h.Cell)
	}
	lines, err := csv.NewReader(strings.NewReader(written(t, h, "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range committed(t, "default", "reuse") {
		row, _ := f.Result.Row(310, "rich", "complete_ms")
		if got, want := strings.Join(lines[i+1][len(historyColumns):], ","), strings.Join(row.columns(), ","); got != want {
			t.Errorf("%s: %s, want %s", f.Dir, got, want)
		}
	}
}

// Each part of the plan that changes the figure, and the machine, marks a run.
func TestHistoryMarksDifferences(t *testing.T) {
	for want, change := range map[string]func(*Folder){
		"transport native, not msgpack":               func(f *Folder) { f.Plan.Transport = "native" },
		"consumer raw, not decode":                    func(f *Folder) { f.Plan.Consumer = "raw" },
		"consumers process, not thread":               func(f *Folder) { f.Plan.Consumers = "process" },
		"pace none, not arrived":                      func(f *Folder) { f.Plan.Pace = "none" },
		"loop router, not fanout":                     func(f *Folder) { f.Plan.Loop = "router" },
		"process run, not round":                      func(f *Folder) { f.Plan.Process = "run" },
		"stream mixed, not seed":                      func(f *Folder) { f.Plan.Stream = "mixed" },
		"http workers 5, not 4":                       func(f *Folder) { f.Plan.HTTPWorkers = 5 },
		"cpus 96, not 2":                              func(f *Folder) { f.Result.Environment.CPUs = 96 },
		"cpu none, not Example CPU | 3 GHz":           func(f *Folder) { f.Result.Environment.CPU = "" },
		"stream recorded:x, not seed; stream sha256 ": func(f *Folder) { f.Plan.Stream, f.Plan.StreamSHA256 = "recorded:x", sum(nil) },
	} {
		a, b := later(t, 0), later(t, time.Hour)
		change(b)
		h, err := NewHistory([]*Folder{a, b}, HistoryOptions{})
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if p := h.Points[1]; p.Comparable() || !strings.HasPrefix(strings.Join(p.Differs, "; "), want) {
			t.Errorf("differs %q, want %q", p.Differs, want)
		}
		if !h.Points[0].Comparable() || !strings.Contains(written(t, h, "text"), want) {
			t.Errorf("the text does not say %q", want)
		}
	}
}

// later is the example run, begun so much later.
func later(t testing.TB, by time.Duration) *Folder {
	t.Helper()
	f, err := Read(exampleRun(t))
	if err != nil {
		t.Fatal(err)
	}
	f.Dir = "run at " + by.String()
	f.Result.Environment.StartedAt = f.Result.Environment.StartedAt.Add(by)
	f.Result.RawSHA256 = sum([]byte(by.String()))
	return f
}

// A cell's own decision stands before that of the run.
func TestHistoryDecision(t *testing.T) {
	f := decided(t)
	p, err := pointOf(f, f, Primary{Count: 32, Metadata: "rich", Metric: "worker_cpu_ms"})
	if err != nil || p.Decision != DecisionInconclusive {
		t.Errorf("decision %s, want that of the cell; %v", p.Decision, err)
	}
}

// A run that is not verified keeps its place and has no figure.
func TestHistoryUnverified(t *testing.T) {
	a, b := later(t, 0), later(t, time.Hour)
	a.Result.Verdict = Verdict{Status: StatusInvalid, Decision: DecisionNone, Failure: &Failure{Message: "a row differs"}}
	h, err := NewHistory([]*Folder{b, a}, HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p := h.Points[0]; p.Comparable() || p.Row.ReferenceMS != nil || !h.Points[1].Comparable() {
		t.Errorf("points are %+v", h.Points)
	}
	if got := written(t, h, "text"); !strings.Contains(got, "the run is invalid") {
		t.Errorf("the text does not say that a run is invalid:\n%s", got)
	}
}

func TestHistoryRefuses(t *testing.T) {
	a := later(t, 0)
	_, err := NewHistory([]*Folder{a, a}, HistoryOptions{})
	wantError(t, err, "the same run", a.Dir, a.Result.RawSHA256)
	_, err = NewHistory([]*Folder{a}, HistoryOptions{Count: 310})
	wantError(t, err, a.Dir, "no cell 310 rich complete_ms", "counts are [1 32]")
	_, err = NewHistory(nil, HistoryOptions{})
	wantError(t, err, "none of 0 runs")
	broken := later(t, time.Hour)
	*broken.Result.Summary[2].ReferenceMS++
	_, err = NewHistory([]*Folder{a, broken}, HistoryOptions{})
	wantError(t, err, broken.Dir, "summary row 3")
	h, err := NewHistory([]*Folder{a}, HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, WriteHistory(&bytes.Buffer{}, h, "xml"), `"xml"`, "csv")
	wantError(t, WriteHistory(failingWriter{}, h, "text"), "closed pipe")
}

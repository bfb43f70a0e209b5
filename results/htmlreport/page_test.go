package htmlreport

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"html/template"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

func read(t testing.TB, name string) *results.Folder {
	t.Helper()
	f, err := results.Read(filepath.Join("..", "runs", name))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func ref[T any](v T) *T { return &v }

// decided is a committed run with a family, and the analysis that its trials give.
func decided(t testing.TB, name string) *results.Folder {
	t.Helper()
	f := read(t, name)
	f.Plan.MarginPct = 5
	f.Plan.Primary = results.DefaultPrimary(f.Plan.Counts, f.Plan.Metadata)
	a, err := results.Analyze(f.Plan, f.Trials)
	if err != nil {
		t.Fatal(err)
	}
	f.Result.Analysis = a
	f.Result.Verdict.Decision, f.Result.Verdict.Reason = a.Decision, a.Reason
	return f
}

// unchecked is the page without a look at the trials, of which a hand-made
// analysis is no function.
func unchecked(t testing.TB, f *results.Folder) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func written(t testing.TB, f *results.Folder) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// rowOf is the text of the table row of a cell in the table of that id.
func rowOf(t testing.TB, page, table, cell string) string {
	t.Helper()
	_, after, ok := strings.Cut(page, `<table id="`+table+`">`)
	if ok {
		after, _, _ = strings.Cut(after, "</table>")
		_, after, ok = strings.Cut(after, `<tr data-cell="`+cell+`">`)
	}
	if !ok {
		t.Fatalf("table %s has no row %s", table, cell)
	}
	row, _, _ := strings.Cut(after, "</tr>")
	return row
}

var dataValue = regexp.MustCompile(`<data value="([^"]*)">`)

// valuesIn are the figures of a part of the page, every digit of them.
func valuesIn(t testing.TB, part string) []float64 {
	t.Helper()
	var out []float64
	for _, m := range dataValue.FindAllStringSubmatch(part, -1) {
		v, err := strconv.ParseFloat(html.UnescapeString(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// figuresOf are those that the table of primary cells holds of a cell.
func figuresOf(c results.PrimaryAnalysis) []float64 {
	var out []float64
	for _, v := range []*float64{c.SlowdownPct, c.LowerPct, c.UpperPct, c.P, c.SmallestEffectPct, c.SpreadPct} {
		if v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// rowFigures are those that the table of all metrics holds of a row.
func rowFigures(row results.SummaryRow) []float64 {
	out := []float64{*row.ReferenceMS, *row.CandidateMS, *row.MedianPairedReductionPct}
	for _, ci := range []*results.Interval{row.OrderCI, row.BootstrapCI} {
		out = append(out, ci.Low, ci.High, *ci.Level)
	}
	return out
}

// Every figure of the primary cells stands on the page with all its digits, and
// every round of them.
func TestPageHasEveryFigure(t *testing.T) {
	f := decided(t, "default")
	page := written(t, f)
	for _, c := range f.Result.Analysis.Primary {
		name := results.Primary{Count: c.Count, Metadata: c.Metadata, Metric: c.Metric}.String()
		line := rowOf(t, page, "primary", name)
		if got, want := valuesIn(t, line), figuresOf(c); !slices.Equal(got, want) {
			t.Errorf("%s: primary figures %v, want %v", name, got, want)
		}
		if !strings.Contains(line, c.Decision) || !strings.Contains(line, c.Role) {
			t.Errorf("%s: %s, want decision %s and role %s", name, line, c.Decision, c.Role)
		}
		row, ok := f.Result.Row(c.Count, c.Metadata, c.Metric)
		if !ok {
			t.Fatalf("no row %s", name)
		}
		if got, want := valuesIn(t, rowOf(t, page, "all", name)), rowFigures(row); !slices.Equal(got, want) {
			t.Errorf("%s: figures %v, want %v", name, got, want)
		}
		_, rounds, _ := strings.Cut(page, "<caption><span>Means over repetitions, "+name+"</span></caption>")
		rounds, _, _ = strings.Cut(rounds, "</table>")
		got := valuesIn(t, rounds)
		if len(got) != 3*f.Plan.Rounds {
			t.Fatalf("%s: %d figures of rounds, want %d", name, len(got), 3*f.Plan.Rounds)
		}
		for i := range f.Plan.Rounds {
			if want := 100 * (1 - got[3*i+1]/got[3*i]); math.Abs(got[3*i+2]-want) > 1e-9 || got[3*i+2] != *row.Reductions[i] {
				t.Errorf("%s: round %d: %v, want a reduction of %v", name, i, got[3*i:3*i+3], want)
			}
		}
	}
	for _, want := range []string{template.HTMLEscapeString(f.Result.Conclusion()), f.PlanSHA256, "opaque_decodes", f.Result.Environment.Kernel} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A run without a family shows the same cells and says that nothing was asked.
func TestPageWithoutFamily(t *testing.T) {
	for _, name := range []string{"default", "native", "floor-splice", "mixed", "engines"} {
		f := read(t, name)
		page := written(t, f)
		if strings.Contains(page, `id="primary"`) || !strings.Contains(page, "No decision was asked for") {
			t.Errorf("%s: the page shows a decision", name)
		}
		for _, c := range f.Plan.Family() {
			if !strings.Contains(page, `<section class="cell" data-cell="`+c.String()+`">`) {
				t.Errorf("%s: the page lacks cell %s", name, c)
			}
		}
		for _, row := range f.Result.Summary {
			rowOf(t, page, "all", fmt.Sprintf("%d %s %s", row.Count, row.Metadata, row.Metric))
		}
	}
}

// What a run brought along is text, wherever it stands.
func TestPageEscapes(t *testing.T) {
	const evil = `</title></style><script>alert("x")</script><img src=x onerror=y>'"` + "&amp;\x00`"
	f := decided(t, "default")
	f.Plan.Candidate.Spec, f.Plan.Reference.Spec = evil, evil
	f.Result.Verdict.Warnings = []string{evil}
	f.Result.Verdict.Reason, f.Result.Analysis.Control = evil, &results.ControlAnalysis{Reason: evil}
	f.Result.Analysis.Primary[0].Reason, f.Result.Analysis.Primary[0].Decision = evil, evil
	f.Result.Environment.Command, f.Result.Environment.CPU = []string{evil}, evil
	f.Result.Environment.Conditions = map[string]string{evil: evil}
	const name = "<script>alert(\"x\")</script>"
	for i := range f.Result.Summary {
		f.Result.Summary[i].Counters[results.Reference][name] = 1
	}
	pages := map[string]string{"decided": unchecked(t, f)}
	f.Result.Verdict = results.Verdict{Status: results.StatusInvalid, Decision: results.DecisionNone, Failure: &results.Failure{Message: evil, RID: evil, Got: ref(evil)}}
	pages["invalid"] = written(t, f)
	for name, page := range pages {
		for _, never := range []string{"<script", "<img", "onerror=y>", "alert(\"x"} {
			if strings.Contains(page, never) {
				t.Errorf("%s: the page holds %s as markup", name, never)
			}
		}
		if !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("%s: the page does not hold the text", name)
		}
	}
}

// A run that is not verified shows its failure and no figure.
func TestPageUnverified(t *testing.T) {
	f := decided(t, "default")
	f.Result.Verdict = results.Verdict{Status: results.StatusInvalid, Decision: results.DecisionNone, Failure: &results.Failure{Message: "rid-17 came twice", Arm: results.Candidate, RID: "rid-17"}}
	page := written(t, f)
	for _, never := range []string{"<data", "<svg", "_ms", "<table"} {
		if strings.Contains(page, never) {
			t.Errorf("the page of an invalid run holds %s", never)
		}
	}
	for _, want := range []string{"This run is invalid", "rid-17 came twice"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Figures that do not follow from the trials are no page.
func TestPageRefuses(t *testing.T) {
	f := decided(t, "default")
	*f.Result.Summary[2].ReferenceMS++
	var b bytes.Buffer
	if err := Write(&b, f); err == nil || !strings.Contains(err.Error(), "summary row 3") || b.Len() > 0 {
		t.Errorf("error %v and %d bytes, want an error that names the row and no byte", err, b.Len())
	}
	if err := Write(closed{}, read(t, "default")); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("error %v, want that of the writer", err)
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("closed") }

// Nothing on the page is fetched from anywhere, and no colour of the plotting
// library is left in a drawing.
func TestPageIsSelfContained(t *testing.T) {
	for name, page := range everyPage(t) {
		for _, attribute := range regexp.MustCompile(`(?i)\b(?:src|href|url|action|data|poster|srcset)\s*[=(]\s*["']?[^"' )>]*`).FindAllString(page, -1) {
			if !slices.Contains([]string{`href="#main`, `href="data:,`}, attribute) {
				t.Errorf("%s: %s, want nothing that is fetched", name, attribute)
			}
		}
		for _, never := range []string{"<script", "@import", "xlink:href", "<iframe", "<link rel=\"stylesheet"} {
			if strings.Contains(page, never) {
				t.Errorf("%s: the page holds %s", name, never)
			}
		}
		drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
		for _, d := range drawings {
			if m := regexp.MustCompile(`(?:fill|stroke):#[0-9A-Fa-f]+`).FindString(d); m != "" {
				t.Errorf("%s: a drawing has %s, want the page's variables", name, m)
			}
			if strings.Contains(d, "NaN") || strings.Contains(d, "Inf") {
				t.Errorf("%s: a drawing has a number that is none", name)
			}
		}
		if len(drawings) == 0 && name != "invalid" {
			t.Errorf("%s: no drawing", name)
		}
	}
}

// everyPage is one page of each kind.
func everyPage(t testing.TB) map[string]string {
	t.Helper()
	pages := map[string]string{
		"decided": written(t, decided(t, "default")), "plain": written(t, read(t, "a-a")), "one cell": written(t, decided(t, "floor-splice")),
	}
	warned := decided(t, "default")
	warned.Result.Verdict.Warnings = []string{"the idle arm used 3 ms of CPU in round 2", strings.Repeat("long", 100)}
	warned.Result.Analysis.Control = &results.ControlAnalysis{Failed: true, Reason: "32 rich complete_ms differs"}
	warned.Result.Verdict.Decision = results.DecisionRegressed
	for i, decision := range results.Decisions[1:] {
		if i < len(warned.Result.Analysis.Primary) {
			warned.Result.Analysis.Primary[i].Decision = decision
		}
	}
	pages["warned"] = unchecked(t, warned)
	invalid := read(t, "default")
	invalid.Result.Verdict = results.Verdict{Status: results.StatusInvalid, Decision: results.DecisionNone, Failure: &results.Failure{Message: "rid-17 came twice"}}
	pages["invalid"] = written(t, invalid)
	var b bytes.Buffer
	if err := WriteHistory(&b, historyOf(t, "default", "reuse", "grouped", "native")); err != nil {
		t.Fatal(err)
	}
	pages["history"] = b.String()
	pages["load"] = loadPageOf(t, loadRun(t, nil, nil))
	pages["sweep"] = sweepPage(t, sweepOf(t, "max-tokens", twoLimits, leadingTimes))
	pages["load invalid"] = loadPageOf(t, loadRun(t, nil, lateAndReset))
	return pages
}

func historyOf(t testing.TB, names ...string) results.History {
	t.Helper()
	var folders []*results.Folder
	for _, name := range names {
		folders = append(folders, read(t, name))
	}
	h, err := results.NewHistory(folders, results.HistoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Every run of the history stands in its table, and says if it is not comparable.
func TestHistoryPage(t *testing.T) {
	h := historyOf(t, "default", "reuse", "grouped", "native")
	var b bytes.Buffer
	if err := WriteHistory(&b, h); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	values := valuesIn(t, regexp.MustCompile(`<data value="[0-9a-f]{40}">`).ReplaceAllString(page, ""))
	for _, p := range h.Points {
		for _, want := range []float64{*p.Row.ReferenceMS, *p.Row.CandidateMS, *p.Row.MedianPairedReductionPct, p.Row.OrderCI.Low} {
			if !slices.Contains(values, want) {
				t.Errorf("the page lacks %v of %s", want, p.Dir)
			}
		}
	}
	for _, want := range []string{"transport native, not msgpack", "not comparable with the first: 4."} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// How long a page takes; a test does not say how long it may.
func BenchmarkWrite(b *testing.B) {
	for b.Loop() {
		f := read(b, "default")
		if err := Write(&bytes.Buffer{}, f); err != nil {
			b.Fatal(err)
		}
	}
}

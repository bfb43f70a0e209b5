package htmlreport

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/fanoutbench/fanoutbench/results"
)

//go:embed page.html
var pageText string

//go:embed history.html
var historyText string

//go:embed parts.html
var partsText string

//go:embed style.css
var styleText string

// The templates are parsed once; a fault in one is a fault of this package.
var (
	pageTemplate    = parsed(pageText)
	historyTemplate = parsed(historyText)
)

func parsed(text string) *template.Template {
	functions := template.FuncMap{
		"style": func() template.CSS { return template.CSS(styleText) },
		"full":  full, "four": four, "one": results.OneDecimal, "percent": percent, "counter": results.CounterText, "two": two, "number": func(i int) int { return i + 1 }, "sign": sign,
	}
	return template.Must(template.Must(template.New("page").Funcs(functions).Parse(partsText)).Parse(text))
}

// Format is the name of this format for the command line.
const Format = "html"

// Write writes a run as a page. Like results.Report it shows figures only of a
// verified run, and only if they follow from its trials.
func Write(w io.Writer, f *results.Folder) error {
	if err := f.CheckFigures(); err != nil {
		return fmt.Errorf("htmlreport: %s: %w", f.Dir, err)
	}
	return write(w, f)
}

// write writes the page of figures that were checked.
func write(w io.Writer, f *results.Folder) error {
	v, err := pageOf(f)
	if err != nil {
		return fmt.Errorf("htmlreport: %s: %w", f.Dir, err)
	}
	return execute(w, pageTemplate, v)
}

// execute writes the page only when it is whole.
func execute(w io.Writer, t *template.Template, v any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("htmlreport: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("htmlreport: %w", err)
	}
	return nil
}

// page is what the template shows.
type page struct {
	Title      string
	Conclusion string
	Decision   string
	Verified   bool
	Header     [][2]string // failure and warnings among them
	Warnings   []string
	Control    string
	Legend     string
	Kind       string
	Evidence   string // name of the column of p or e-values
	Primary    []results.PrimaryAnalysis
	Cells      []cellRounds
	Forest     *drawing
	Rows       []results.SummaryRow
	Spread     *drawing
	Counters   []counter
	Machine    [][2]string
	Commands   []string
	PlanSHA256 string
	RawSHA256  string
}

// cellRounds is a primary cell with its rounds.
type cellRounds struct {
	Name    string
	Row     results.SummaryRow
	Rounds  []round
	Drawing *drawing
}

type counter struct {
	Count                int
	Metadata, Name       string
	Reference, Candidate *float64
}

func pageOf(f *results.Folder) (page, error) {
	r := f.Result
	v := page{
		Title:      f.Plan.Candidate.Spec + " against " + f.Plan.Reference.Spec,
		Conclusion: r.Conclusion(), Decision: r.Verdict.Decision, Verified: r.Verdict.Status == results.StatusVerified,
		Header: f.Header(), Warnings: r.Verdict.Warnings, Machine: r.Environment.Lines(), Commands: f.Commands(),
		PlanSHA256: r.PlanSHA256, RawSHA256: r.RawSHA256,
	}
	if !v.Verified {
		v.Decision = r.Verdict.Status
		return v, nil
	}
	v.Rows, v.Control, v.Legend, v.Kind = r.Summary, f.ControlLine(), f.PrimaryLegend(), f.Plan.Kind
	if r.Analysis != nil {
		v.Primary = r.Analysis.Primary
	}
	v.Evidence = "p"
	if v.Kind == results.KindAnytime {
		v.Evidence = "e-value"
	}
	for _, row := range r.Summary {
		if row.Metric == results.Metrics[0] {
			for _, name := range row.CounterNames() {
				v.Counters = append(v.Counters, counter{row.Count, row.Metadata, name, row.Counter(results.Reference, name), row.Counter(results.Candidate, name)})
			}
		}
	}
	return v, v.draw(f)
}

// draw makes the drawings; one without anything to draw is left out.
func (v *page) draw(f *results.Folder) error {
	for i, c := range f.Plan.Family() {
		row, ok := f.Result.Row(c.Count, c.Metadata, c.Metric)
		if !ok {
			return fmt.Errorf("the summary has no row for primary cell %s", c)
		}
		cell := cellRounds{Name: c.String(), Row: row, Rounds: roundsOf(f, c, row)}
		var err error
		if cell.Drawing, err = pairs("pairs-"+strconv.Itoa(i), cell.Name, cell.Rounds); err != nil {
			return err
		}
		v.Cells = append(v.Cells, cell)
	}
	var err error
	if v.Forest, err = forest(intervals(f), f.Plan.MarginPct); err != nil {
		return err
	}
	v.Spread, err = spread(strips(f))
	return err
}

func roundsOf(f *results.Folder, c results.Primary, row results.SummaryRow) []round {
	reference := f.RoundMeans(results.Reference, c.Count, c.Metadata, c.Metric)
	candidate := f.RoundMeans(results.Candidate, c.Count, c.Metadata, c.Metric)
	rounds := make([]round, len(row.Reductions))
	for i := range rounds {
		rounds[i] = round{i, f.Plan.Order(i)[0], reference[i], candidate[i], row.Reductions[i]}
	}
	return rounds
}

// full is the figure with every digit, for the value attribute.
func full(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func two(v *float64) string { return results.Significant(v, 2) }

func four(v *float64) string { return results.Significant(v, 4) }

func percent(level *float64) string {
	if level == nil {
		return "-"
	}
	pct := 100 * *level
	return results.OneDecimal(&pct)
}

// sign is a mark beside a decision's word, for the eye only.
func sign(decision string) string {
	marks := map[string]string{
		results.DecisionImproved: "▼", results.DecisionRegressed: "▲", results.DecisionEquivalent: "=", results.DecisionNotInferior: "≤",
		results.DecisionInconclusive: "?", results.DecisionIdentical: "≡", results.DecisionInsufficient: "…",
		results.StatusInvalid: "✕", results.StatusIncomplete: "✕",
	}
	if m, ok := marks[decision]; ok {
		return m
	}
	return "–"
}

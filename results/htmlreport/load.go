package htmlreport

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

//go:embed load.html
var loadText string

var loadTemplate = parsed(loadText)

// loadPage is what the template of a load test shows.
type loadPage struct {
	Title, Conclusion, Decision string
	Invalid, Warnings           []string
	Tables                      []loadTable
	Cells                       []loadCell
	OneRound                    string // the round that is drawn over time; empty without one
	Header, Machine             [][2]string
	Commands                    []string
	Files                       [][2]string // name and sha256
}

// loadTable is a table of a report, with what is a word and what a figure.
type loadTable struct {
	ID, Title, Below string
	Head             []tableText
	Lines            [][]tableText
}

type tableText struct {
	Text string
	Word bool
}

// longWord is from how many characters on a cell of words gets a width of its own.
const longWord = 24

// Class is that of the cell in the page's style: figures stand right, long words break late.
func (t tableText) Class() string {
	switch {
	case !t.Word:
		return "n"
	case len(t.Text) > longWord:
		return "long"
	}
	return ""
}

// loadCell is a cell with its drawings.
type loadCell struct {
	Name     string
	Drawings []*drawing
}

// WriteLoad writes the run of a load test as a page, of figures that follow from its
// trials. An incomplete run has its failure and no time at all.
func WriteLoad(w io.Writer, f *batchrun.Folder) error {
	if err := f.CheckFigures(); err != nil {
		return fmt.Errorf("htmlreport: %s: %w", f.Dir, err)
	}
	v := loadPage{
		Title:      f.Plan.Candidate.Spec + " against " + f.Plan.Reference.Spec,
		Conclusion: f.Conclusion(), Decision: f.Result.Verdict.Decision,
		Invalid: f.Result.Verdict.Invalid, Warnings: f.Result.Verdict.Warnings,
		Header: f.Header(), Machine: f.Result.Environment.Lines(), Commands: f.Commands(),
		Files: [][2]string{{batchrun.PlanFile, f.PlanSHA256}, {batchrun.RawFile, f.RawSHA256}, {batchrun.TrialsFile, f.TrialsSHA256}},
	}
	if f.Result.Verdict.Status != results.StatusVerified {
		v.Decision = f.Result.Verdict.Status
	}
	if f.Result.Verdict.Failure == "" {
		for _, s := range f.Sections() {
			v.Tables = append(v.Tables, tableOf(s))
		}
		if err := v.draw(f); err != nil {
			return fmt.Errorf("htmlreport: %s: %w", f.Dir, err)
		}
	}
	return execute(w, loadTemplate, v)
}

func tableOf(s batchrun.Section) loadTable {
	t := loadTable{ID: strings.ReplaceAll(strings.ToLower(s.Title), " ", "-"), Title: s.Title, Below: s.Below}
	cells := func(line []string) []tableText {
		var out []tableText
		for i, text := range line {
			out = append(out, tableText{Text: text, Word: slices.Contains(s.Left, i)})
		}
		return out
	}
	t.Head = cells(s.Head)
	for _, line := range s.Lines {
		t.Lines = append(t.Lines, cells(line))
	}
	return t
}

// drawnRound is the round that is drawn over time: the first, which was not chosen
// for what it shows.
const drawnRound = 0

// draw makes the drawings of every cell.
func (v *loadPage) draw(f *batchrun.Folder) error {
	v.OneRound = fmt.Sprint(drawnRound)
	for cell, c := range f.Plan.Cells {
		l := loadCell{Name: c.String()}
		id := fmt.Sprintf("cell-%d", cell)
		arms := []armLoad{loadOf(f, cell, batchrun.Reference), loadOf(f, cell, batchrun.Candidate)}
		for _, draw := range []func(string, string, []armLoad) (*drawing, error){latencyOverTime, percentileCurves, arrivals, inFlight, prefills} {
			d, err := draw(id, l.Name, arms)
			if err != nil {
				return err
			}
			if d != nil {
				l.Drawings = append(l.Drawings, d)
			}
		}
		v.Cells = append(v.Cells, l)
	}
	return nil
}

// armLoad is an arm in a cell: the response times of all rounds, sorted, and the
// requests of the drawn round.
type armLoad struct {
	candidate bool
	sorted    []float64
	requests  []batchrun.Request
}

func loadOf(f *batchrun.Folder, cell int, arm string) armLoad {
	a := armLoad{candidate: arm == batchrun.Candidate}
	for i, t := range f.Trials {
		if t.Cell != cell || t.Arm != arm {
			continue
		}
		if t.Round == drawnRound {
			a.requests = f.Requests[i]
		}
		for _, r := range f.Requests[i] {
			if r.Error == "" {
				a.sorted = append(a.sorted, *r.DoneMS-r.IntendedMS)
			}
		}
	}
	slices.Sort(a.sorted)
	return a
}

package htmlreport

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// WriteSweep writes a sweep, whose curves follow from its runs, as a page: what is
// recommended and why, a table and two drawings for each cell.
func WriteSweep(w io.Writer, f *batchrun.SweepFolder) error {
	p := f.Runs[0].Plan
	v := loadPage{
		Title:    f.Sweep.Name + " of " + p.Candidate.Spec + " against " + p.Reference.Spec,
		Decision: results.StatusVerified, Header: f.Header(), Machine: f.Runs[0].Result.Environment.Lines(), Commands: f.Commands(),
	}
	for i, r := range f.Runs {
		if verdict := r.Result.Verdict; verdict.Status != results.StatusVerified {
			v.Decision = results.StatusInvalid
			v.Invalid = append(v.Invalid, f.Sweep.Runs[i].Folder+": "+verdict.Why())
		}
		v.Files = append(v.Files, [2]string{f.Sweep.Runs[i].Folder + "/" + batchrun.ResultFile, f.Sweep.Runs[i].ResultSHA256})
	}
	for _, s := range f.Sections() {
		v.Tables = append(v.Tables, tableOf(s))
	}
	for i, c := range f.Sweep.Cells {
		if v.Conclusion != "" {
			v.Conclusion += " "
		}
		v.Conclusion += c.Cell + ": " + c.Reason + "."
		cell := loadCell{Name: c.Cell}
		for _, l := range limitCurves {
			d, err := l.draw(fmt.Sprintf("cell-%d", i), f.Sweep, c)
			if err != nil {
				return fmt.Errorf("htmlreport: %s: %w", f.Dir, err)
			}
			if d != nil {
				cell.Drawings = append(cell.Drawings, d)
			}
		}
		v.Cells = append(v.Cells, cell)
	}
	return execute(w, loadTemplate, v)
}

// limitCurve is a time against the limit, in both arms.
type limitCurve struct {
	id, what, axis       string
	reference, candidate func(batchrun.SweepPoint) *float64
}

var limitCurves = []limitCurve{
	{"leading", "How long the first item of a request waits, from the sending until the scheduler had finished it", "leading ms",
		func(p batchrun.SweepPoint) *float64 { return p.ReferenceLeadingMS }, func(p batchrun.SweepPoint) *float64 { return p.LeadingMS }},
	{"whole", "How long a whole request takes, from the intended time to the answer", "average ms",
		func(p batchrun.SweepPoint) *float64 { return p.ReferenceAvgMS }, func(p batchrun.SweepPoint) *float64 { return p.AvgMS }},
}

// draw sets the limits at equal distances, from the smallest to none; nil where no
// time is known.
func (l limitCurve) draw(id string, s *batchrun.Sweep, c batchrun.SweepCell) (*drawing, error) {
	p := axes(s.Name+" of a message", l.axis)
	order := byLimit(s.Runs)
	arms := []armLoad{{}, {candidate: true}}
	sets := [][]point{l.points(order, c, l.reference), l.points(order, c, l.candidate)}
	if !frame(p, append(sets, []point{{float64(len(order)), 0}})...) {
		return nil, nil
	}
	var ticks plot.ConstantTicks
	at := math.NaN() // of the recommended limit
	for i, run := range order {
		label := strconv.Itoa(s.Runs[run].Limit)
		if s.Runs[run].Limit == 0 {
			label = "none"
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
		if c.Recommended != nil && *c.Recommended == s.Runs[run].Limit {
			at = float64(i)
		}
	}
	p.X.Tick.Marker, p.X.Min, p.X.Max, p.Y.Max = ticks, -0.5, float64(len(order))-0.5, 1.08*p.Y.Max
	p.Add(plotter(func(cv draw.Canvas, p *plot.Plot) {
		if !math.IsNaN(at) {
			line(cv, p, stroke(ink, 1, 2, 2), at, 0, at, p.Y.Max)
		}
		for i, a := range arms {
			path(cv, p, a.line(1.4), sets[i])
			for _, to := range sets[i] {
				mark(cv, p, a.glyph(), to.x, to.y)
			}
		}
	}))
	text := fmt.Sprintf("%s, with each limit of %s: circles and the whole line are the reference in the same run, triangles and the dashed line the candidate. %s", l.what, s.Name, dotted(c))
	d, err := svg(p, drawing{ID: id + "-" + l.id, Title: c.Cell + ", " + l.axis + " by limit", Description: text, Caption: text}, 480, 240)
	return &d, err
}

func dotted(c batchrun.SweepCell) string {
	if c.Recommended == nil {
		return "No limit is recommended."
	}
	return "The dotted line is at what is recommended: " + batchrun.LimitText(*c.Recommended) + "."
}

// points leaves limits out whose time is not known.
func (l limitCurve) points(order []int, c batchrun.SweepCell, of func(batchrun.SweepPoint) *float64) (points []point) {
	for i, run := range order {
		if y := of(c.Points[run]); y != nil {
			points = append(points, point{float64(i), *y})
		}
	}
	return points
}

// byLimit are the runs from the smallest limit to none.
func byLimit(runs []batchrun.SweepRun) []int {
	var order []int
	for i := range runs {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int {
		// 0 is none; one less, as a number without sign, is the largest.
		x, y := uint(runs[a].Limit)-1, uint(runs[b].Limit)-1
		if x < y {
			return -1
		}
		return 1
	})
	return order
}

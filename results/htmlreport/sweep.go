package htmlreport

import (
	"fmt"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// WriteSweep writes a sweep, whose curves follow from its runs, as a page: what is
// recommended and why, a table and two drawings for each cell.
func WriteSweep(w io.Writer, f *batchrun.SweepFolder) error {
	v := loadPage{
		Title:    f.Title() + " against " + f.Runs[0].Plan.Reference.Spec,
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
		for _, l := range sweepCurves {
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

// sweepCurve is a time against what is swept, in both arms.
type sweepCurve struct {
	id, what, axis       string
	reference, candidate func(batchrun.SweepPoint) *float64
}

var sweepCurves = []sweepCurve{
	{"leading", "How long the first item of a request waits, from the sending until the scheduler had finished it", "leading ms",
		func(p batchrun.SweepPoint) *float64 { return p.ReferenceLeadingMS }, func(p batchrun.SweepPoint) *float64 { return p.LeadingMS }},
	{"whole", "How long a whole request takes, from the intended time to the answer", "average ms",
		func(p batchrun.SweepPoint) *float64 { return p.ReferenceAvgMS }, func(p batchrun.SweepPoint) *float64 { return p.AvgMS }},
}

// draw sets the values at equal distances, from the smallest up, no limit at the end; nil
// where no time is known.
func (l sweepCurve) draw(id string, s *batchrun.Sweep, c batchrun.SweepCell) (*drawing, error) {
	w := s.Swept()
	x := s.Name + " of a message"
	if !w.Limits() {
		x = s.Name + ", s"
	}
	p := axes(x, l.axis)
	order := s.Ascending()
	arms := []armLoad{{}, {candidate: true}}
	sets := [][]point{l.points(order, c, l.reference), l.points(order, c, l.candidate)}
	if _, ok := frame(p, append(sets, []point{{float64(len(order)), 0}})...); !ok {
		return nil, nil
	}
	var ticks plot.ConstantTicks
	at, answer := math.NaN(), c.Answer() // and where it is
	for i, run := range order {
		v := s.Runs[run].Value
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: w.Label(v)})
		if answer != nil && *answer == v {
			at = float64(i)
		}
	}
	p.X.Tick.Marker, p.X.Min, p.X.Max, p.Y.Max = ticks, -0.5, float64(len(order))-0.5, 1.02*p.Y.Max
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
	text := fmt.Sprintf("%s, with each %s of %s: circles and the whole line are the reference in the same run, triangles and the dashed line the candidate. %s", l.what, w.What(), s.Name, dotted(w, answer))
	d, err := svg(p, drawing{ID: id + "-" + l.id, Title: c.Cell + ", " + l.axis + " by " + w.What(), Description: text, Caption: text}, loadWidth, 240)
	return &d, err
}

func dotted(w batchrun.Swept, answer *float64) string {
	switch {
	case answer == nil && w.Limits():
		return "No limit is recommended."
	case answer == nil:
		return "The candidate does not win at the largest ratio."
	case w.Limits():
		return "The dotted line is at what is recommended: " + w.Words(*answer) + "."
	}
	return "The dotted line is where the candidate begins to win: at " + w.Words(*answer) + "."
}

// points leaves values out whose time is not known.
func (l sweepCurve) points(order []int, c batchrun.SweepCell, of func(batchrun.SweepPoint) *float64) (points []point) {
	for i, run := range order {
		if y := of(c.Points[run]); y != nil {
			points = append(points, point{float64(i), *y})
		}
	}
	return points
}

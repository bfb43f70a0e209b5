package htmlreport

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results"
)

// interval is a row of the forest plot. Its numbers are log ratios,
// ln(candidate/reference): there twice as long and half as long are equally far
// from zero, and 98 and 99 per cent less are not the same place.
type interval struct {
	Label     string
	Median    float64
	Low, High float64
	Bounded   bool // there is an interval
	Primary   bool
}

// logRatio of a paired reduction in per cent. A reduction of 100 % has none: it
// gives -Inf, which is drawn at the edge.
func logRatio(reductionPct float64) float64 { return math.Log1p(-reductionPct / 100) }

// intervals are the rows that have a reduction, in the order of the summary.
func intervals(f *results.Folder) []interval {
	primary := map[results.Primary]bool{}
	for _, c := range f.Plan.Primary {
		c.Role = ""
		primary[c] = true
	}
	var out []interval
	for _, row := range f.Result.Summary {
		if row.MedianPairedReductionPct == nil {
			continue
		}
		i := interval{
			Label: fmt.Sprintf("%d %s %s", row.Count, row.Metadata, row.Metric), Median: logRatio(*row.MedianPairedReductionPct),
			Primary: primary[results.Primary{Count: row.Count, Metadata: row.Metadata, Metric: row.Metric}],
		}
		if row.OrderCI != nil { // the larger reduction is the smaller ratio
			i.Low, i.High, i.Bounded = logRatio(row.OrderCI.High), logRatio(row.OrderCI.Low), true
		}
		out = append(out, i)
	}
	return out
}

// forest draws the intervals below one another, with zero and the margin.
func forest(rows []interval, marginPct float64) (*drawing, error) {
	margin := math.Log1p(marginPct / 100)
	values := []float64{0, -margin, margin}
	for _, r := range rows {
		values = append(values, r.Median)
		if r.Bounded {
			values = append(values, r.Low, r.High)
		}
	}
	if len(rows) == 0 {
		return nil, nil
	}
	low, high, _ := extent(values)
	p := canvasPlot()
	p.X.Min, p.X.Max = around(low, high)
	p.X.Label.Text = "slow-down %: left of zero is faster"
	p.X.Tick.Marker = percentTicks{}
	var labels []string
	for _, r := range rows {
		labels = append(labels, r.Label)
	}
	named(p, labels)
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		if marginPct > 0 {
			shade(c, p, margin)
		}
		line(c, p, stroke(ink, 1.2), 0, p.Y.Min, 0, p.Y.Max)
		for i, r := range rows {
			whisker(c, p, r, float64(len(rows)-i))
		}
	}))
	text := forestText(rows, marginPct)
	d, err := svg(p, drawing{ID: "forest", Title: "Slow-down in every cell and metric", Description: text, Caption: text}, 420, vg.Length(60+20*len(rows)))
	return &d, err
}

// named makes the vertical axis one of names, the first at the top.
func named(p *plot.Plot, labels []string) {
	p.Y.Min, p.Y.Max = 0.3, float64(len(labels))+0.7
	p.Y.LineStyle.Width, p.Y.Tick.Length = 0, 0
	var ticks plot.ConstantTicks
	for i, label := range labels {
		ticks = append(ticks, plot.Tick{Value: float64(len(labels) - i), Label: label})
	}
	p.Y.Tick.Marker = ticks
}

// percentTicks marks an axis of log ratios with slow-downs in per cent: round
// ratios where the axis is long, round percentages where it is short.
type percentTicks struct{}

// wide are the slow-downs marked on a long axis; neighbours are at least a factor
// of 1.5 apart.
var wide = []float64{-99.99, -99.9, -99, -90, -50, 0, 100, 900, 9900, 99900}

// Ticks is for the plotting library.
func (percentTicks) Ticks(low, high float64) []plot.Tick {
	var at []float64
	if high-low > math.Log(6) {
		at = wide
	} else {
		first, last := 100*math.Expm1(low), 100*math.Expm1(high)
		step := 100.0
		for _, s := range []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100} {
			if (last-first)/s <= 7 {
				step = s
				break
			}
		}
		for n := math.Ceil(first / step); n*step <= last; n++ {
			at = append(at, n*step)
		}
	}
	var ticks []plot.Tick
	for _, pct := range at {
		if v := math.Log1p(pct / 100); v >= low && v <= high {
			ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.6g", pct)})
		}
	}
	return ticks
}

func forestText(rows []interval, marginPct float64) string {
	faster, slower := 0, 0
	for _, r := range rows {
		if r.Bounded && r.High < 0 {
			faster++
		} else if r.Bounded && r.Low > 0 {
			slower++
		}
	}
	s := fmt.Sprintf("The median slow-down of %d cells and metrics with its order-statistic interval, on a scale of ratios; primary ones have a filled square, others a ring. "+
		"%d intervals are wholly below zero (faster), %d wholly above (slower).", len(rows), faster, slower)
	if marginPct > 0 {
		s += fmt.Sprintf(" The band around zero, with dashed edges, is the margin of %g %%.", marginPct)
	}
	return s + " The values are in the table below."
}

// shade draws the margin, with an edge that needs no colour to be seen.
func shade(c draw.Canvas, p *plot.Plot, margin float64) {
	x, y := p.Transforms(&c)
	c.FillPolygon(band.standIn(), []vg.Point{
		{X: x(-margin), Y: y(p.Y.Min)}, {X: x(margin), Y: y(p.Y.Min)},
		{X: x(margin), Y: y(p.Y.Max)}, {X: x(-margin), Y: y(p.Y.Max)},
	})
	for _, at := range []float64{-margin, margin} {
		line(c, p, stroke(muted, 1, vg.Points(2), vg.Points(2)), at, p.Y.Min, at, p.Y.Max)
	}
}

// whisker draws one interval and its median.
func whisker(c draw.Canvas, p *plot.Plot, r interval, at float64) {
	edge := func(v float64) float64 { return min(max(v, p.X.Min), p.X.Max) }
	style, glyph := stroke(muted, 1.4), otherGlyph
	if r.Primary {
		style, glyph = stroke(ink, 2), primaryGlyph
	}
	if r.Bounded {
		line(c, p, style, edge(r.Low), at, edge(r.High), at)
		for _, end := range []float64{r.Low, r.High} {
			line(c, p, style, edge(end), at-0.18, edge(end), at+0.18)
		}
	}
	mark(c, p, glyph, edge(r.Median), at)
}

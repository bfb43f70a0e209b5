package htmlreport

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results"
)

// strip is one row of the spread's drawing: an arm in a cell.
type strip struct {
	Label     string
	Candidate bool
	Values    []float64 // by round
}

// strips are the spreads over consumers, of the cells that have any.
func strips(f *results.Folder) []strip {
	var out []strip
	for _, count := range f.Plan.Counts {
		for _, metadata := range f.Plan.Metadata {
			for _, arm := range []string{results.Reference, results.Candidate} {
				s := strip{Label: fmt.Sprintf("%d %s %s", count, metadata, arm), Candidate: arm == results.Candidate}
				for _, v := range f.RoundMeans(arm, count, metadata, "spread_ms") {
					if v != nil {
						s.Values = append(s.Values, *v)
					}
				}
				if len(s.Values) > 0 {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// spread draws a point for each round of every strip. The axis is logarithmic
// where the values are far apart, as they are between counts.
func spread(rows []strip) (*drawing, error) {
	var values []float64
	for _, r := range rows {
		values = append(values, r.Values...)
	}
	low, high, ok := extent(values)
	if !ok {
		return nil, nil
	}
	p := canvasPlot()
	kind := "linear"
	if low > 0 && high > 20*low {
		kind = "logarithmic"
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	} else {
		p.X.Min, p.X.Max = around(min(0, low), high)
		p.X.Min = max(0, p.X.Min)
	}
	p.X.Label.Text = "ms between first and last consumer"
	var labels []string
	for _, r := range rows {
		labels = append(labels, r.Label)
	}
	named(p, labels)
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, r := range rows {
			at := float64(len(rows) - i)
			line(c, p, stroke(rule, 1), p.X.Min, at, p.X.Max, at)
			glyph := referenceGlyph
			if r.Candidate {
				glyph = candidateGlyph
			}
			for _, v := range r.Values {
				mark(c, p, glyph, v, at)
			}
		}
	}))
	text := fmt.Sprintf(
		"A point for each round: the time between the first and the last consumer to end, of the reference (circles) and of the candidate (triangles), in %d rows of cell and arm, on a %s axis from %.3g to %.3g ms. The medians are in the table of all metrics.",
		len(rows), kind, low, high)
	d, err := svg(p, drawing{ID: "spread", Title: "Spread over consumers, round by round", Description: text, Caption: text}, 420, vg.Length(60+20*len(rows)))
	return &d, err
}

package htmlreport

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results"
)

// historyPage is what the template of a history shows.
type historyPage struct {
	results.History
	Times, Ratio *drawing
}

// WriteHistory writes a history as a page.
func WriteHistory(w io.Writer, h results.History) error {
	v := historyPage{History: h}
	var err error
	if v.Times, err = times(h); err != nil {
		return fmt.Errorf("htmlreport: history: %w", err)
	}
	if v.Ratio, err = ratios(h); err != nil {
		return fmt.Errorf("htmlreport: history: %w", err)
	}
	return execute(w, historyTemplate, v)
}

// series is one value a run; ok says whether it stands in the line or, marked,
// beside it.
type series []struct {
	run   float64
	value float64
	ok    bool
}

func seriesOf(h results.History, figure func(results.SummaryRow) *float64) series {
	var s series
	for i, p := range h.Points {
		if v := figure(p.Row); v != nil {
			s = append(s, struct {
				run, value float64
				ok         bool
			}{float64(i + 1), *v, p.Comparable()})
		}
	}
	return s
}

func (s series) values() []float64 {
	var out []float64
	for _, p := range s {
		out = append(out, p.value)
	}
	return out
}

// draw joins the comparable points and marks the others with a ring alone.
func (s series) draw(c draw.Canvas, p *plot.Plot, style draw.LineStyle, glyph draw.GlyphStyle) {
	last := -1
	for i, point := range s {
		if !point.ok {
			mark(c, p, draw.GlyphStyle{Color: glyph.Color, Radius: glyph.Radius + 1, Shape: ring{}}, point.run, point.value)
			continue
		}
		if last >= 0 {
			line(c, p, style, s[last].run, s[last].value, point.run, point.value)
		}
		mark(c, p, glyph, point.run, point.value)
		last = i
	}
}

// runAxis numbers the runs as the table does.
func runAxis(p *plot.Plot, runs int) {
	p.X.Min, p.X.Max = 0.5, float64(runs)+0.5
	p.X.Label.Text = "run"
	step := (runs + 11) / 12
	var ticks plot.ConstantTicks
	for n := 1; n <= runs; n += step {
		ticks = append(ticks, plot.Tick{Value: float64(n), Label: strconv.Itoa(n)})
	}
	p.X.Tick.Marker = ticks
}

// times draws the medians of both arms.
func times(h results.History) (*drawing, error) {
	reference := seriesOf(h, func(r results.SummaryRow) *float64 { return r.ReferenceMS })
	candidate := seriesOf(h, func(r results.SummaryRow) *float64 { return r.CandidateMS })
	_, high, ok := extent(append(reference.values(), candidate.values()...))
	if !ok {
		return nil, nil
	}
	p := canvasPlot()
	runAxis(p, len(h.Points))
	_, p.Y.Max = around(0, high)
	p.Y.Min, p.Y.Label.Text = 0, "ms"
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		reference.draw(c, p, stroke(referenceArm, 1.4), referenceGlyph)
		candidate.draw(c, p, stroke(candidateArm, 1.4, vg.Points(5), vg.Points(3)), candidateGlyph)
	}))
	text := "Medians over rounds of the reference (circles, joined) and of the candidate (triangles, joined by dashes), by run. " + asideText(h)
	d, err := svg(p, drawing{ID: "times", Title: h.Cell.String() + " of both arms over runs", Description: text, Caption: text}, 480, 260)
	return &d, err
}

// ratios draws the median slow-downs with their intervals.
func ratios(h results.History) (*drawing, error) {
	var values []float64
	rows := make([]interval, len(h.Points))
	drawn := make([]bool, len(h.Points))
	for i, p := range h.Points {
		if p.Row.MedianPairedReductionPct == nil {
			continue
		}
		rows[i], drawn[i] = interval{Median: logRatio(*p.Row.MedianPairedReductionPct)}, true
		values = append(values, 0, rows[i].Median)
		if ci := p.Row.OrderCI; ci != nil {
			rows[i].Low, rows[i].High, rows[i].Bounded = logRatio(ci.High), logRatio(ci.Low), true
			values = append(values, rows[i].Low, rows[i].High)
		}
	}
	low, high, ok := extent(values)
	if !ok {
		return nil, nil
	}
	p := canvasPlot()
	runAxis(p, len(h.Points))
	p.Y.Min, p.Y.Max = around(low, high)
	p.Y.Label.Text, p.Y.Tick.Marker = "slow-down %", percentTicks{}
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		line(c, p, stroke(ink, 1.2), p.X.Min, 0, p.X.Max, 0)
		edge := func(v float64) float64 { return min(max(v, p.Y.Min), p.Y.Max) }
		for i, r := range rows {
			if !drawn[i] {
				continue
			}
			at, style, glyph := float64(i+1), stroke(ink, 1.6), primaryGlyph
			if !h.Points[i].Comparable() {
				style, glyph = stroke(muted, 1.2), otherGlyph
			}
			if r.Bounded {
				line(c, p, style, at, edge(r.Low), at, edge(r.High))
			}
			mark(c, p, glyph, at, edge(r.Median))
		}
	}))
	text := "The median slow-down of the candidate with its order-statistic interval, by run, on a scale of ratios; below zero it is faster. " + asideText(h)
	d, err := svg(p, drawing{ID: "ratio", Title: h.Cell.String() + ", candidate against reference over runs", Description: text, Caption: text}, 480, 260)
	return &d, err
}

// asideText names the runs that are not comparable.
func asideText(h results.History) string {
	var aside []string
	for i, p := range h.Points {
		if !p.Comparable() {
			aside = append(aside, strconv.Itoa(i+1))
		}
	}
	if len(aside) == 0 {
		return "The values are in the table."
	}
	return "Rings, not joined, are runs that are not comparable with the first: " + strings.Join(aside, ", ") + ". The values are in the table."
}

package htmlreport

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// round is one round of a cell's metric in both arms.
type round struct {
	Round                int
	First                string
	Reference, Candidate *float64
	Reduction            *float64
}

// pairs draws every round as a line from the reference's mean to the candidate's.
func pairs(id, name string, rounds []round) (*drawing, error) {
	var values []float64
	complete, slower := 0, 0
	for _, r := range rounds {
		if r.Reference == nil || r.Candidate == nil {
			continue
		}
		values = append(values, *r.Reference, *r.Candidate)
		complete++
		if *r.Candidate >= *r.Reference {
			slower++
		}
	}
	low, high, ok := extent(values)
	if !ok {
		return nil, nil
	}
	begins := "does not begin"
	if low, high = around(low, high); low < high/2 {
		low, begins = 0, "begins"
	}
	p := canvasPlot()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.25, 1.25, low, high
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "reference"}, {Value: 1, Label: "candidate"}}
	p.Y.Label.Text = "ms"
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for _, r := range rounds {
			if r.Reference == nil || r.Candidate == nil {
				continue
			}
			style := stroke(muted, 1)
			if *r.Candidate >= *r.Reference {
				style = stroke(ink, 1.2, vg.Points(5), vg.Points(3))
			}
			line(c, p, style, 0, *r.Reference, 1, *r.Candidate)
			mark(c, p, referenceGlyph, 0, *r.Reference)
			mark(c, p, candidateGlyph, 1, *r.Candidate)
		}
	}))
	d := drawing{ID: id, Title: name + ", round by round", Description: fmt.Sprintf(
		"A line for each of %d rounds joins the reference's mean (circle) with the candidate's (triangle). "+
			"In %d rounds the candidate took as long or longer; these lines are dashed. The axis %s at zero. The values are in the table of rounds.", complete, slower, begins)}
	d, err := svg(p, d, 320, 240)
	return &d, err
}

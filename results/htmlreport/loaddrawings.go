package htmlreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
	"github.com/fanoutbench/fanoutbench/stats"
)

// What a drawing shows at most, so that a page stays readable for a browser.
const (
	mostPoints = 400 // of an arm
	mostLines  = 40  // of a timeline
	loadWidth  = 440 // of a drawing: its text stays readable in a window of 400 pixels
)

// point is in the units of the axes.
type point struct{ x, y float64 }

func (a armLoad) glyph() draw.GlyphStyle {
	if a.candidate {
		return small(candidateGlyph)
	}
	return small(referenceGlyph)
}

func small(g draw.GlyphStyle) draw.GlyphStyle {
	g.Radius = vg.Points(2.2)
	return g
}

func (a armLoad) line(width float64) draw.LineStyle {
	if a.candidate {
		return stroke(candidateArm, width, vg.Points(5), vg.Points(2))
	}
	return stroke(referenceArm, width)
}

// path draws the lines between neighbouring points.
func path(c draw.Canvas, p *plot.Plot, style draw.LineStyle, points []point) {
	x, y := p.Transforms(&c)
	var all []vg.Point
	for _, at := range points {
		all = append(all, vg.Point{X: x(at.x), Y: y(at.y)})
	}
	c.StrokeLines(style, all)
}

// slowest keeps, of each of mostPoints equal parts of the points in their order, the
// one with the largest y.
func slowest(points []point) []point {
	if len(points) <= mostPoints {
		return points
	}
	var kept []point
	for i := range mostPoints {
		part := points[i*len(points)/mostPoints : (i+1)*len(points)/mostPoints]
		kept = append(kept, slices.MaxFunc(part, func(a, b point) int { return cmp.Compare(a.y, b.y) }))
	}
	return kept
}

// frame sets the axes around the points, from zero, with room for the marks at their ends, and gives the
// highest point; ok is false where there is nothing to draw.
func frame(p *plot.Plot, sets ...[]point) (highest float64, ok bool) {
	for _, set := range sets {
		for _, at := range set {
			p.X.Max, highest = math.Max(p.X.Max, at.x), math.Max(highest, at.y)
		}
	}
	ok = p.X.Max > 0 && highest > 0
	p.X.Max *= 1.04
	p.Y.Max = highest * 1.06
	return highest, ok
}

// short marks an axis with the default's labels, as short as they can be: the browser's font may be
// wider than the one they are placed with.
type short struct{}

// Ticks is part of plot.Ticker.
func (short) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 4, 64)
		}
	}
	return ticks
}

// whole marks an axis of numbers of things.
type whole struct{}

// Ticks is part of plot.Ticker.
func (whole) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	step := math.Max(1, math.Ceil((high-low)/6))
	for v := math.Ceil(low) + 0; v <= high; v += step { // + 0: no -0
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f", v)})
	}
	return ticks
}

// axes are those of an empty plot that begins at zero.
func axes(x, y string) *plot.Plot {
	p := canvasPlot()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 0, 0, 0
	p.X.Label.Text, p.Y.Label.Text = x, y
	p.X.Tick.Marker, p.Y.Tick.Marker = short{}, short{}
	p.Y.Label.Padding = vg.Points(4)
	return p
}

// latencyOverTime has a point for each answered request, at its intended time.
func latencyOverTime(id, name string, arms []armLoad) (*drawing, error) {
	p := axes("s from the start to the intended time", "response ms")
	var sets [][]point
	for _, a := range arms {
		var points []point
		for _, r := range a.requests {
			if r.Error == "" {
				points = append(points, point{r.IntendedMS / 1000, *r.DoneMS - r.IntendedMS})
			}
		}
		sets = append(sets, slowest(points))
	}
	highest, ok := frame(p, sets...)
	if !ok {
		return nil, nil
	}
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, a := range arms {
			for _, at := range sets[i] {
				mark(c, p, a.glyph(), at.x, at.y)
			}
		}
	}))
	text := fmt.Sprintf("Latency over time: the response time of each answered request at its intended time, up to %.4g ms. Of more than %d requests of an arm, the slowest of each of %d equal parts.", highest, mostPoints, mostPoints)
	d, err := svg(p, drawing{ID: id + "-time", Title: name + ", latency over time", Description: text, Caption: text}, loadWidth, 240)
	return &d, err
}

// percentileCurves has nearest-rank percentiles of all rounds, on an axis in which
// each step to the right is a tenth of the requests that are slower.
func percentileCurves(id, name string, arms []armLoad) (*drawing, error) {
	p := axes("percentile", "response ms")
	var sets [][]point
	for _, a := range arms {
		sets = append(sets, curve(a.sorted))
	}
	if _, ok := frame(p, sets...); !ok {
		return nil, nil
	}
	var ticks plot.ConstantTicks
	for i, label := range []string{"0", "90", "99", "99.9", "99.99", "99.999"} {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	p.X.Tick.Marker = append(ticks, plot.Tick{Value: math.Log10(2), Label: "50"})
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, a := range arms {
			path(c, p, a.line(1.6), sets[i])
		}
	}))
	text := "Percentile curves of all rounds: the response time that a share of the answered requests did not exceed, of the reference (whole line) and of the candidate (dashed). Each mark on the lower axis leaves a tenth of the slower ones."
	d, err := svg(p, drawing{ID: id + "-percentiles", Title: name + ", percentiles", Description: text, Caption: text}, loadWidth, 240)
	return &d, err
}

// curve has the percentiles of sorted values at -log10 of the share above them.
func curve(sorted []float64) []point {
	var points []point
	if len(sorted) < 2 {
		return nil
	}
	end := math.Log10(float64(len(sorted)))
	for i := range mostPoints {
		x := end * float64(i) / mostPoints
		rank, ok := stats.NearestRank(len(sorted), 1-math.Pow(10, -x))
		if !ok {
			rank = 1 // the share 0
		}
		points = append(points, point{x, sorted[rank-1]})
	}
	return append(points, point{end, sorted[len(sorted)-1]})
}

// arrivals has how long after its intended time each request was sent.
func arrivals(id, name string, arms []armLoad) (*drawing, error) {
	p := axes("s from the start to the intended time", "sent late by ms")
	var sets [][]point
	unsent := 0
	for _, a := range arms {
		var points []point
		for _, r := range a.requests {
			if r.SentMS == nil {
				unsent++
				continue
			}
			points = append(points, point{r.IntendedMS / 1000, *r.SentMS - r.IntendedMS})
		}
		sets = append(sets, slowest(points))
	}
	highest, ok := frame(p, sets...)
	if !ok {
		return nil, nil
	}
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, a := range arms {
			for _, at := range sets[i] {
				mark(c, p, a.glyph(), at.x, at.y)
			}
		}
	}))
	text := fmt.Sprintf("Arrivals against the plan: how long after its intended time each request was sent, at most %.4g ms; %d were not sent. The lower axis is the plan. Of more than %d requests of an arm, the latest of each of %d equal parts.", highest, unsent, mostPoints, mostPoints)
	d, err := svg(p, drawing{ID: id + "-arrivals", Title: name + ", arrivals", Description: text, Caption: text}, loadWidth, 200)
	return &d, err
}

// inFlight has how many requests were due and not yet answered at each moment.
func inFlight(id, name string, arms []armLoad) (*drawing, error) {
	p := axes("s from the start", "in flight")
	p.Y.Tick.Marker = whole{}
	var sets [][]point
	for _, a := range arms {
		sets = append(sets, steps(a.requests))
	}
	highest, ok := frame(p, sets...)
	if !ok {
		return nil, nil
	}
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, a := range arms {
			path(c, p, a.line(1.2), stairs(sets[i]))
		}
	}))
	text := fmt.Sprintf("In flight: how many requests were due and not yet answered, at most %.0f; failed ones are left out. A server that is slower than the plan has more and more. Of more than %d moments of an arm, the highest of each of %d equal parts.", highest, mostPoints, mostPoints)
	d, err := svg(p, drawing{ID: id + "-inflight", Title: name + ", in flight", Description: text, Caption: text}, loadWidth, 200)
	return &d, err
}

// steps has the number in flight after each intended time and each answer.
func steps(requests []batchrun.Request) []point {
	var at []point // y: by how much the number changes
	for _, r := range requests {
		if r.Error == "" {
			at = append(at, point{r.IntendedMS / 1000, 1}, point{*r.DoneMS / 1000, -1})
		}
	}
	slices.SortStableFunc(at, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	n := 0.0
	for i := range at {
		n += at[i].y
		at[i].y = n
	}
	return slowest(at)
}

// stairs are the points of a line that stays at each one's y until the next.
func stairs(points []point) []point {
	var all []point
	for i, at := range points {
		if i > 0 {
			all = append(all, point{at.x, points[i-1].y})
		}
		all = append(all, at)
	}
	return all
}

// prefills is a timeline of the first requests: a line from the sending to the
// answer, and a mark where a prefill batch took items of the request, whose area
// grows with their number.
func prefills(id, name string, arms []armLoad) (*drawing, error) {
	p := axes("s from the start", "request")
	p.Y.Tick.Marker = whole{}
	rows := 0
	for _, a := range arms {
		for _, r := range a.requests[:min(len(a.requests), mostLines)] {
			if timed(r) {
				rows = max(rows, r.Index+1)
				p.X.Max = math.Max(p.X.Max, *r.DoneMS/1000)
			}
		}
	}
	if rows == 0 || p.X.Max == 0 {
		return nil, nil
	}
	p.X.Max *= 1.04
	p.Y.Min, p.Y.Max = -0.5, float64(rows)
	batches := []int{0, 0}
	for i, a := range arms {
		for _, r := range a.requests[:min(len(a.requests), mostLines)] {
			if timed(r) {
				batches[i] += len(r.Prefills)
			}
		}
	}
	p.Add(plotter(func(c draw.Canvas, p *plot.Plot) {
		for i, a := range arms {
			for _, r := range a.requests[:min(len(a.requests), mostLines)] {
				if timed(r) {
					timeline(c, p, a, r, float64(r.Index)+0.35*float64(i))
				}
			}
		}
	}))
	text := fmt.Sprintf("Prefill batches of the first %d requests: a line from the sending to the answer, and a mark for each prefill batch that had items of the request, larger with more of them: %d of the reference (circles), %d of the candidate (triangles, above).", rows, batches[0], batches[1])
	d, err := svg(p, drawing{ID: id + "-prefills", Title: name + ", prefill batches", Description: text, Caption: text}, loadWidth, vg.Length(80+14*rows))
	return &d, err
}

// timed says whether a request was answered and the times of its batches are known.
func timed(r batchrun.Request) bool {
	return r.Error == "" && len(r.Prefills) > 0 && !slices.ContainsFunc(r.Prefills, func(s batchrun.Spread) bool { return s.AtMS == nil })
}

func timeline(c draw.Canvas, p *plot.Plot, a armLoad, r batchrun.Request, y float64) {
	line(c, p, a.line(1), *r.SentMS/1000, y, *r.DoneMS/1000, y)
	items := 0
	for _, s := range r.Prefills {
		items += s.Items
	}
	for _, s := range r.Prefills {
		g := a.glyph()
		g.Radius = vg.Points(1 + 4*math.Sqrt(float64(s.Items)/float64(items)))
		mark(c, p, g, (*r.SentMS+*s.AtMS)/1000, y)
	}
}

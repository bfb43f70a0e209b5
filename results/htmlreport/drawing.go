package htmlreport

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// fontSize is that of all text in a drawing, in the drawing's own units, which are
// CSS pixels where the page is wide enough.
const fontSize = 12

// drawing is an SVG with what a screen reader says of it.
type drawing struct {
	ID          string
	Title       string
	Description string
	Caption     string // below it; none where the page says it once for several
	Width       int
	SVG         template.HTML
}

// canvasPlot is an empty plot in the page's colours. The plot's own grid, title
// and legend are not used: the page has them as text.
func canvasPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Color = muted.standIn()
		a.Tick.Color = muted.standIn()
		a.Tick.Label.Color = ink.standIn()
		a.Label.TextStyle.Color = ink.standIn()
		a.Tick.Label.Font = sans
		a.Label.TextStyle.Font = sans
	}
	return p
}

// sans is measured with the font that the plotting library brings, and shown in
// the reader's own.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans", Size: fontSize}

// svg draws the plot. What the library writes around the drawing is replaced: a
// size that follows the page, a role, a title and a description.
func svg(p *plot.Plot, d drawing, width, height vg.Length) (drawing, error) {
	c := vgsvg.NewWith(vgsvg.UseWH(width, height))
	p.Draw(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return drawing{}, fmt.Errorf("drawing %s: %w", d.ID, err)
	}
	_, body, ok := strings.Cut(b.String(), "<svg")
	if ok {
		_, body, ok = strings.Cut(body, ">")
	}
	if !ok {
		return drawing{}, fmt.Errorf("drawing %s: the plotting library wrote no svg element", d.ID)
	}
	esc := template.HTMLEscapeString
	head := fmt.Sprintf(`<svg viewBox="0 0 %g %g" style="max-width:%gpx" role="img" aria-labelledby="%s-title %s-text"><title id="%s-title">%s</title><desc id="%s-text">%s</desc>`,
		width.Points(), height.Points(), width.Points(), d.ID, d.ID, d.ID, esc(d.Title), d.ID, esc(d.Description))
	body = strings.ReplaceAll(body, "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;", "")
	d.Width = int(width.Points())
	d.SVG = template.HTML(head + themed.Replace(body)) // made here, see the package documentation
	return d, nil
}

// around is a range with room at both ends, and never an empty one.
func around(low, high float64) (float64, float64) {
	room := 0.06 * (high - low)
	if room == 0 {
		room = max(0.1*math.Abs(high), 1e-3)
	}
	return low - room, high + room
}

// extent is the smallest and the largest of the finite values.
func extent(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high, ok = min(low, v), max(high, v), true
		}
	}
	return low, high, ok
}

// line draws a straight line between two points in the plot's units.
func line(c draw.Canvas, p *plot.Plot, style draw.LineStyle, x0, y0, x1, y1 float64) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(style, x(x0), y(y0), x(x1), y(y1))
}

// mark draws a glyph at a point in the plot's units.
func mark(c draw.Canvas, p *plot.Plot, style draw.GlyphStyle, atX, atY float64) {
	x, y := p.Transforms(&c)
	c.DrawGlyph(style, vg.Point{X: x(atX), Y: y(atY)})
}

func stroke(r role, width float64, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: r.standIn(), Width: vg.Points(width), Dashes: dashes}
}

// glyphs of the arms: their shapes differ, so that colour is not needed.
var (
	referenceGlyph = draw.GlyphStyle{Color: referenceArm.standIn(), Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
	candidateGlyph = draw.GlyphStyle{Color: candidateArm.standIn(), Radius: vg.Points(4), Shape: draw.PyramidGlyph{}}
	primaryGlyph   = draw.GlyphStyle{Color: ink.standIn(), Radius: vg.Points(4), Shape: draw.BoxGlyph{}}
	otherGlyph     = draw.GlyphStyle{Color: muted.standIn(), Radius: vg.Points(3), Shape: ring{}}
)

// plotter is a drawing function as the plotting library wants it.
type plotter func(draw.Canvas, *plot.Plot)

func (f plotter) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// ring is a circle with a line that can be seen: the library's own is half a
// point wide.
type ring struct{}

func (ring) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(1.4)})
	var path vg.Path
	path.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	path.Arc(at, style.Radius, 0, 2*math.Pi)
	path.Close()
	c.Stroke(path)
}

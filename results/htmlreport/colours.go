package htmlreport

import (
	"image/color"
	"strings"
)

// A role is a part that a colour plays in a drawing, by the name of the page's CSS
// variable.
type role string

const (
	ink          role = "ink"
	muted        role = "muted"
	rule         role = "rule"
	referenceArm role = "reference"
	candidateArm role = "candidate"
	band         role = "band"
)

var roles = []role{ink, muted, rule, referenceArm, candidateArm, band}

// standIn is the colour that a role has while it is drawn: nearly black, and not
// black, which the SVG backend would leave out.
func (r role) standIn() color.Color {
	for i, known := range roles {
		if known == r {
			return color.RGBA{uint8(i + 1), uint8(i + 1), uint8(i + 1), 0xff}
		}
	}
	panic("htmlreport: no role " + string(r)) // a constant of this package
}

// themed replaces the stand-ins of a drawing by the page's variables.
var themed = func() *strings.Replacer {
	var pairs []string
	for _, r := range roles {
		v := r.standIn().(color.RGBA).R
		hex := "#" + strings.Repeat("0"+string("0123456789abcdef"[v]), 3)
		for _, property := range []string{"fill:", "stroke:"} {
			pairs = append(pairs, property+hex, property+"var(--"+string(r)+")", property+strings.ToUpper(hex), property+"var(--"+string(r)+")")
		}
	}
	return strings.NewReplacer(pairs...)
}()

package htmlreport

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	variable = regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`)
	used     = regexp.MustCompile(`var\(--([a-z]+)\)`)
)

// schemes are the variables of the style sheet in both colour schemes.
func schemes(t testing.TB) map[string]map[string]string {
	t.Helper()
	light, dark, ok := strings.Cut(styleText, "@media (prefers-color-scheme: dark) {")
	if !ok {
		t.Fatal("style.css has no dark scheme")
	}
	dark, rest, ok := strings.Cut(dark, "\n}\n")
	if !ok || variable.MatchString(rest) {
		t.Fatal("style.css defines colours outside its two schemes")
	}
	out := map[string]map[string]string{"light": {}, "dark": {}}
	for scheme, text := range map[string]string{"light": light, "dark": dark} {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			out[scheme][m[1]] = m[2]
		}
	}
	return out
}

// luminance and contrast are those of WCAG 2.2
// (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
func luminance(t testing.TB, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(n) / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func contrast(t testing.TB, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func TestContrastFormula(t *testing.T) {
	if got := contrast(t, "ffffff", "000000"); math.Abs(got-21) > 1e-9 {
		t.Errorf("black on white is %v, want 21", got)
	}
	if got := contrast(t, "ffffff", "767676"); math.Abs(got-4.54) > 0.005 {
		t.Errorf("#767676 on white is %v, want 4.54", got)
	}
}

// Text has 4.5 to 1 on every ground it may stand on, what is drawn 3 to 1: level
// AA. The rule of a table, the lines behind points and the band of the margin
// (whose edges are drawn in muted) may be fainter, since they tell nothing alone.
func TestContrast(t *testing.T) {
	text := []string{"ink", "muted", "link", "good", "bad", "warn"}
	drawn := []string{"ink", "muted", "reference", "candidate", "good", "bad", "warn", "link"}
	for scheme, v := range schemes(t) {
		for _, c := range []struct {
			names, grounds []string
			least          float64
		}{{text, []string{"page", "card"}, 4.5}, {drawn, []string{"page", "card", "band"}, 3}} {
			for _, name := range c.names {
				for _, ground := range c.grounds {
					if got := contrast(t, v[name], v[ground]); got < c.least {
						t.Errorf("%s: %s on %s has %.2f to 1, want %v", scheme, name, ground, got, c.least)
					}
				}
			}
		}
	}
}

// Both schemes define every colour that is used, and no colour is used past them.
func TestEveryColourIsThemed(t *testing.T) {
	both := schemes(t)
	for name := range both["light"] {
		if both["dark"][name] == "" {
			t.Errorf("the dark scheme lacks %s", name)
		}
	}
	for _, m := range used.FindAllStringSubmatch(styleText, -1) {
		if both["light"][m[1]] == "" {
			t.Errorf("no scheme has %s", m[1])
		}
	}
	for _, r := range roles {
		if both["light"][string(r)] == "" {
			t.Errorf("no scheme has %s, a role of drawings", r)
		}
	}
	if rest := variable.ReplaceAllString(styleText, ""); regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|rgb|hsl`).MatchString(rest) {
		t.Error("style.css uses a colour that is no variable")
	}
}

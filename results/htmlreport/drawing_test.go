package htmlreport

import (
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// The plotting library stays out of the package that every command needs.
func TestCoreDoesNotDraw(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "..").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if strings.Contains(string(out), "gonum.org/v1/plot") || !strings.Contains(string(out), "fanoutbench/stats") {
		t.Errorf("results needs %s", out)
	}
}

// 2 % faster, the same, 3 % slower; half as long and twice as long are equally
// far from zero; nothing at all is minus infinity.
func TestLogRatio(t *testing.T) {
	for reduction, want := range map[float64]float64{0: 0, 2: math.Log(0.98), -3: math.Log(1.03), 50: -math.Ln2, -100: math.Ln2, 100: math.Inf(-1)} {
		if got := logRatio(reduction); got != want && math.Abs(got-want) > 1e-12 {
			t.Errorf("a reduction of %v %% is %v, want %v", reduction, got, want)
		}
	}
}

// Ticks are where their labels say, in order, inside the axis, and few.
func TestPercentTicks(t *testing.T) {
	for _, k := range []struct {
		low, high float64
		want      string
	}{
		{math.Log(0.97), math.Log(1.03), "-3 -2 -1 0 1 2 3"},
		{math.Log(0.6), math.Log(1.45), "-40 -20 0 20 40"},
		{math.Log(0.004), math.Log(30), "-99 -90 -50 0 100 900"},
		{math.Log(0.9995), math.Log(1.00045), "-0.04 -0.02 0 0.02 0.04"},
	} {
		if got := labels(percentTicks{}.Ticks(k.low, k.high)); got != k.want {
			t.Errorf("%v to %v: %s, want %s", k.low, k.high, got, k.want)
		}
	}
	for exponent := -6.0; exponent < 3; exponent += 0.37 {
		high := math.Pow(10, exponent)
		ticks := percentTicks{}.Ticks(-high, high)
		if len(ticks) > 12 {
			t.Errorf("%d ticks to %v", len(ticks), high)
		}
		for i, tick := range ticks {
			pct, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil || math.Abs(math.Log1p(pct/100)-tick.Value) > 1e-6 || math.Abs(tick.Value) > high || i > 0 && ticks[i-1].Value >= tick.Value {
				t.Errorf("tick %d to %v is %+v, %v", i, high, tick, err)
			}
		}
	}
}

func labels(ticks []plot.Tick) string {
	var out []string
	for _, tick := range ticks {
		out = append(out, tick.Label)
	}
	return strings.Join(out, " ")
}

// A slower round is dashed, one that lacks an arm is not drawn.
func TestPairs(t *testing.T) {
	rounds := []round{
		{Reference: ref(2.0), Candidate: ref(1.0)}, {Reference: ref(2.0), Candidate: ref(3.0)}, {Reference: ref(2.0), Candidate: ref(2.0)}, {Reference: ref(9.0)},
	}
	d, err := pairs("p", "32 rich <complete_ms>", rounds)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(d.SVG)
	if got := strings.Count(svg, "stroke-dasharray"); got != 2 {
		t.Errorf("%d lines are dashed, want 2", got)
	}
	for _, want := range []string{"32 rich &lt;complete_ms&gt;", "each of 3 rounds", "In 2 rounds", `aria-labelledby="p-title p-text"`, "begins at zero", "var(--reference)", "var(--candidate)", "var(--ink)"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	if d, err := pairs("p", "x", []round{{Reference: ref(1.0)}}); d != nil || err != nil {
		t.Errorf("no pair gives %v, %v, want no drawing", d, err)
	}
}

// What a scale cannot show is drawn at its edge or not at all, and never stops
// the page.
func TestDrawingsOfExtremes(t *testing.T) {
	for _, values := range [][]float64{
		{0}, {0, 0}, {1, 1}, {5e-324, 1e308}, {1e-9, 1}, {math.Inf(-1), 0}, {1, math.Nextafter(1, 2)}, {-1e300, 1e300},
	} {
		drawAll(t, values)
	}
}

// drawAll makes every drawing of these values; what comes out must hold no number
// that is none.
func drawAll(t testing.TB, values []float64) {
	t.Helper()
	var rows []interval
	var rounds []round
	var positive []float64
	for i, v := range values {
		rows = append(rows, interval{Label: "x", Median: v, Low: min(v, values[0]), High: max(v, values[0]), Bounded: i%2 == 0, Primary: i%3 == 0})
		if v >= 0 && !math.IsInf(v, 0) {
			positive = append(positive, v)
			rounds = append(rounds, round{Round: i, Reference: &positive[len(positive)-1], Candidate: ref(v / 2)})
		}
	}
	for name, make := range map[string]func() (*drawing, error){
		"forest": func() (*drawing, error) { return forest(rows, 5) },
		"pairs":  func() (*drawing, error) { return pairs("p", "x", rounds) },
		"spread": func() (*drawing, error) { return spread([]strip{{Label: "x", Values: positive}}) },
	} {
		d, err := make()
		if err != nil {
			t.Errorf("%s of %v: %v", name, values, err)
		}
		if d != nil && (strings.Contains(string(d.SVG), "NaN") || strings.Contains(string(d.SVG), "Inf")) {
			t.Errorf("%s of %v holds a number that is none", name, values)
		}
	}
}

func FuzzDrawings(f *testing.F) {
	f.Add(1.0, 2.0, 3.0)
	f.Add(0.0, 0.0, math.Inf(-1))
	f.Add(1e-300, 1e300, -5.0)
	f.Fuzz(func(t *testing.T, a, b, c float64) {
		// No ratio is infinite: a reference of 0 has none.
		values := slices.DeleteFunc([]float64{a, b, c}, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 1) })
		if len(values) > 0 {
			drawAll(t, values)
		}
	})
}

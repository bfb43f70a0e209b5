package stats

import (
	"math"
	"testing"
)

func TestMarginTable(t *testing.T) {
	x := []float64{-0.04, -0.03, -0.02, -0.01, 0, 0.01, 0.02, 0.03, 0.06} // x(2) = -0.03, x(8) = 0.03
	level := 1 - 10./512
	want := MarginTest{Lower: Bound{-0.03, level}, Upper: Bound{0.03, level}}
	for _, c := range []struct {
		name             string
		x                []float64
		margin           float64
		equivalent, less bool
	}{
		{"within", x, 0.031, true, true},
		{"on both margins", x, 0.03, false, false},
		{"too narrow", x, 0.02, false, false},
		{"no margin", x, 0, false, false},
	} {
		want.Within = c.equivalent
		got, ok := Equivalent(c.x, c.margin, 0.95)
		if c.margin > 0 && (!ok || got != want) || c.margin == 0 && (ok || got != MarginTest{}) {
			t.Errorf("%s: Equivalent %v %v, want %v", c.name, got, ok, want)
		}
		want.Within = c.less
		if got, ok := NonInferior(c.x, c.margin, 0.95); !ok || got != want {
			t.Errorf("%s: NonInferior %v %v, want %v", c.name, got, ok, want)
		}
	}
	// One bound on the margin is enough to fail, on either side.
	onLower := []float64{-0.04, -0.03, -0.02, -0.01, 0, 0.01, 0.01, 0.02, 0.06}
	for _, x := range [][]float64{onLower, mapped(onLower, func(v float64) float64 { return -v })} {
		if got, ok := Equivalent(x, 0.03, 0.95); !ok || got.Within {
			t.Errorf("one bound on the margin: Equivalent %v %v", got, ok)
		}
	}
	// Far below zero: not equivalent, but not inferior, and better with no margin at all.
	faster := mapped(x, func(v float64) float64 { return v - 0.5 })
	if got, ok := Equivalent(faster, 0.1, 0.95); !ok || got.Within {
		t.Errorf("a large gain: Equivalent %v %v", got, ok)
	}
	if got, ok := NonInferior(faster, 0, 0.95); !ok || !got.Within {
		t.Errorf("a large gain: NonInferior %v %v", got, ok)
	}
	slower := mapped(x, func(v float64) float64 { return v + 0.5 })
	if got, ok := Equivalent(slower, 0.1, 0.95); !ok || got.Within {
		t.Errorf("a large loss: Equivalent %v %v", got, ok)
	}
	if got, ok := NonInferior(slower, 0.1, 0.95); !ok || got.Within {
		t.Errorf("a large loss: NonInferior %v %v", got, ok)
	}
}

func TestMarginRefuses(t *testing.T) {
	bad := func(x []float64, margin, level float64) {
		t.Helper()
		if got, ok := Equivalent(x, margin, level); ok || got != (MarginTest{}) {
			t.Errorf("Equivalent(%v, %v, %v) = %v %v", x, margin, level, got, ok)
		}
		if got, ok := NonInferior(x, margin, level); ok || got != (MarginTest{}) {
			t.Errorf("NonInferior(%v, %v, %v) = %v %v", x, margin, level, got, ok)
		}
	}
	for _, margin := range []float64{-0.1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		bad(ascending(9), margin, 0.95)
	}
	for _, level := range []float64{0, 1, math.NaN()} {
		bad(ascending(9), 0.1, level)
	}
	bad(make([]float64, 4), 0.1, 0.95)      // all zero, but too few to tell
	bad(make([]float64, 9), 0.1, 1-0.05/26) // 9 values are enough for 25 cells at once
	bad([]float64{1, 2, math.NaN(), 4, 5}, 9, 0.5)
	if got, ok := Equivalent(make([]float64, 9), 0.1, 1-0.05/25); !ok || !got.Within {
		t.Errorf("25 cells of 9 values: %v %v", got, ok)
	}
}

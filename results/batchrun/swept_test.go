package batchrun

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestParseValues(t *testing.T) {
	for _, k := range []struct {
		name, list string
		want       []float64 // nil: refused
	}{
		{"max-tokens", "0,2048,1e3", []float64{0, 2048, 1000}},
		{"max-reqs", "7", []float64{7}},
		{stepBase, "0.02,0,1e-9,3600", []float64{3600, 0.02, 1e-9, 0}},
		{"max-tokens", "", nil},
		{"max-tokens", "5,5", nil},
		{"max-tokens", "5,5.0", nil},
		{"max-tokens", "-5", nil},
		{"max-tokens", "-0", nil},
		{"max-tokens", "4.5", nil},
		{"max-tokens", "NaN", nil},
		{"max-tokens", "1099511627777", nil},
		{"max-tokens", "inf", nil},
		{stepBase, "NaN", nil},
		{stepBase, "-0", nil},
		{stepBase, "1e-10", nil},
		{stepBase, "3600.5", nil},
		{stepBase, "0.001,0.02,0.005", []float64{0.02, 0.005, 0.001}},
		{stepBase, "0.1,0.10", nil},
		{stepBase, "0.1 ,2", nil},
	} {
		got, err := sweptBy(t, k.name).Parse(k.list)
		if !slices.Equal(got, k.want) || (err == nil) != (k.want != nil) || err != nil && !strings.Contains(err.Error(), "each once; this one is") {
			t.Errorf("%s=%s: %v (%v), want %v", k.name, k.list, got, err, k.want)
		}
	}
	if _, err := FindSwept("page-size"); err == nil || !strings.Contains(err.Error(), stepBase) {
		t.Errorf("page-size: %v, want an error that names what can be swept", err)
	}
}

// A value's text is exact, and no more than a file name may have.
func FuzzValueText(f *testing.F) {
	for _, list := range []string{"0,2048", "0.02094,0.0005", "1e-9", "1099511627776"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		for _, w := range swept {
			values, err := w.Parse(list)
			if err != nil {
				continue
			}
			for _, v := range values {
				name := w.Folder(v)
				back, err := strconv.ParseFloat(strings.TrimPrefix(name, w.Name+"-"), 64)
				if err != nil || math.Float64bits(back) != math.Float64bits(v) || len(name) > 60 || strings.ContainsAny(name, "/e+") != strings.ContainsAny(w.Name, "/e+") {
					t.Errorf("%v is in %q, read back as %v (%v)", v, name, back, err)
				}
			}
		}
	})
}

func TestAscending(t *testing.T) {
	limits := &Sweep{Name: "max-tokens", Runs: []SweepRun{{Value: 500}, {Value: 0}, {Value: 1}, {Value: 1 << 40}}}
	if got, want := limits.Ascending(), []int{2, 0, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: none is the largest", got, want)
	}
	bases := &Sweep{Name: stepBase, Runs: []SweepRun{{Value: 0.5}, {Value: 0}}}
	if got, want := bases.Ascending(), []int{1, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: a step without a fixed part is the smallest", got, want)
	}
}

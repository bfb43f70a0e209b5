package main

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	a, b, c := []float64{-1, -2, -3}, []float64{-2.5, -1, -3}, []float64{-3, -2, -1}
	inf := math.Inf(1)
	for _, test := range []struct {
		name         string
		ours, peers  generated
		want         comparison
		wantInErrors string
	}{
		{"equal", generatedOf(a, b), generatedOf(a, b), comparison{Same: 2, Noise: []float64{0, 0}}, ""},
		{"equal with noise", generatedOf(a), generatedOf([]float64{-1, -2.25, -3}), comparison{Same: 1, Noise: []float64{0.25}}, ""},
		{"second differs", generatedOf(a, b), generatedOf(a, c), comparison{Same: 1, Noise: []float64{0}, Differs: true, Ours: 1, Peers: 2, Gap: 2, PeersGap: 1}, ""},
		{"what differs is no noise", generatedOf(a), generatedOf(b), comparison{Differs: true, Ours: 0, Peers: 1, Gap: 1, PeersGap: 1.5}, ""},
		{"unknown choice", generatedOf(a), generatedOf([]float64{-3, -3, -3, -1}), comparison{Differs: true, Ours: 0, Peers: 3, Gap: inf, PeersGap: 2}, ""},
		{"after a difference nothing counts", generatedOf(a, a, b), generatedOf(b, a), comparison{Differs: true, Ours: 0, Peers: 1, Gap: 1, PeersGap: 1.5}, ""},
		{"one goes on", generatedOf(a, a), generatedOf(a), comparison{}, "2 ids of ours and 1 of the peer's"},
		{"nothing", generated{}, generatedOf(a), comparison{}, "ours: 0 ids"},
		{"no candidates", generatedOf(a), generated{IDs: []int64{1}}, comparison{}, "peer's: 1 ids and 0 lists"},
	} {
		got, err := compare(test.ours, test.peers)
		if test.wantInErrors != "" {
			if err == nil || !strings.Contains(err.Error(), test.wantInErrors) {
				t.Errorf("%s: %v, want an error with %q", test.name, err, test.wantInErrors)
			}
			continue
		}
		if err != nil || !slices.Equal(got.Noise, test.want.Noise) {
			t.Errorf("%s: noise %v (%v), want %v", test.name, got.Noise, err, test.want.Noise)
		}
		if got.Noise = test.want.Noise; !same(got, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func same(a, b comparison) bool {
	return a.Same == b.Same && a.Differs == b.Differs && a.Ours == b.Ours && a.Peers == b.Peers && a.Gap == b.Gap && a.PeersGap == b.PeersGap
}

// A peer whose candidates are ours with noise below e has a noise below 4e, and where it differs our lead is below 2e.
func TestNoiseBoundsALead(t *testing.T) {
	r, differed := seeded(5), 0
	for range 500 {
		const e = 0.1
		var ours, theirs [][]float64
		for range 1 + r.IntN(6) {
			o := make([]float64, 4)
			p := make([]float64, 4)
			for i := range o {
				o[i] = -r.Float64()
				p[i] = o[i] + e*(2*r.Float64()-1)
			}
			ours, theirs = append(ours, o), append(theirs, p)
		}
		c, err := compare(generatedOf(ours...), generatedOf(theirs...))
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Noise) != c.Same || slices.ContainsFunc(c.Noise, func(n float64) bool { return n < 0 || n > 2*e }) {
			t.Fatalf("noise %v at %d positions, want one each, at most %v", c.Noise, c.Same, 2*e)
		}
		if c.Differs {
			differed++
			if c.Gap < 0 || c.Gap > 2*e || c.PeersGap < 0 || c.PeersGap > 2*e {
				t.Fatalf("leads %v and %v, want 0 to %v", c.Gap, c.PeersGap, 2*e)
			}
		}
	}
	if differed < 50 {
		t.Errorf("%d of 500 differ: too few to show anything", differed)
	}
}

func TestJudge(t *testing.T) {
	quiet := comparison{Same: 5, Noise: []float64{0.1, 0.1, 0.1, 0.1, 0.2}}
	differs := func(gap float64) comparison {
		return comparison{Same: 3, Differs: true, Ours: 8, Peers: 9, Gap: gap, PeersGap: 0.05}
	}
	loud := comparison{Same: 5, Noise: []float64{3, 3, 3, 3, 3}}
	for _, test := range []struct {
		name  string
		all   []comparison
		texts bool   // errTexts
		want  string // of the output, or of another error
	}{
		{"equal", []comparison{quiet, quiet}, false, "equal"},
		{"at the largest noise", []comparison{quiet, differs(0.2)}, false, "within the noise"},
		{"above it", []comparison{quiet, differs(0.21)}, true, "DIFFERS"},
		{"unknown choice", []comparison{quiet, differs(math.Inf(1))}, true, "DIFFERS"},
		{"one above, one below", []comparison{differs(5), quiet, differs(0.1)}, true, "DIFFERS"},
		{"no rounding", []comparison{loud}, false, "that is no rounding"},
		{"too little", []comparison{{Differs: true}}, false, "0 positions have a noise"},
	} {
		var out bytes.Buffer
		err := judge(&out, test.all, 0.5)
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if errors.Is(err, errTexts) != test.texts || !strings.Contains(text, test.want) {
			t.Errorf("%s: %v\n%s\nwant %q, and texts that differ: %v", test.name, err, out.String(), test.want, test.texts)
		}
		if passes := test.want == "equal" || test.want == "within the noise"; (err == nil) != passes {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

func TestReadPrompts(t *testing.T) {
	got, err := readPrompts("one\n<|im_start|>user\\nSay \\\"é\\\"\\n\n")
	if want := []string{"one", "<|im_start|>user\nSay \"é\"\n"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
	for _, bad := range []string{"", "a\n\nb\n", `say "x"`, `\q`} {
		if _, err := readPrompts(bad); err == nil || !strings.Contains(err.Error(), "prompt ") {
			t.Errorf("%q: %v, want an error that names the prompt", bad, err)
		}
	}
}

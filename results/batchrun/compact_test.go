package batchrun

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Times are rounded to a tenth of a microsecond and keep their order; the caller's
// requests stay as they are.
func TestCompact(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	var at []float64
	for range 1000 {
		at = append(at, math.Exp(20*rng.Float64()-6))
	}
	slices.Sort(at)
	request := func() Request {
		sent, late := at[1], at[2]
		return Request{IntendedMS: at[0], SentMS: &sent, TokenMS: slices.Clone(at), Prefills: []Spread{{Batch: 1, Items: 2, AtMS: &late}}}
	}
	given := []Request{request()}
	got := writer{}.compact(given)[0]
	if !reflect.DeepEqual(given[0], request()) {
		t.Error("the caller's request has changed")
	}
	if !slices.IsSorted(got.TokenMS) {
		t.Error("the order is another")
	}
	for i, v := range got.TokenMS {
		if d := math.Abs(v - at[i]); d > 0.00005000001+1e-16*at[i] || math.Round(v*resolution)/resolution != v {
			t.Fatalf("%v is written as %v", at[i], v)
		}
	}
	if got.IntendedMS != fine(at[0]) || *got.SentMS != fine(at[1]) || *got.Prefills[0].AtMS != fine(at[2]) || got.DoneMS != nil {
		t.Errorf("%+v of %v", got, at[:3])
	}
}

// A hash stands once for answers that are alike, and comes back for all of them; scores
// stand beside it for body 0.
func TestHashesOfScores(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(3), func(trial *Trial, q []Request) {
		for i := range q {
			q[i].Scores = [][]float64{{0.25, float64(trial.Round) / 8}, {0, 1}}
			q[i].ScoresSHA256 = ScoresSHA256(q[i].Scores)
		}
		q[2].Error, q[2].ScoresSHA256, q[2].Scores = "reset", "", nil
	})
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	hashes, scores, failed := 0, 0, 0
	for _, of := range f.Requests {
		for _, r := range of {
			if r.ScoresSHA256 != "" {
				hashes++
			}
			if r.Scores != nil {
				scores++
			}
		}
	}
	if n := 3 * 3 * 2; hashes != n*5 || scores != n { // rounds, cells, arms; five bodies
		t.Errorf("%d hashes and %d scores, want %d and %d", hashes, scores, n*5, n)
	}
	f.restore()
	for i, of := range f.Requests {
		want := ScoresSHA256([][]float64{{0.25, float64(f.Trials[i].Round) / 8}, {0, 1}})
		for _, r := range of {
			if r.Error != "" {
				failed++
			} else if r.ScoresSHA256 != want {
				t.Fatalf("%s, request %d: hash %q, want %q", f.Trials[i].Slot(), r.Index, r.ScoresSHA256, want)
			}
		}
	}
	if failed != f.Plan.Len() {
		t.Errorf("%d failed requests", failed)
	}
	edit(t, dir, RawFile, `"scores":[[0.25,`, `"scores":[[0.5,`)
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "that of the scores") {
		t.Errorf("other scores: error %v", err)
	}
}

package batchrun

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
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
	got := compact(given)[0]
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

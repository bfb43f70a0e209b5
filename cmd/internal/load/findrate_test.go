package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func rates(f Found) (r []float64) {
	for _, b := range f.Bursts {
		r = append(r, b.RPS)
	}
	return r
}

// search is a search with a server that holds so many requests a second, on a clock that only bursts move.
func searchAgainst(t *testing.T, holds float64, change func(*RateSearch)) (Found, error) {
	t.Helper()
	r := DefaultRateSearch(1)
	r.Tries, r.Refine, r.Budget = 1, 0, 1000*time.Second
	change(&r)
	var now float64
	return r.find(func() time.Duration { return time.Duration(now * 1e9) }, func(s Schedule) (Validity, float64, error) {
		now += s.Seconds
		if s.RPS > holds {
			return Validity{Reasons: []string{"saturation: too fast"}}, s.Seconds, nil
		}
		return Validity{Valid: true}, s.Seconds, nil
	})
}

func TestFindRateSearch(t *testing.T) {
	tests := []struct {
		name   string
		holds  float64
		change func(*RateSearch)
		rates  []float64
		found  [3]float64 // safe, highest valid, lowest invalid
		why    string
	}{
		{"upward", 50, func(*RateSearch) {}, []float64{4, 8, 16, 32, 64}, [3]float64{16, 32, 64}, "beside"},
		{"downward", 1.5, func(*RateSearch) {}, []float64{4, 2, 1}, [3]float64{0.5, 1, 2}, "beside"},
		{"to the top", 1e9, func(r *RateSearch) { r.Most = 20 }, []float64{4, 8, 16, 20}, [3]float64{10, 20, 0}, "highest rate asked for"},
		{"refined", 40, func(r *RateSearch) { r.Refine = 2; r.From = 16; r.Factor = 4 }, []float64{16, 64, 32, math.Sqrt(32 * 64)}, [3]float64{16, 32, math.Sqrt(32 * 64)}, "beside"},
		{"tries", 20, func(r *RateSearch) { r.Tries = 3 }, []float64{4, 8, 16, 32, 32, 32}, [3]float64{8, 16, 32}, "beside"},
		{"fraction", 50, func(r *RateSearch) { r.Fraction = 0.25 }, []float64{4, 8, 16, 32, 64}, [3]float64{8, 32, 64}, "beside"},
		// 4 a second needs 5 s for 20 requests, 8 needs 2.5, 16 needs 1.25.
		{"time", 50, func(r *RateSearch) { r.Budget = 8 * time.Second }, []float64{4, 8}, [3]float64{4, 8, 0}, "its time, 8s"},
	}
	for _, test := range tests {
		f, err := searchAgainst(t, test.holds, test.change)
		if err != nil || !slices.Equal(rates(f), test.rates) || [3]float64{f.RPS, f.Highest, f.Invalid} != test.found || !strings.Contains(f.Stopped, test.why) {
			t.Errorf("%s: bursts %v, found %v %v %v, %q, error %v; want bursts %v, %v, %q",
				test.name, rates(f), f.RPS, f.Highest, f.Invalid, f.Stopped, err, test.rates, test.found, test.why)
		}
		for i, b := range f.Bursts {
			if b.Seed != 1+uint64(i) || b.Seconds < 1 || b.Seconds*b.RPS < 20-1e-9 {
				t.Errorf("%s: burst %+v, want a seed of its own, a second and 20 requests or more", test.name, b)
			}
		}
	}
}

func TestFindRateFindsNone(t *testing.T) {
	f, err := searchAgainst(t, 0.1, func(*RateSearch) {})
	if err == nil || !strings.Contains(err.Error(), "no rate is safe; the search ended at the lowest rate asked for, 0.25") || !strings.Contains(err.Error(), "too fast") {
		t.Errorf("%+v, error %v; want none, and why", f, err)
	}
	if _, err := searchAgainst(t, 9, func(r *RateSearch) { r.Budget = time.Second }); err == nil || !strings.Contains(err.Error(), "ended at its time, 1s") {
		t.Errorf("no time for a burst: error %v", err)
	}
}

func TestFindRateRefuses(t *testing.T) {
	for _, change := range []func(*RateSearch){
		func(r *RateSearch) { r.From = 0 }, func(r *RateSearch) { r.From = math.NaN() }, func(r *RateSearch) { r.Least = -1 },
		func(r *RateSearch) { r.Most = 1 }, func(r *RateSearch) { r.Most = math.Inf(1) }, func(r *RateSearch) { r.Factor = 1 },
		func(r *RateSearch) { r.Fraction = 0 }, func(r *RateSearch) { r.Fraction = 1.1 }, func(r *RateSearch) { r.Seconds = 0 },
		func(r *RateSearch) { r.Requests = 0 }, func(r *RateSearch) { r.Tries = 0 }, func(r *RateSearch) { r.Refine = -1 },
	} {
		r := DefaultRateSearch(1)
		change(&r)
		f, err := r.find(func() time.Duration { return 0 }, func(Schedule) (Validity, float64, error) { return Validity{}, 0, errors.New("tried") })
		if err == nil || err.Error() == "tried" {
			t.Errorf("%+v: %+v, error %v; want it refused before a burst", r, f, err)
		}
	}
}

// A real server that answers one request in 5 ms or more holds at most 200 a second, and a burst of 320
// is found out.
func TestFindRateOfAServer(t *testing.T) {
	var mu sync.Mutex
	target := handler(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	})
	r := DefaultRateSearch(1)
	r.Limits, r.From, r.Seconds, r.Budget, r.Refine = lenient, 20, 0.5, guard, 0
	f, err := FindRate(context.Background(), r, target, InTurn(numbered(5)), nil)
	if err != nil && strings.Contains(err.Error(), "no rate is safe") {
		t.Logf("a machine too busy for any rate: %v", err) // which is said, not hidden
	} else if err != nil || f.RPS != f.Highest/2 {
		t.Errorf("%+v, error %v; want a rate found", f, err)
	}
	if f.Highest > 250 || f.Invalid == 0 {
		t.Errorf("%v a second found valid, %v not; the server holds 200", f.Highest, f.Invalid)
	}
}

// A server that never answers does not hold the search beyond its time.
func TestFindRateEndsInItsTime(t *testing.T) {
	release := make(chan struct{})
	target := handler(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	r := DefaultRateSearch(1)
	r.From, r.Seconds, r.Requests, r.Tries, r.Budget = 50, 0.3, 5, 1, 500*time.Millisecond
	if f, err := FindRate(context.Background(), r, target, InTurn(numbered(5)), nil); err == nil || !strings.Contains(err.Error(), "no rate is safe; the search ended at its time") || len(f.Bursts) != 1 {
		t.Errorf("%+v, error %v; want one burst, cut off", f, err)
	}
}

// A burst that is too short to be found out holds no more than it was answered at.
func TestFindRateOfShortBursts(t *testing.T) {
	const capacity = 6.5
	r := DefaultRateSearch(1)
	r.From, r.Budget = 8, 1000*time.Second
	f, err := r.find(func() time.Duration { return 0 }, func(s Schedule) (Validity, float64, error) {
		result := queue(s, func() float64 { return 1 / capacity })
		wall := *result.Sent[len(s.At)-1].Done
		return Judge(s, result, NullLimits()), wall, nil
	})
	if err != nil || f.Highest > 1.25*capacity || f.Highest < capacity/1.25 {
		t.Errorf("%+v, error %v; want the %v that the server holds, about", f, err, capacity)
	}
}

// Every request of a search has a body of its own, through all bursts, and check is told which.
func TestFindRateRepeatsNoBody(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	target := handler(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		got[string(body)]++
		mu.Unlock()
		_, _ = w.Write(body) // the sender may have gone
	})
	r := DefaultRateSearch(1)
	r.Limits, r.From, r.Most, r.Seconds, r.Requests, r.Budget = lenient, 100, 400, 0.1, 10, guard
	fresh := func(first, n int) ([][]byte, error) { return numbered(first + n)[first:], nil }
	f, err := FindRate(context.Background(), r, target, fresh, func(sent Sent) error {
		if want := fmt.Sprintf("body %d", sent.Request); string(sent.Body) != want {
			t.Errorf("the answer is %q, want %q", sent.Body, want)
		}
		return nil
	})
	if err != nil && !strings.Contains(err.Error(), "no rate is safe") {
		t.Fatal(err)
	}
	requests := 0
	for _, b := range f.Bursts {
		requests += b.Requests
	}
	if len(f.Bursts) < 2 || len(got) != requests {
		t.Errorf("%d bodies in %d requests of %d bursts, want each once, over several bursts", len(got), requests, len(f.Bursts))
	}
	if _, err := FindRate(context.Background(), r, target, InTurn(nil), nil); err == nil || !strings.Contains(err.Error(), "no bodies") {
		t.Errorf("a search with nothing to send: error %v", err)
	}
}

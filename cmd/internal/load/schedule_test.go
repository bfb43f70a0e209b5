package load

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func poisson(seed uint64, rps, seconds float64) Spec {
	return Spec{Seed: seed, Distribution: Poisson, RPS: rps, Seconds: seconds, Unique: 100, Shards: 1}
}

func newSchedule(t testing.TB, spec Spec) Schedule {
	t.Helper()
	s, err := NewSchedule(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpecRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		change func(*Spec)
		want   string
	}{
		{func(s *Spec) { s.RPS = 0 }, "rate 0 "},
		{func(s *Spec) { s.RPS = -3 }, "rate -3 "},
		{func(s *Spec) { s.RPS = nan }, "rate NaN "},
		{func(s *Spec) { s.RPS = inf }, "rate +Inf "},
		{func(s *Spec) { s.Seconds = 0 }, "duration 0 s"},
		{func(s *Spec) { s.Seconds = nan }, "duration NaN s"},
		{func(s *Spec) { s.Seconds = inf }, "duration +Inf s"},
		{func(s *Spec) { s.RPS = 1e12 }, "more than 20000000 requests"},
		{func(s *Spec) { s.RPS, s.Seconds = 1e-9, 1 }, "has no request in 1 s"},
		{func(s *Spec) { s.Distribution = "uniform" }, `distribution "uniform", want poisson or constant`},
		{func(s *Spec) { s.Unique = 0 }, "0 different requests"},
		{func(s *Spec) { s.Shards = 0 }, "0 shards"},
		{func(s *Spec) { s.Shard = 1 }, "shard 1 of 1"},
		{func(s *Spec) { s.Shard = -1 }, "shard -1 of 1"},
	}
	for _, test := range tests {
		spec := poisson(1, 100, 2)
		test.change(&spec)
		if s, err := NewSchedule(spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %d times and error %v, want one with %q", spec, len(s.At), err, test.want)
		}
	}
}

// Times rise from 0 to below the end, are whole nanoseconds, and bodies are taken in turn.
func TestScheduleProperties(t *testing.T) {
	for seed := range uint64(50) {
		for _, distribution := range []string{Poisson, Constant} {
			spec := poisson(seed, 10+37*float64(seed), 0.5+float64(seed%7))
			spec.Distribution = distribution
			s := newSchedule(t, spec)
			if !slices.IsSorted(s.At) || s.At[0] < 0 || s.At[len(s.At)-1] >= spec.Seconds {
				t.Errorf("%+v: times from %v to %v, want rising ones from 0 to below the end", spec, s.At[0], s.At[len(s.At)-1])
			}
			for i, at := range s.At {
				if ns := math.Round(at * 1e9); ns/1e9 != at || s.Request[i] != i%spec.Unique {
					t.Fatalf("%+v: time %d is %v with body %d, want whole nanoseconds and body %d", spec, i, at, s.Request[i], i%spec.Unique)
				}
			}
			if again := newSchedule(t, spec); !slices.Equal(again.At, s.At) {
				t.Errorf("%+v: drawn again, the times differ", spec)
			}
		}
	}
}

func gaps(at []float64) []float64 {
	before := 0.0
	var g []float64
	for _, t := range at {
		g = append(g, t-before)
		before = t
	}
	return g
}

// kolmogorov is sqrt(n) times the distance between the values and the exponential distribution of the
// mean: above 1.95 in one of a thousand samples of it.
func kolmogorov(x []float64, mean float64) float64 {
	slices.Sort(x)
	d, n := 0.0, float64(len(x))
	for i, v := range x {
		f := 1 - math.Exp(-v/mean)
		d = max(d, f-float64(i)/n, float64(i+1)/n-f)
	}
	return d * math.Sqrt(n)
}

// The test of the test: it tells exponential gaps from others of the same mean.
func TestKolmogorovCanFail(t *testing.T) {
	even := make([]float64, 1000)
	for i := range even {
		even[i] = 0.005 + 0.00001*float64(i) // from half the mean to one and a half
	}
	if d := kolmogorov(even, 0.01); d < 1.95 {
		t.Errorf("distance of uniform gaps %v, want above 1.95", d)
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	for seed := range uint64(20) {
		s := newSchedule(t, poisson(seed, 400, 10))
		if d := kolmogorov(gaps(s.At), 1.0/400); d > 1.95 {
			t.Errorf("seed %d: distance %v from exponential gaps, want at most 1.95", seed, d)
		}
	}
}

// Counts over equal spans are Poisson, in their number of spans with k requests: the chi-square of ten classes
// is above 27.9 in one of a thousand samples.
func TestPoissonCounts(t *testing.T) {
	s := newSchedule(t, poisson(3, 40, 100))
	counts := make([]float64, 1000) // of spans of 0.1 s, 4 on average
	for _, at := range s.At {
		counts[int(at*10)]++
	}
	seen, want := make([]float64, 10), make([]float64, 10)
	for _, c := range counts {
		seen[min(int(c), 9)]++
	}
	p, rest := math.Exp(-4), 1.0
	for k := range 9 {
		want[k], rest = 1000*p, rest-p
		p *= 4 / float64(k+1)
	}
	want[9] = 1000 * rest
	chi := 0.0
	for k := range seen {
		chi += (seen[k] - want[k]) * (seen[k] - want[k]) / want[k]
	}
	if chi > 27.9 {
		t.Errorf("chi-square %v, want at most 27.9: spans %v, want about %v", chi, seen, want)
	}
}

// A schedule is never rescaled to the rate asked for: over seeds, its number of requests varies as a
// Poisson count does, with a variance like its mean. The ratio of 400 lies in 1 +- 3.3*sqrt(2/399).
func TestPoissonIsNotRescaled(t *testing.T) {
	var sum, squares float64
	const n = 400
	for seed := range uint64(n) {
		k := float64(len(newSchedule(t, poisson(seed, 50, 2)).At))
		sum, squares = sum+k, squares+k*k
	}
	mean := sum / n
	variance := (squares - n*mean*mean) / (n - 1)
	if ratio := variance / mean; ratio < 0.766 || ratio > 1.234 || math.Abs(mean-100) > 3.3*10/math.Sqrt(n) {
		t.Errorf("requests %v on average with variance %v, want 100 of both", mean, variance)
	}
}

func shards(t *testing.T, spec Spec, n int) (all []float64, each [][]float64) {
	t.Helper()
	for i := range n {
		spec.Shard, spec.Shards = i, n
		s := newSchedule(t, spec)
		all, each = append(all, s.At...), append(each, s.At)
	}
	slices.Sort(all)
	return all, each
}

// Shards are Poisson loads of a part of the rate each, together one of the whole, and independent: the counts of
// two shards over equal spans do not go together (a correlation of 1,000 spans beyond 0.104 comes
// in one of a thousand samples).
func TestPoissonShards(t *testing.T) {
	all, each := shards(t, poisson(11, 200, 50), 4)
	if d := kolmogorov(gaps(all), 1.0/200); d > 1.95 {
		t.Errorf("together: distance %v from exponential gaps, want at most 1.95", d)
	}
	for i, at := range each {
		if d := kolmogorov(gaps(at), 4.0/200); d > 1.95 {
			t.Errorf("shard %d: distance %v from exponential gaps, want at most 1.95", i, d)
		}
		for j := range i {
			if c := correlation(spans(at), spans(each[j])); math.Abs(c) > 0.104 {
				t.Errorf("shards %d and %d: correlation %v, want about 0", j, i, c)
			}
		}
	}
	if c := correlation(spans(each[0]), spans(each[0])); c < 0.99 {
		t.Errorf("a shard's correlation with itself is %v, want 1", c)
	}
}

func spans(at []float64) []float64 {
	counts := make([]float64, 1000)
	for _, t := range at {
		counts[int(t*20)]++
	}
	return counts
}

func correlation(x, y []float64) float64 {
	var sx, sy, xx, yy, xy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		xx, yy, xy = xx+x[i]*x[i], yy+y[i]*y[i], xy+x[i]*y[i]
	}
	n := float64(len(x))
	return (n*xy - sx*sy) / math.Sqrt((n*xx-sx*sx)*(n*yy-sy*sy))
}

func TestConstantShardsMakeTheWhole(t *testing.T) {
	spec := poisson(1, 30, 3)
	spec.Distribution = Constant
	whole := newSchedule(t, spec)
	if len(whole.At) != 90 || whole.At[45] != 1.5 {
		t.Errorf("%d times, the 45th %v; want 90, and 1.5", len(whole.At), whole.At[45])
	}
	for _, n := range []int{2, 3, 7} {
		if all, _ := shards(t, spec, n); !slices.Equal(all, whole.At) {
			t.Errorf("%d shards together have other times than the whole", n)
		}
	}
}

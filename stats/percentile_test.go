package stats

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

// scipy's ranks and coverages, and the nearest ranks of Python's fractions.
func TestPercentileAgainstScipy(t *testing.T) {
	raw, err := os.ReadFile("testdata/percentile.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Cases []struct {
			N         int
			Q         float64
			Rank      int
			Intervals []struct {
				Level     float64
				Low, High *int
				Covered   *float64
			}
		}
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 150 {
		t.Fatalf("%d cases, expected at least 150", len(g.Cases))
	}
	for _, c := range g.Cases {
		if rank, ok := NearestRank(c.N, c.Q); !ok || rank != c.Rank {
			t.Errorf("rank of %v among %d: %d %v, Python says %d", c.Q, c.N, rank, ok, c.Rank)
		}
		for _, i := range c.Intervals {
			low, high, covered, ok := PercentileRanks(c.N, c.Q, i.Level)
			if ok != (i.Low != nil) {
				t.Errorf("n %d, q %v, level %v: there is an interval: %v, scipy has %v", c.N, c.Q, i.Level, ok, i.Low)
				continue
			}
			if ok && (low != *i.Low || high != *i.High || math.Abs(covered-*i.Covered) > 1e-11) {
				t.Errorf("n %d, q %v, level %v: [%d, %d] with %v, scipy [%d, %d] with %v", c.N, c.Q, i.Level, low, high, covered, *i.Low, *i.High, *i.Covered)
			}
		}
	}
}

// The dumb twin: all probabilities as ratios of whole numbers, every pair of ranks.
func TestPercentileRanksByEnumeration(t *testing.T) {
	for n := 1; n <= 36; n += 5 {
		for _, q := range []float64{0.05, 0.5, 0.9, 0.93} {
			for _, level := range []float64{0.5, 0.9, 0.95} {
				low, high, covered, ok := PercentileRanks(n, q, level)
				wantLow, wantHigh, want := enumerated(n, q, level)
				if ok != (wantLow > 0 && wantHigh <= n) {
					t.Fatalf("n %d, q %v, level %v: ok %v, enumerated [%d, %d]", n, q, level, ok, wantLow, wantHigh)
				}
				if ok && (low != wantLow || high != wantHigh || covered != want || covered < level) {
					t.Fatalf("n %d, q %v, level %v: [%d, %d] %v, enumerated [%d, %d] %v", n, q, level, low, high, covered, wantLow, wantHigh, want)
				}
			}
		}
	}
}

func enumerated(n int, q, level float64) (low, high int, covered float64) {
	share, _ := shareOf(q)
	tail, _ := tailOf(level)
	at := func(j int) *big.Rat { // P(Bin = j)
		p := new(big.Rat).SetInt(new(big.Int).Binomial(int64(n), int64(j)))
		for i := range n {
			if i < j {
				p.Mul(p, share)
			} else {
				p.Mul(p, new(big.Rat).Sub(big.NewRat(1, 1), share))
			}
		}
		return p
	}
	sum := func(from, to int) *big.Rat {
		s := new(big.Rat)
		for j := from; j <= to; j++ {
			s.Add(s, at(j))
		}
		return s
	}
	for k := 1; k <= n && sum(0, k-1).Cmp(tail) <= 0; k++ {
		low = k
	}
	for high = n + 1; high > 1 && sum(high-1, n).Cmp(tail) <= 0; high-- {
	}
	covered, _ = sum(low, high-1).Float64()
	return low, high, covered
}

// At the median the ranks are those of OrderStatistic, whose method is another.
func TestPercentileIntervalOfTheMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 200; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		want, wantOK := OrderStatistic(x, 0.95)
		got, ok := PercentileInterval(x, 0.5, 0.95)
		if ok != wantOK || got.Low != want.Low || got.High != want.High || math.Abs(got.Level-want.Level) > 1e-15 {
			t.Fatalf("n %d: %+v %v, OrderStatistic %+v %v", n, got, ok, want, wantOK)
		}
	}
}

// The interval holds the quantile as often as it says.
func TestPercentileCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const runs, n = 4000, 60
	held := 0
	_, _, covered, ok := PercentileRanks(n, 0.9, 0.95)
	if !ok {
		t.Fatal("no interval for the 90th percentile of 60 values")
	}
	for range runs {
		x := make([]float64, n)
		for i := range x {
			x[i] = rng.ExpFloat64()
		}
		i, _ := PercentileInterval(x, 0.9, 0.95)
		if truth := -math.Log(0.1); i.Low <= truth && truth <= i.High {
			held++
		}
	}
	if share := float64(held) / runs; math.Abs(share-covered) > 4*math.Sqrt(covered*(1-covered)/runs) {
		t.Errorf("held in %v of the runs, stated %v", share, covered)
	}
}

func TestPercentileBadInput(t *testing.T) {
	x := []float64{3, 1, 2}
	for _, q := range []float64{0, 1, -1, math.NaN(), math.Inf(1)} {
		if _, ok := Percentile(x, q); ok {
			t.Errorf("there is a percentile for q %v", q)
		}
		if _, _, _, ok := PercentileRanks(100, q, 0.95); ok {
			t.Errorf("there are ranks for q %v", q)
		}
	}
	if _, ok := Percentile([]float64{1, math.NaN()}, 0.5); ok {
		t.Error("a NaN has a percentile")
	}
	if _, ok := PercentileInterval([]float64{1, 2, 3, 4, 5, 6, 7, math.Inf(1)}, 0.5, 0.95); ok {
		t.Error("an infinity has an interval")
	}
	if _, ok := Percentile(nil, 0.5); ok {
		t.Error("no values have a percentile")
	}
	if v, ok := Percentile(x, 0.5); !ok || v != 2 || x[0] != 3 {
		t.Errorf("median of 3 1 2: %v %v, and the values are now %v", v, ok, x)
	}
	for n, want := range map[float64]int{0.5: 6, 0.9: 36, 0.99: 368} {
		for size := 1; ; size++ {
			if _, _, _, ok := PercentileRanks(size, n, 0.95); ok {
				if size != want {
					t.Errorf("the first interval for q %v is at n = %d, documented %d", n, size, want)
				}
				break
			}
		}
	}
}

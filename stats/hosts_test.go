package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// dumbMeanInterval tries every value of the data with SignE itself.
func dumbMeanInterval(hosts [][]float64, level float64, cells int) (Interval, bool) {
	threshold, _ := EThreshold(cells, level)
	mean := func(v float64) float64 {
		var e []float64
		for _, x := range hosts {
			shifted := make([]float64, len(x))
			for i := range x {
				shifted[i] = x[i] - v
			}
			s, _ := SignE(shifted, Either)
			e = append(e, s)
		}
		m, _ := MeanE(e)
		return m
	}
	all := slices.Concat(hosts...)
	i := Interval{Low: math.Inf(1), High: math.Inf(-1), Level: level}
	for _, v := range all {
		if mean(v) < threshold {
			i.Low, i.High = min(i.Low, v), max(i.High, v)
		}
	}
	outside := mean(slices.Min(all)-1) >= threshold && mean(slices.Max(all)+1) >= threshold
	return i, outside && i.Low <= i.High
}

func TestTimeUniformMeanAgainstTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	there := 0
	for range 300 {
		hosts := make([][]float64, 1+rng.IntN(4))
		for i := range hosts {
			centre := float64(rng.IntN(3))
			for range 6 + rng.IntN(20) {
				hosts[i] = append(hosts[i], math.Round(4*(centre+rng.NormFloat64()))/4)
			}
		}
		cells := 1 + rng.IntN(3)
		got, ok := TimeUniformMean(hosts, 0.95, cells)
		want, wanted := dumbMeanInterval(hosts, 0.95, cells)
		if ok != wanted || ok && got != want {
			t.Fatalf("%v: %v %v, want %v %v", hosts, got, ok, want, wanted)
		}
		if ok {
			there++
		}
	}
	if there < 100 {
		t.Errorf("%d of 300 data sets have an interval, want enough to compare", there)
	}
}

func TestTimeUniformMeanOfOneHost(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		var x []float64
		for range n + 1 {
			x = append(x, rng.NormFloat64())
		}
		got, ok := TimeUniformMean([][]float64{x}, 0.95, 1)
		want, wanted := TimeUniform(x, 0.95, 1)
		if ok != wanted || got != want {
			t.Errorf("%d values: %v %v, want %v %v", n+1, got, ok, want, wanted)
		}
	}
}

func TestTimeUniformMeanRefuses(t *testing.T) {
	long := make([]float64, 12)
	for name, hosts := range map[string][][]float64{
		"no hosts": nil, "an empty host": {long, nil}, "a NaN": {long, {math.NaN()}}, "few values": {{1, 2, 3}},
		"contradiction": {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9}},
	} {
		if i, ok := TimeUniformMean(hosts, 0.95, 1); ok {
			t.Errorf("%s: %v, want no interval", name, i)
		}
	}
	if _, ok := TimeUniformMean([][]float64{long}, 1.5, 1); ok {
		t.Error("level 1.5 has an interval")
	}
}

// The share of null campaigns whose mean e-value ever rejects stays below the
// level, with hosts that stop when they like.
func TestMeanOfStoppedEValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const runs = 2000
	wrong := 0
	for range runs {
		var e []float64
		for range 3 {
			var x []float64
			best := 0.0
			for len(x) < 30 {
				x = append(x, rng.NormFloat64())
				if best, _ = SignE(x, Either); best >= 20 {
					break
				}
			}
			e = append(e, best)
		}
		if m, _ := MeanE(e); m >= 20 {
			wrong++
		}
	}
	if limit := 0.05*runs + 4*math.Sqrt(runs*0.05*0.95); float64(wrong) > limit {
		t.Errorf("%d of %d reject, want at most %.0f", wrong, runs, limit)
	}
}

// Kruskal and Wallis by hand: ranks 1 2 3 and 4 5 6 about 3.5, 3*1.5^2 twice.
func TestBlockEffectByHand(t *testing.T) {
	sample := FlipSample{Draws: 4000, Seed: 1}
	got, err := BlockEffect([][]float64{{1, 2, 3}, {4, 5, 6}}, sample)
	if err != nil || got.Statistic != 13.5 {
		t.Errorf("%+v, %v; want statistic 13.5", got, err)
	}
	if exact := 2.0 / 20; math.Abs(got.P-exact) > 4*math.Sqrt(exact*(1-exact)/4000) {
		t.Errorf("p = %v, want about %v: 2 of 20 ways to deal three of six", got.P, exact)
	}
	if equal, err := BlockEffect([][]float64{{1, 1}, {1, 1, 1}}, sample); err != nil || equal.P != 1 || equal.Statistic != 0 {
		t.Errorf("equal values: %+v, %v; want 0 and p = 1", equal, err)
	}
	for _, blocks := range [][][]float64{nil, {{1}}, {{1}, {}}, {{1}, {math.NaN()}}} {
		if _, err := BlockEffect(blocks, sample); err == nil {
			t.Errorf("%v: no error", blocks)
		}
	}
	if _, err := BlockEffect([][]float64{{1}, {2}}, FlipSample{}); err == nil {
		t.Error("no draws: no error")
	}
}

// Where nothing differs p is uniform; where one host differs it is small.
func TestBlockEffectFindsHosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	draw := func(shift float64) [][]float64 {
		blocks := make([][]float64, 4)
		for i := range blocks {
			for range 9 {
				blocks[i] = append(blocks[i], rng.NormFloat64()+shift*float64(i/3))
			}
		}
		return blocks
	}
	const runs = 300
	alarms, found := 0, 0
	for i := range runs {
		sample := FlipSample{Draws: 199, Seed: uint64(i)}
		null, _ := BlockEffect(draw(0), sample)
		far, _ := BlockEffect(draw(3), sample)
		if null.P <= 0.05 {
			alarms++
		}
		if far.P <= 0.05 {
			found++
		}
	}
	if limit := 0.05*runs + 4*math.Sqrt(runs*0.05*0.95); float64(alarms) > limit || found < runs*9/10 {
		t.Errorf("%d alarms (at most %.0f), %d of %d hosts found", alarms, limit, found, runs)
	}
}

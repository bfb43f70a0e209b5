package stats

import (
	"encoding/json"
	"math"
	"os"
	"testing"
)

// intervalsGolden is what scripts/stats_golden_intervals.py wrote: the opinion of
// scipy on tests, bounds and power.
type intervalsGolden struct {
	Cases []intervalsCase
	Large []struct {
		N, K            int
		Level, Attained float64
	}
	Powers []struct {
		N               int
		Level, Effect80 float64
		Power           [][2]float64 // effect in standard deviations, power
	}
}

type intervalsCase struct {
	Name           string
	Values         []float64
	CandidateFirst []bool  `json:"candidate_first"`
	HodgesLehmann  float64 `json:"hodges_lehmann"`
	MADSigma       float64 `json:"mad_sigma"`
	Lag1           float64
	Position       struct {
		Shift float64
		P     *float64
	}
	Intervals []struct {
		Level        float64
		SignedRank   *[2]float64 `json:"signed_rank"`
		Upper, Lower *float64
	}
}

func readIntervalsGolden(t *testing.T) intervalsGolden {
	t.Helper()
	raw, err := os.ReadFile("testdata/intervals.json")
	if err != nil {
		t.Fatal(err)
	}
	var g intervalsGolden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 15 || len(g.Large) < 20 || len(g.Powers) < 25 {
		t.Fatalf("%d cases, %d large ones and %d powers", len(g.Cases), len(g.Large), len(g.Powers))
	}
	return g
}

func TestSignedRankAgainstScipy(t *testing.T) {
	intervals := 0
	for _, c := range readIntervalsGolden(t).Cases {
		if got := HodgesLehmann(c.Values); got != c.HodgesLehmann {
			t.Errorf("%s: %v, want %v", c.Name, got, c.HodgesLehmann)
		}
		w := walshAverages(c.Values)
		distinct := true
		for i := range w[1:] {
			distinct = distinct && w[i] < w[i+1]
		}
		for _, i := range c.Intervals {
			got, ok := SignedRank(c.Values, i.Level)
			if !distinct {
				continue // not asked of scipy
			}
			if ok != (i.SignedRank != nil) || ok && [2]float64{got.Low, got.High} != *i.SignedRank {
				t.Errorf("%s %v: %v %v, scipy says %v", c.Name, i.Level, got, ok, i.SignedRank)
			}
			intervals += oneIf(ok)
		}
	}
	if intervals < 60 {
		t.Errorf("only %d intervals were compared", intervals)
	}
}

func TestSignedRankAgainstCounts(t *testing.T) {
	for _, c := range readIntervalsGolden(t).Large {
		x := ascending(c.N)
		w := walshAverages(x)
		got, ok := SignedRank(x, c.Level)
		if !ok || got.Low != w[c.K-1] || got.High != w[len(w)-c.K] || !near(got.Level, c.Attained, 1e-13) {
			t.Errorf("n=%d level %v: %v %v, want w(%d) and %v", c.N, c.Level, got, ok, c.K, c.Attained)
		}
	}
}

func TestBoundsAgainstScipy(t *testing.T) {
	bounds := 0
	for _, c := range readIntervalsGolden(t).Cases {
		for _, i := range c.Intervals {
			upper, ok := UpperBound(c.Values, i.Level)
			if ok != (i.Upper != nil) || ok && upper.Value != *i.Upper {
				t.Errorf("%s %v: upper %v %v, scipy says %v", c.Name, i.Level, upper, ok, i.Upper)
			}
			lower, ok := LowerBound(c.Values, i.Level)
			if ok != (i.Lower != nil) || ok && lower.Value != *i.Lower {
				t.Errorf("%s %v: lower %v %v, scipy says %v", c.Name, i.Level, lower, ok, i.Lower)
			}
			bounds += oneIf(ok)
		}
	}
	if bounds < 80 {
		t.Errorf("only %d bounds were compared", bounds)
	}
}

func TestPowerAgainstScipy(t *testing.T) {
	for _, c := range readIntervalsGolden(t).Powers {
		for _, p := range c.Power {
			got, ok := SignPower(normalTail(p[0]), c.N, c.Level)
			if !ok || math.Abs(got-p[1]) > 1e-11*p[1] {
				t.Errorf("n=%d level %v, %v sd: %v %v, scipy says %v", c.N, c.Level, p[0], got, ok, p[1])
			}
		}
		if got, ok := SmallestEffect(0.01, c.N, c.Level, 0.8); !ok || !near(100*got, c.Effect80, 1e-9) {
			t.Errorf("n=%d level %v: %v %v, scipy says %v", c.N, c.Level, 100*got, ok, c.Effect80)
		}
	}
}

func TestDiagnosticsAgainstScipy(t *testing.T) {
	positions := 0
	for _, c := range readIntervalsGolden(t).Cases {
		if got := RobustSpread(c.Values); !near(got, smallSample(len(c.Values))*c.MADSigma, 1e-14) {
			t.Errorf("%s: spread %v, scipy says %v before the correction", c.Name, got, c.MADSigma)
		}
		if got, ok := Autocorrelation(c.Values, 0.95); !ok || !near(got.R, c.Lag1, 1e-12) {
			t.Errorf("%s: lag-1 %v %v, numpy says %v", c.Name, got, ok, c.Lag1)
		}
		got, ok := PositionEffect(c.Values, c.CandidateFirst)
		if !ok || !near(got.Shift, c.Position.Shift, 1e-14) {
			t.Errorf("%s: position %v %v, numpy says %v", c.Name, got, ok, c.Position.Shift)
		}
		if c.Position.P != nil {
			positions++
			if !near(got.P, *c.Position.P, 1e-12) {
				t.Errorf("%s: position P %v, scipy says %v", c.Name, got.P, *c.Position.P)
			}
		}
	}
	if positions < 15 {
		t.Errorf("only %d positions were compared", positions)
	}
}

package batchrun

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/fanoutbench/fanoutbench/stats"
)

// The merged histogram has every answered request, and its percentiles are the
// nearest-rank ones of the requests within its three digits.
func TestHistogramsMerge(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(7), func(trial *Trial, q []Request) {
		if trial.Cell == 2 {
			q[3].Error = "timed out" // in no histogram
		}
	})
	f, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, HistName(2, Reference)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := readLog(b)
	if err != nil || len(all) != 7 {
		t.Fatalf("%d histograms (%v), want one for each of 7 rounds", len(all), err)
	}
	merged := hdrhistogram.New(histLeast, histMost, histDigits)
	for _, h := range all {
		if dropped := merged.Merge(h); dropped > 0 {
			t.Errorf("%d values were dropped", dropped)
		}
	}
	var took []float64
	for i, trial := range f.Trials {
		if trial.Cell != 2 || trial.Arm != Reference {
			continue
		}
		for _, r := range f.Requests[i] {
			if r.Error == "" {
				took = append(took, *r.DoneMS-r.IntendedMS)
			}
		}
	}
	if merged.TotalCount() != 7*39 || len(took) != 7*39 {
		t.Errorf("%d values and %d requests, want 273", merged.TotalCount(), len(took))
	}
	for _, q := range Quantiles {
		want, ok := stats.Percentile(took, q)
		got := float64(merged.ValueAtQuantile(100*q)) / 1e6
		if !ok || math.Abs(got-want) > 0.002*want {
			t.Errorf("quantile %v: %v ms in the histogram, %v of the requests", q, got, want)
		}
	}
}

// The file's lines are those of the format, as other tools look for them.
func TestHistogramLog(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(2), nil)
	b, err := os.ReadFile(filepath.Join(dir, HistName(0, Candidate)))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	wants := []string{"#[response times of answered requests in ns: single 50 items, candidate]", "#[Histogram log format version 1.3]", "#[StartTime: 1700000000 (seconds since epoch)", `"StartTimestamp","Interval_Length"`, "Tag=round-0,1700000000.000000,", "Tag=round-1,1700000000.000000,"}
	if len(lines) != len(wants) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(wants), b)
	}
	for i, want := range wants {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %.80q, want it to begin %q", i+1, lines[i], want)
		}
	}
}

// A time that no histogram holds is an error, not a value that is left out.
func TestHistogramRange(t *testing.T) {
	sent, done := 0.0, 48*3600*1000.0
	if _, err := histogram(Trial{}, []Request{{SentMS: &sent, DoneMS: &done}}); err == nil {
		t.Error("two days are in a histogram of one day")
	}
}

func FuzzReadLog(f *testing.F) {
	var b bytes.Buffer
	h := hdrhistogram.New(histLeast, histMost, histDigits)
	if err := h.RecordValue(1_000_000); err != nil {
		f.Fatal(err)
	}
	if err := writeLog(&b, "seed", []*hdrhistogram.Histogram{h}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("Tag=x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := readLog(b)
		if err == nil {
			for _, h := range all {
				sameHistogram(h, h)
			}
		}
	})
}

package batchrun

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Whatever a file holds, a reader gives an error or a value that is written as the
// same bytes again.

func FuzzPlan(f *testing.F) {
	p := examplePlan(2)
	b, err := encodeFile(&p)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePlan(b)
		if err != nil {
			return
		}
		if again, err := encodeFile(&p); err != nil || !bytes.Equal(again, b) {
			t.Errorf("written again as other bytes (%v)", err)
		}
		for s := range p.Trials() {
			if n := p.RequestsOf(s.Round, s.Cell); n < 1 || n > MaxRequests {
				t.Fatalf("%s has %d requests", s, n)
			}
		}
	})
}

// The first fuzzed file is trials.jsonl, the second raw.jsonl.
func FuzzTrials(f *testing.F) {
	p := examplePlan(2)
	var trials, raw []byte
	for i := range 2 {
		trial, requests := exampleTrial(p, p.slot(i), 0.5)
		trial.count(requests)
		line, err := encodeLine(&trial)
		if err != nil {
			f.Fatal(err)
		}
		lines, err := requestLines(requests)
		if err != nil {
			f.Fatal(err)
		}
		trials, raw = append(trials, line...), append(raw, lines...)
	}
	f.Add(trials, raw)
	f.Fuzz(func(t *testing.T, a, b []byte) {
		trials, requests, err := parseTrials(p, a, b)
		if err != nil {
			return
		}
		var again, rawAgain []byte
		for i := range trials {
			line, err := encodeLine(&trials[i])
			if err != nil {
				t.Fatal(err)
			}
			lines, err := requestLines(requests[i])
			if err != nil {
				t.Fatal(err)
			}
			again, rawAgain = append(again, line...), append(rawAgain, lines...)
		}
		if !bytes.Equal(again, a) || !bytes.Equal(rawAgain, b) {
			t.Error("written again as other bytes")
		}
	})
}

func FuzzResult(f *testing.F) {
	p := examplePlan(2)
	b, err := os.ReadFile(filepath.Join("testdata", "result.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	if _, err := parseResult(b, p); err != nil {
		f.Fatalf("the seed is not read: %v", err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResult(b, p)
		if err != nil {
			return
		}
		if again, err := encodeFile(&r); err != nil || !bytes.Equal(again, b) {
			t.Errorf("written again as other bytes (%v)", err)
		}
	})
}

// The seed of FuzzResult is what a run gives.
func TestResultGolden(t *testing.T) {
	dir, _ := exampleRun(t, examplePlan(2), nil)
	b, err := os.ReadFile(filepath.Join(dir, ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "result.json", string(b))
}

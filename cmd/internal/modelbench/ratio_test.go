package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/ratio.txt anew")

// madeUp is a run of 7 rounds in which we are 1.1 to 1.7 times as quick in prefill and 0.9 times in decode.
func madeUp() []any {
	lines := []any{
		plan{Type: typeRun, Seed: 1, Rounds: 7, Threads: 2, Prompt: 300, Steps: 24, Vocabulary: 60, NoiseLimit: 0.1, Models: []string{"bf16"}},
		started{"bf16", ready{Type: typeReady, Arm: armOurs, WeightBytes: 1_200_000_000}},
		started{"bf16", ready{Type: typeReady, Arm: "llama.cpp"}},
		started{"bf16", ready{Type: typeReady, Arm: armRead}},
		agreement{Type: typeAgree, Model: "bf16", Same: 8, Of: 8, noise: noise{Positions: 160, Median: 0.002, P99: 0.01, Largest: 0.02}},
	}
	for round := -1; round < 7; round++ {
		x := float64(round)
		if round < 0 {
			x = 100 // the warm-up would be seen
		}
		add := func(kind, arm string, tokens int, seconds, cpu float64, bytes int64) {
			lines = append(lines, trial{Type: typeTrial, Round: round, Model: "bf16", Kind: kind, Arm: arm, Tokens: tokens, Seconds: seconds,
				CPUSeconds: cpu, CPUTokens: tokens + 1, OuterSeconds: seconds + 0.1, IdleCPUSeconds: 0.001 * (x + 1), Bytes: bytes})
		}
		add(kindPrefill, armOurs, 300, 4, 7.9, 0)
		add(kindPrefill, "llama.cpp", 300, 4*(1.1+0.1*x), 8, 0)
		add(kindDecode, armOurs, 24, 2, 4, 1_200_000_000)
		add(kindDecode, "llama.cpp", 24, 1.8, 3.6, 1_200_000_000)
		add(kindDecode, armRead, 1, 0.075, 0, 1_200_000_000)
	}
	return lines
}

func encode(t testing.TB, lines []any) string {
	t.Helper()
	var b bytes.Buffer
	for _, l := range lines {
		if err := json.NewEncoder(&b).Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// The table of a made-up run, by hand: 1.4 is the median of 1.1 to 1.7, [1.1, 1.7] the interval of 7 rounds (98.44 %); a
// step of 2/24 s over 1.2 GB is 14.4 GB/s, of 16 that are read.
func TestReport(t *testing.T) {
	r, err := readRun(strings.NewReader("commit: x\n\n" + encode(t, madeUp())))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.report(&got); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/ratio.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	for _, part := range []string{"1.400 [1.100, 1.700] at 98.44 %", "7 of 7", "0.900 [0.900, 0.900]", "0 of 7", "16.00"} {
		if !strings.Contains(got.String(), part) {
			t.Errorf("the table has no %q", part)
		}
	}
}

// A run of which a trial is missing, doubled or impossible has no table.
func TestReadRunRefuses(t *testing.T) {
	change := func(edit func([]any) []any) string { return encode(t, edit(madeUp())) }
	last := len(madeUp()) - 1
	for name, test := range map[string]struct{ text, want string }{
		"empty":        {"", "no line of type run"},
		"cut":          {change(func(l []any) []any { return l[:last] }), "round 6: 0 trials of read, expected 1"},
		"doubled":      {change(func(l []any) []any { return append(l, l[last]) }), "round 6: 2 trials of read, expected 1"},
		"two runs":     {change(func(l []any) []any { return append(l, l[0]) }), "second line of type run"},
		"unknown type": {change(func(l []any) []any { return append(l, map[string]string{"type": "other"}) }), `type "other"`},
		"unknown key":  {change(func(l []any) []any { return append(l, map[string]any{"type": "trial", "x": 1}) }), "unknown field"},
		"no JSON":      {encode(t, madeUp()) + "{\n", fmt.Sprintf("line %d", last+2)},
		"no time": {change(func(l []any) []any {
			t := l[last].(trial)
			t.Seconds = 0
			l[last] = t
			return l
		}), "expected seconds and tokens above 0"},
		"a trial of another arm": {change(func(l []any) []any {
			t := l[last].(trial)
			t.Arm = "other"
			return append(l, t)
		}), "41 trials, expected 40"},
		"many rounds": {change(func(l []any) []any {
			p := l[0].(plan)
			p.Rounds = 1 << 40
			l[0] = p
			return l
		}), "expected 1 to 1000"},
		"no peer": {change(func(l []any) []any { return append(l[:2], l[3:]...) }), "no ready line of a peer"},
	} {
		if _, err := readRun(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, test.want)
		}
	}
}

// Whatever the lines say, there is an error or a table.
func FuzzReadRun(f *testing.F) {
	f.Add(encode(f, madeUp()))
	f.Add(encode(f, madeUp()[:8]))
	f.Add("{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := readRun(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := r.report(&out); err != nil || out.Len() == 0 {
			t.Errorf("a run that was read has no table: %v", err)
		}
	})
}

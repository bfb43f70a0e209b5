package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Both methods of the detokenizer give the mixed stream's texts, with one
// detokenizer and with several, and the report says which was in force.
func TestMethods(t *testing.T) {
	for name, args := range map[string][]string{
		"one":     {"--candidate", "builtin:splice@method=bytes"},
		"three":   {"--candidate", "builtin:grouped@method=bytes", "--detokenizers", "3"},
		"floor":   {"--candidate", "builtin:floor@method=bytes"},
		"in full": {"--reference-set", "method=offset", "--candidate-set", "method=bytes", "--pace", "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, append(args, "--stream", "mixed", "--counts", "1,40")...)
			p.run(exitOK)
			f := p.folder()
			if f.Result.Verdict.Status != results.StatusVerified {
				t.Fatalf("verdict %+v", f.Result.Verdict)
			}
			for name, want := range map[string]string{results.Reference: protocol.MethodOffset, results.Candidate: protocol.MethodBytes} {
				if got := f.Result.Arms[name].Options["method"]; got != want {
					t.Errorf("%s: method %q in force, want %q", name, got, want)
				}
			}
		})
	}
}

// The seed stream's vocabulary is of words, which the byte buffer has no use for.
func TestMethodNeedsBytes(t *testing.T) {
	for _, n := range []string{"1", "2"} {
		t.Run(n, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, "--candidate-set", "method=bytes", "--detokenizers", n)
			p.run(exitInvalid)
			f := p.failed(results.StatusInvalid)
			p.has("failure", f.Message, `method bytes with a vocabulary of kind "words"`, "expected a vocabulary of bytes")
			if f.Arm != results.Candidate || len(p.folder().Trials) != 0 {
				t.Errorf("failure %+v after %d trials, want the candidate's before the first", f, len(p.folder().Trials))
			}
		})
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker/faulty"
	"github.com/fanoutbench/fanoutbench/results"
)

// A worker that keeps every column it has decoded gains nothing by it: the
// values are new in every batch of a run, warm-ups, full stream and fence
// included. One consumer and the strategy grouped open a column once a batch, so
// that whatever is remembered is from another batch. Seen from the other side,
// it decodes as often as a worker that does not remember.
func TestMemoryGainsNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"seed":  nil,
		"mixed": {"--stream", "mixed"},
		"zmq4":  {"--candidate-set", "zmq=zmq4"},
		"fresh": {"--process", "round"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(args, "--reference", "builtin:grouped", "--candidate", "builtin:grouped",
				"--http-workers", "1", "--counts", "1,5", "--repetitions", "2")
			p := measure(t, []string{envFault + "=" + faulty.Fault{Kind: faulty.Remember}.String()}, args...)
			p.run(exitOK)
			for _, arm := range []string{results.Reference, results.Candidate} {
				if opened, decoded := p.remembered(arm); opened == 0 || decoded != opened {
					t.Errorf("%s: decoded %d of %d columns, want all", arm, decoded, opened)
				}
			}
			honest := measure(t, nil, args...)
			honest.run(exitOK)
			want := honest.folder().Trials
			for i, trial := range p.folder().Trials {
				if got := trial.Counters["opaque_decodes"]; got == 0 || got != want[i].Counters["opaque_decodes"] {
					t.Errorf("%s: %v decodes a batch, the honest worker %v", trial.Slot(), got, want[i].Counters["opaque_decodes"])
				}
			}
		})
	}
}

// The memory does remember, or the test above says nothing: per-row opens each
// column of a batch of five rows five times, and four of these are known.
func TestMemoryRemembers(t *testing.T) {
	t.Parallel()
	p := measure(t, []string{envFault + "=" + faulty.Fault{Kind: faulty.Remember}.String()}, "--candidate", "builtin:per-row", "--rounds", "2")
	p.run(exitOK)
	if opened, decoded := p.remembered(results.Candidate); decoded == 0 || opened <= 2*decoded {
		t.Errorf("decoded %d of %d columns, want fewer than half", decoded, opened)
	}
}

// remembered adds up what the workers of an arm said of their memories.
func (p *program) remembered(arm string) (opened, decoded int) {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.output, "logs", arm+".log"))
	if err != nil {
		p.t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if o, d, ok := faulty.ParseMemory(line); ok {
			opened, decoded = opened+o, decoded+d
		}
	}
	return opened, decoded
}

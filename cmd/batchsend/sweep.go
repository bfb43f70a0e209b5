package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// sweepFlags are what can be swept, and the server's flag for it.
var sweepFlags = map[string]string{"max-tokens": "batch-send-max-tokens", "max-reqs": "batch-send-max-reqs"}

// sweep is what --sweep asks for.
type sweep struct {
	name   string // as it was said
	limits []int
}

func parseSweep(text string) (sweep, error) {
	name, list, _ := strings.Cut(text, "=")
	s := sweep{name: name}
	if _, known := sweepFlags[name]; !known {
		return s, fmt.Errorf("--sweep is %q, want max-tokens=LIMITS or max-reqs=LIMITS, with commas between", text)
	}
	seen := map[int]bool{}
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || seen[n] {
			return s, fmt.Errorf("--sweep is %q, want limits of 0 (none) or more, each once; this one is %q", text, word)
		}
		seen[n] = true
		s.limits = append(s.limits, n)
	}
	return s, nil
}

// sweepRuns runs once for each limit. All runs have one seed and one rate, and so the same
// schedules, and each has the reference in its rounds.
func (f *runFlags) sweepRuns(ctx context.Context, stdout, stderr io.Writer, conf batchdriver.Config) error {
	s, err := parseSweep(f.sweep)
	if err != nil {
		return usageError{err}
	}
	candidate := conf.Arms[batchrun.Candidate]
	if !candidate.Ours() {
		return usagef("--sweep means nothing to %s, which is no server of this module", candidate.Spec)
	}
	var faults []error
	rps := 0.0 // that was found for the first run
	for i, limit := range s.limits {
		one := f.withLimit(conf, s, limit)
		if i > 0 {
			one.Load.RPS = rps
		}
		_, _ = fmt.Fprintf(stderr, "%s of %d\n", s.name, limit) // as all progress, for whoever reads it
		_, err := batchdriver.Run(ctx, one)
		conf.Progress.(*progress).end()
		if err != nil && !errors.Is(err, batchdriver.ErrNotVerified) {
			return err
		}
		folder, readErr := batchrun.Read(one.Output)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s of %d: %w: %s", s.name, limit, err, folder.Result.Verdict.Why()))
		}
		if folder.Result.Verdict.Status == results.StatusIncomplete {
			return errors.Join(faults...)
		}
		rps = rate(folder.Plan)
	}
	swept, err := batchrun.FinishSweep(conf.Output, s.name, sweepFlags[s.name], f.within, s.limits)
	if err == nil {
		err = batchrun.ReportSweep(stdout, swept, "text")
	}
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	_, _ = fmt.Fprintf(stderr, "results in %s\n", conf.Output) // likewise
	return errors.Join(faults...)
}

// withLimit is the run with one limit.
func (f *runFlags) withLimit(conf batchdriver.Config, s sweep, limit int) batchdriver.Config {
	option := sweepFlags[s.name]
	conf.Arms = maps.Clone(conf.Arms)
	conf.Arms[batchrun.Candidate] = limited(conf.Arms[batchrun.Candidate], option, limit)
	conf.Output = filepath.Join(conf.Output, fmt.Sprintf("%s-%d", s.name, limit))
	conf.Repeat = func(p batchrun.Plan) []string { return alone(f.again(p), option, limit) }
	return conf
}

// alone is the command of one run of a sweep.
func alone(words []string, flag string, limit int) []string {
	words = slices.DeleteFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "--sweep") || strings.HasPrefix(w, "--candidate-set="+flag+"=")
	})
	return append(words, fmt.Sprintf("--candidate-set=%s=%d", flag, limit))
}

// limited is the arm with one option more.
func limited(a servearm.Arm, flag string, limit int) servearm.Arm {
	a.Options = maps.Clone(a.Options)
	a.Options[flag] = strconv.Itoa(limit)
	return a
}

// rate is that of the plan's open loop, 0 without one.
func rate(p batchrun.Plan) float64 {
	for _, c := range p.Cells {
		if c.Open() {
			return c.RPS
		}
	}
	return 0
}

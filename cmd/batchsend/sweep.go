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

// stepBase is the sweep of what a simulated step takes whatever is in it, on both arms; the others are of
// limits to the candidate's messages.
const stepBase = "step-base"

// sweepFlags are what can be swept, and the server's flag for it.
var sweepFlags = map[string]string{"max-tokens": "batch-send-max-tokens", "max-reqs": "batch-send-max-reqs", stepBase: "sim-step-base"}

// sweep is what --sweep asks for.
type sweep struct {
	name   string // as it was said
	words  []string
	values []float64 // of the words: limits, or seconds
}

func parseSweep(text string) (sweep, error) {
	name, list, _ := strings.Cut(text, "=")
	s := sweep{name: name}
	if _, known := sweepFlags[name]; !known {
		return s, fmt.Errorf("--sweep is %q, want max-tokens=LIMITS, max-reqs=LIMITS or %s=SECONDS, with commas between", text, stepBase)
	}
	for word := range strings.SplitSeq(list, ",") {
		v, err := s.parse(word)
		if err != nil || slices.Contains(s.values, v) {
			return s, fmt.Errorf("--sweep is %q, want %s, each once; this one is %q", text, s.wanted(), word)
		}
		s.words, s.values = append(s.words, word), append(s.values, v)
	}
	return s, nil
}

func (s sweep) wanted() string {
	if s.name == stepBase {
		return "seconds from 0 to 3600"
	}
	return "limits of 0 (none) or more"
}

// parse reads one value.
func (s sweep) parse(word string) (float64, error) {
	if s.name == stepBase {
		v, err := strconv.ParseFloat(word, 64)
		if err == nil && !(v >= 0 && v <= 3600) {
			err = strconv.ErrRange
		}
		return v, err
	}
	n, err := strconv.ParseUint(word, 10, 31)
	return float64(n), err
}

// arms are those of one value.
func (s sweep) arms(all map[string]servearm.Arm, word string) map[string]servearm.Arm {
	flag := sweepFlags[s.name]
	out := maps.Clone(all)
	for _, name := range s.swept() {
		out[name] = set(all[name], flag, word)
	}
	return out
}

// swept are the arms that get the values.
func (s sweep) swept() []string {
	if s.name == stepBase {
		return []string{batchrun.Reference, batchrun.Candidate}
	}
	return []string{batchrun.Candidate}
}

// check finds arms that cannot have the values.
func (s sweep) check(all map[string]servearm.Arm) error {
	for _, name := range s.swept() {
		arm := all[name]
		if !arm.Ours() {
			return usagef("--sweep means nothing to %s, which is no server of this module", arm.Spec)
		}
		if device := arm.Options[optionDevice]; s.name == stepBase && device != simulated {
			return usagef("--sweep %s means nothing to %s with the device %q, want %s", stepBase, arm.Spec, device, simulated)
		}
	}
	return nil
}

// sweepRuns runs once for each value. All runs have one seed and the rate of the first, and so the same
// schedules, and each has the reference in its rounds.
func (f *runFlags) sweepRuns(ctx context.Context, stdout, stderr io.Writer, conf batchdriver.Config) error {
	s, err := parseSweep(f.sweep)
	if err != nil {
		return usageError{err}
	}
	if err := s.check(conf.Arms); err != nil {
		return err
	}
	var folders []*batchrun.Folder
	var faults []error
	for _, word := range s.words {
		one := conf
		one.Arms = s.arms(conf.Arms, word)
		one.Output = filepath.Join(conf.Output, s.name+"-"+word)
		if len(folders) > 0 {
			one.Load.RPS = rate(folders[0].Plan)
		}
		_, _ = fmt.Fprintf(stderr, "%s of %s\n", s.name, word) // as all progress, for whoever reads it
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
			faults = append(faults, fmt.Errorf("%s of %s: %w: %s", s.name, word, err, folder.Result.Verdict.Why()))
		}
		if folder.Result.Verdict.Status == results.StatusIncomplete {
			return errors.Join(faults...)
		}
		folders = append(folders, folder)
	}
	if err := f.printSweep(stdout, s, folders); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stderr, "results in %s\n", conf.Output) // likewise
	return errors.Join(faults...)
}

// set is the arm with one option more.
func set(a servearm.Arm, flag, value string) servearm.Arm {
	a.Options = maps.Clone(a.Options)
	a.Options[flag] = value
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

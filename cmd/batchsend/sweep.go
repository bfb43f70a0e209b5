package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// sweep is what --sweep asks for.
type sweep struct {
	batchrun.Swept
	values []float64
}

func parseSweep(text string) (sweep, error) {
	name, list, _ := strings.Cut(text, "=")
	w, err := batchrun.FindSwept(name)
	if err != nil {
		return sweep{}, cli.Usagef("--sweep is %q, want NAME=VALUES: %w", text, err)
	}
	values, err := w.Parse(list)
	if err != nil {
		return sweep{}, cli.Usagef("--sweep: %w", err)
	}
	return sweep{w, values}, nil
}

func (f *runFlags) checkSweep() error {
	if f.sweep == "" {
		return nil
	}
	s, err := parseSweep(f.sweep)
	if err != nil {
		return err
	}
	if !s.Limits() && f.given("sweep-within") {
		return cli.Usagef("--sweep-within means nothing with --sweep %s, of which no limit is recommended", s.Name)
	}
	return nil
}

// check finds arms that cannot have the values.
func (s sweep) check(all map[string]servearm.Arm) error {
	for _, name := range s.Arms {
		arm := all[name]
		if !arm.Ours() {
			return cli.Usagef("--sweep means nothing to %s, which is no server of this module", arm.Spec)
		}
		if device := arm.Options[optionDevice]; !s.Limits() && device != simulated {
			return cli.Usagef("--sweep %s means nothing to %s with the device %q, want %s", s.Name, arm.Spec, device, simulated)
		}
	}
	return nil
}

// sweepRuns runs once for each value. All runs have one seed and the rate of the first,
// and so the same schedules, and each has the reference in its rounds.
func (f *runFlags) sweepRuns(ctx context.Context, stdout, stderr io.Writer, conf batchdriver.Config) error {
	s, err := parseSweep(f.sweep)
	if err == nil {
		err = s.check(conf.Arms)
	}
	if err != nil {
		return err
	}
	var faults []error
	rps := 0.0 // that was found for the first run
	for i, value := range s.values {
		one := f.withValue(conf, s, value)
		if i > 0 {
			one.Load.RPS = rps
		}
		text := s.Name + " of " + batchrun.ValueText(value)
		_, _ = fmt.Fprintln(stderr, text) // as all progress, for whoever reads it
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
			faults = append(faults, fmt.Errorf("%s: %w: %s", text, err, folder.Result.Verdict.Why()))
		}
		if folder.Result.Verdict.Status == results.StatusIncomplete {
			return errors.Join(faults...)
		}
		rps = rate(folder.Plan)
	}
	swept, err := batchrun.FinishSweep(conf.Output, s.Swept, f.within, s.values)
	if err == nil {
		err = batchrun.ReportSweep(stdout, swept, "text")
	}
	if err != nil {
		return errors.Join(append(faults, err)...)
	}
	_, _ = fmt.Fprintf(stderr, "results in %s\n", conf.Output) // likewise
	return errors.Join(faults...)
}

// withValue is the run with one value.
func (f *runFlags) withValue(conf batchdriver.Config, s sweep, value float64) batchdriver.Config {
	conf.Arms = maps.Clone(conf.Arms)
	for _, name := range s.Arms {
		conf.Arms[name] = set(conf.Arms[name], s.Option, batchrun.ValueText(value))
	}
	conf.Output = filepath.Join(conf.Output, s.Folder(value))
	conf.Repeat = func(p batchrun.Plan) []string { return s.alone(f.again(p), value) }
	return conf
}

// alone is the command of one run of a sweep.
func (s sweep) alone(words []string, value float64) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, "--sweep") })
	for _, name := range s.Arms {
		flag := fmt.Sprintf("--%s-set=%s=", name, s.Option)
		words = slices.DeleteFunc(words, func(w string) bool { return strings.HasPrefix(w, flag) })
		words = append(words, flag+batchrun.ValueText(value))
	}
	return words
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

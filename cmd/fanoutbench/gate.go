package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/results"
)

// Values of --on-inconclusive.
const (
	onWarn = "warn"
	onFail = "fail"
)

type gateFlags struct {
	margin, onInconclusive string
	counters, calibration  string
	countersOnly           bool
	earlier                []string
	allowances             []results.Allowance // that counters stands for
	command                []string
}

func newGate() *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use: "gate DIR", Args: cli.Exactly(1, "the folder of a run"),
		Short: "say whether a run's candidate may be slower by more than the margin",
		Long: "Exit status: 0 when every primary cell is within the margin, 1 when one is slower by more,\n" +
			"3 when it cannot be told and --on-inconclusive is fail (else 0 with a warning), 2 for a mistake\n" +
			"in the command line, 4 when the run is not verified or does not hold.",
		RunE: func(c *cobra.Command, args []string) error {
			f.command = append([]string{"fanoutbench"}, os.Args[1:]...)
			return f.gate(c.OutOrStdout(), args[0])
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.margin, "margin", "", "slow-down that still passes, per cent (default: the plan's)")
	fl.StringVar(&f.onInconclusive, "on-inconclusive", onWarn, "warn: exit 0 with a warning, or fail: exit 3")
	fl.StringVar(&f.counters, "counters", "", "gate counters too: COUNTER=N, N% or N%+N of allowed rise, joined by commas, or default for "+results.DefaultAllowances)
	fl.BoolVar(&f.countersOnly, "counters-only", false, "gate nothing but counters: one round of one repetition is enough, on a busy machine too")
	fl.StringSliceVar(&f.earlier, "earlier", nil, "folders of earlier attempts of the same anytime plan, whose rounds count")
	fl.StringVar(&f.calibration, "calibration", "", "calibration of the run's machine (default: the latest that calibrate has kept here)")
	return c
}

func (f *gateFlags) gate(stdout io.Writer, dir string) error {
	if f.onInconclusive != onWarn && f.onInconclusive != onFail {
		return cli.Usagef("on-inconclusive %q, want %s or %s", f.onInconclusive, onWarn, onFail)
	}
	opt, err := f.options()
	if err != nil {
		return err
	}
	run, err := results.Read(dir)
	if err != nil {
		return err
	}
	report := results.GateReport{Folder: run}
	if !f.countersOnly {
		if err := f.calibrated(&opt, run); err != nil {
			return err
		}
		times, err := results.Gate(run, opt)
		if err != nil {
			return ofGate(err)
		}
		attempts(&times, os.Getenv("GITHUB_RUN_ATTEMPT"), len(opt.Earlier))
		report.Times = &times
	}
	if len(f.allowances) > 0 {
		counters, err := results.GateCounters(run, f.allowances)
		if err != nil {
			return ofGate(err)
		}
		report.Counters = &counters
	}
	return f.tell(stdout, report)
}

// options reads what the flags name.
func (f *gateFlags) options() (opt results.GateOptions, err error) {
	if f.margin != "" {
		if opt.MarginPct, err = parseMargin(f.margin); err != nil {
			return opt, cli.Usage(err)
		}
	}
	if f.countersOnly && (f.margin != "" || len(f.earlier) > 0 || f.calibration != "") {
		return opt, cli.Usagef("--counters-only leaves times out, so --margin, --earlier and --calibration mean nothing")
	}
	if f.countersOnly && f.counters == "" {
		f.counters = "default"
	}
	if f.counters != "" {
		if f.allowances, err = results.ParseAllowances(f.counters); err != nil {
			return opt, cli.Usage(err)
		}
	}
	for _, dir := range f.earlier {
		run, err := results.Read(dir)
		if err != nil {
			return opt, err
		}
		opt.Earlier = append(opt.Earlier, run)
	}
	return opt, nil
}

// calibrated finds the calibration of the machine that the run was made on.
func (f *gateFlags) calibrated(opt *results.GateOptions, run *results.Folder) error {
	host, at := results.Host(run.Result.Environment), run.Result.Environment.EndedAt
	if f.calibration == "" {
		opt.Calibration, opt.Uncalibrated = results.LoadCalibration(host, at)
		return nil
	}
	opt.Calibration, opt.Uncalibrated = results.ReadCalibrationFor(f.calibration, host, at)
	var not *results.CalibrationError
	if errors.As(opt.Uncalibrated, &not) && not.Why != results.CalibrationFailed {
		return cli.Usage(not)
	}
	return nil
}

// ofGate makes mistakes of the command line what they are.
func ofGate(err error) error {
	var family *results.NoFamilyError
	var join *results.JoinError
	var counter *results.NoCounterError
	if errors.As(err, &family) || errors.As(err, &join) || errors.As(err, &counter) {
		return cli.Usage(err)
	}
	return err
}

// tell prints the report, where a CI job looks for it too, and gives the end.
func (f *gateFlags) tell(stdout io.Writer, report results.GateReport) error {
	outcome, reason := report.Outcome()
	var end error
	switch {
	case outcome == results.Fail:
		end = cli.GateError{Code: cli.ExitRegression, Outcome: outcome, Reason: reason}
	case outcome == results.Unclear && f.onInconclusive == onFail:
		end = cli.GateError{Code: cli.ExitInconclusive, Outcome: outcome, Reason: reason}
	}
	text := report.Text()
	if outcome == results.Unclear && end == nil {
		text = append(text, "warning: inconclusive, and let through (--on-inconclusive warn)\n"...)
	}
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		text = append(text, annotations(report, end != nil)...)
	}
	if _, err := stdout.Write(text); err != nil {
		return errors.Join(end, err)
	}
	if path := os.Getenv("GITHUB_STEP_SUMMARY"); path != "" {
		return errors.Join(end, appendTo(path, report.Markdown(f.command)))
	}
	return end
}

func appendTo(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("the step summary: %w", err)
	}
	_, err = file.Write(b)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("the step summary: %w", err)
	}
	return nil
}

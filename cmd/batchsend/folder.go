package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
	"github.com/fanoutbench/fanoutbench/results/htmlreport"
)

func newReport() *cobra.Command {
	var format string
	formats := append(slices.Clone(batchrun.Formats), htmlreport.Format)
	c := &cobra.Command{
		Use: "report DIR", Args: cli.Exactly(1, "the folder of a run or of a sweep"),
		Short: "print a run's results",
		Long: "Print the results of a run or of a sweep: as text, as Markdown for a pull request, as CSV or JSON (schema in results/schema),\n" +
			"or as one HTML page.",
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return cli.Usagef("--format is %q, want one of %q", format, formats)
			}
			if batchrun.IsSweep(args[0]) {
				return reportSweep(c.OutOrStdout(), args[0], format)
			}
			f, err := batchrun.Read(args[0])
			if err != nil {
				return err
			}
			if format == htmlreport.Format {
				err = htmlreport.WriteLoad(c.OutOrStdout(), f)
			} else {
				err = batchrun.Report(c.OutOrStdout(), f, format)
			}
			return errors.Join(err, verified(f))
		},
	}
	c.Flags().StringVar(&format, "format", "text", strings.Join(formats, ", "))
	return c
}

// reportSweep prints a sweep, whose invalid runs are an error too.
func reportSweep(w io.Writer, dir, format string) error {
	f, err := batchrun.ReadSweep(dir)
	if err != nil {
		return err
	}
	if format == htmlreport.Format {
		err = htmlreport.WriteSweep(w, f)
	} else {
		err = batchrun.ReportSweep(w, f, format)
	}
	for _, r := range f.Runs {
		err = errors.Join(err, verified(r))
	}
	return err
}

// verified is the error of a run that is not.
func verified(f *batchrun.Folder) error {
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		return fmt.Errorf("the run in %s: %w: %s", f.Dir, batchdriver.ErrNotVerified, v.Why())
	}
	return nil
}

func newVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify DIR [SHARD...]",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("verify: no arguments, want the folder of a run or of a sweep, and of a merged run those of its shards; see batchsend --help")
			}
			return nil
		},
		Short: "compute every figure of a run, or of a sweep and its runs, anew and check every hash",
		Long: "Compute every figure of a run, or of a sweep and its runs, anew and check every hash.\n" +
			"A merged run is also put together again from the folders of its shards, where they are given.",
		RunE: func(c *cobra.Command, args []string) error {
			checks, err := batchrun.Verify(args[0], args[1:]...)
			if err != nil {
				return err
			}
			failed := 0
			for _, k := range checks {
				word := "ok  "
				if !k.OK {
					word = "FAIL"
					failed++
				}
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%s %s: %s\n", word, k.Name, k.Detail); err != nil {
					return err
				}
			}
			if failed > 0 {
				return fmt.Errorf("verify %s: %d of %d checks failed", args[0], failed, len(checks))
			}
			return nil
		},
	}
}

// Values of --on-inconclusive.
const (
	onWarn = "warn"
	onFail = "fail"
)

func newGate() *cobra.Command {
	var margin, onInconclusive string
	c := &cobra.Command{
		Use: "gate DIR", Args: cli.Exactly(1, "the folder of a run"),
		Short: "say whether a run's candidate may be slower by more than the margin",
		Long: "Exit status: 0 when every primary cell is within the margin, 1 when one is slower by more,\n" +
			"3 when it cannot be told and --on-inconclusive is fail (else 0 with a warning), 2 for a mistake\n" +
			"in the command line, 4 when the run is not verified or does not hold.",
		RunE: func(c *cobra.Command, args []string) error {
			if onInconclusive != onWarn && onInconclusive != onFail {
				return cli.Usagef("--on-inconclusive is %q, want %s or %s", onInconclusive, onWarn, onFail)
			}
			pct, err := percent(margin)
			if err != nil {
				return cli.Usage(err)
			}
			return gate(c.OutOrStdout(), c.ErrOrStderr(), args[0], pct, onInconclusive)
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&margin, "margin", "", "slow-down that still passes, per cent (default: the plan's)")
	c.Flags().StringVar(&onInconclusive, "on-inconclusive", onWarn, "warn: exit 0 with a warning, or fail: exit 3")
	return c
}

// percent reads 5 or 5%; nothing is 0.
func percent(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v >= results.MinMargin && v <= results.MaxMargin) {
		return 0, fmt.Errorf("--margin is %q, want %v to %v per cent", text, results.MinMargin, results.MaxMargin)
	}
	return v, nil
}

func gate(stdout, stderr io.Writer, dir string, marginPct float64, onInconclusive string) error {
	f, err := batchrun.Read(dir)
	if err != nil {
		return err
	}
	g, err := batchrun.Gate(f, marginPct)
	var family *results.NoFamilyError
	if errors.As(err, &family) {
		return cli.Usage(err)
	}
	if err != nil {
		return err
	}
	if err := printGate(stdout, g); err != nil {
		return err
	}
	switch {
	case g.Outcome == results.Fail:
		return cli.GateError{Code: cli.ExitRegression, Outcome: g.Outcome, Reason: g.Reason}
	case g.Outcome == results.Unclear && onInconclusive == onFail:
		return cli.GateError{Code: cli.ExitInconclusive, Outcome: g.Outcome, Reason: g.Reason}
	case g.Outcome == results.Unclear:
		_, _ = fmt.Fprintf(stderr, "warning: %s: %s\n", g.Outcome, g.Reason) // the outcome is on stdout too
	}
	return nil
}

func printGate(w io.Writer, g batchrun.Gated) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s (margin %g %%)\n", g.Outcome, g.Reason, g.MarginPct)
	for _, c := range g.Cells {
		fmt.Fprintf(&b, "  %s: %s: %s\n", c.Name, c.Outcome, c.Reason)
	}
	for _, n := range g.Notes {
		fmt.Fprintf(&b, "  note: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

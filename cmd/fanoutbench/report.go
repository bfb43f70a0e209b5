package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/driver"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/htmlreport"
)

func newReport() *cobra.Command {
	var format string
	formats := append(slices.Clone(results.Formats), htmlreport.Format)
	c := &cobra.Command{
		Use: "report DIR", Args: cli.Exactly(1, "the folder of a run"),
		Short: "print a run's results",
		Long: "Print a run's results: as text, as Markdown for a pull request, as CSV or JSON (schema in results/schema),\n" +
			"in the Go benchmark format for benchstat -col arm, or as one HTML page.",
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return cli.Usagef("format %q, want one of %q", format, formats)
			}
			f, err := results.Read(args[0])
			if err != nil {
				return err
			}
			if format == htmlreport.Format {
				err = htmlreport.Write(c.OutOrStdout(), f)
			} else {
				err = results.Report(c.OutOrStdout(), f, format)
			}
			if err != nil {
				return err
			}
			return verified(f)
		},
	}
	c.Flags().StringVar(&format, "format", "text", strings.Join(formats, ", "))
	return c
}

// verified is the error of a run that is not.
func verified(f *results.Folder) error {
	if status := f.Result.Verdict.Status; status != results.StatusVerified {
		return fmt.Errorf("the run in %s is %s: %w", f.Dir, status, driver.ErrNotVerified)
	}
	return nil
}

func newHistoryCommand() *cobra.Command {
	var format string
	var opt results.HistoryOptions
	formats := append(slices.Clone(results.HistoryFormats), htmlreport.Format)
	c := &cobra.Command{
		Use: "history DIR...",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("history: no arguments, want the folders of one or more runs")
			}
			return nil
		},
		Short: "print one metric of one cell over runs, oldest first",
		Long: "Print one metric of one cell over runs, oldest first. A run whose plan or machine differs from that of\n" +
			"the first in what changes the figure is shown with what differs, and not drawn in one line with it.",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case !slices.Contains(formats, format):
				return cli.Usagef("format %q, want one of %q", format, formats)
			case opt.Metric != "" && !slices.Contains(results.Metrics, opt.Metric):
				return cli.Usagef("metric %q, want one of %q", opt.Metric, results.Metrics)
			case opt.Count < 0:
				return cli.Usagef("count %d, want 1 or more", opt.Count)
			case opt.Metadata != "" && opt.Metadata != results.MetadataPlain && opt.Metadata != results.MetadataRich:
				return cli.Usagef("metadata %q, want %q or %q", opt.Metadata, results.MetadataPlain, results.MetadataRich)
			}
			return printHistory(c, args, opt, format)
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&opt.Metric, "metric", "", "the metric (default: the first primary one of the newest run)")
	fl.IntVar(&opt.Count, "count", 0, "the count (default: 310 if it is primary there, else the first primary one)")
	fl.StringVar(&opt.Metadata, "metadata", "", "the metadata (default: the first primary one)")
	fl.StringVar(&format, "format", "text", strings.Join(formats, ", "))
	return c
}

func printHistory(c *cobra.Command, dirs []string, opt results.HistoryOptions, format string) error {
	var folders []*results.Folder
	var unverified []error
	for _, dir := range dirs {
		f, err := results.Read(dir)
		if err != nil {
			return err
		}
		folders = append(folders, f)
		unverified = append(unverified, verified(f))
	}
	h, err := results.NewHistory(folders, opt)
	if err != nil {
		return err
	}
	if format == htmlreport.Format {
		err = htmlreport.WriteHistory(c.OutOrStdout(), h)
	} else {
		err = results.WriteHistory(c.OutOrStdout(), h, format)
	}
	return errors.Join(append(unverified, err)...)
}

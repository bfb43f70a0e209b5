package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/driver"
	"github.com/fanoutbench/fanoutbench/results"
)

func newExplain() *cobra.Command {
	var opt results.ExplainOptions
	c := &cobra.Command{
		Use: "explain DIR", Args: cli.Exactly(1, "the folder of a run"),
		Short: "print the rounds behind a run's figures, and which of them were disturbed",
		RunE: func(c *cobra.Command, args []string) error {
			f, err := results.Read(args[0])
			if err != nil {
				return err
			}
			if err := opt.Check(f.Plan); err != nil {
				return cli.Usage(err)
			}
			if err := results.Explain(c.OutOrStdout(), f, opt); err != nil {
				return err
			}
			if status := f.Result.Verdict.Status; status != results.StatusVerified {
				return fmt.Errorf("the run in %s is %s: %w", args[0], status, driver.ErrNotVerified)
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.IntVar(&opt.Count, "count", 0, "cells of this count only (default: all)")
	fl.StringVar(&opt.Metadata, "metadata", "", "cells of this metadata only (default: both)")
	fl.StringVar(&opt.Metric, "metric", results.Metrics[0], "the metric to take apart")
	return c
}

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/results"
)

func newMerge() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "join runs of one plan, made on several hosts",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return cli.Usagef("merge: %d arguments %q, want the folders of at least two runs", len(args), args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := os.Lstat(output); output != "" && err == nil {
				return cli.Usagef("output %s exists, want a folder to make", output)
			}
			m, err := results.Merge(args)
			if err != nil {
				return err
			}
			if output != "" {
				if err := results.WriteMerged(output, m); err != nil {
					return err
				}
				_, _ = fmt.Fprintf(c.ErrOrStderr(), "merged runs in %s\n", output) // progress, for whoever reads it
			}
			return results.WriteMergedText(c.OutOrStdout(), m)
		},
	}
	c.Flags().StringVar(&output, "output", "", "folder to make, with "+results.MergedFile+" in it (default: the report on standard output only)")
	return c
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Args: cli.Exactly(0, "none"),
		Short: "print the built-in strategies and ZeroMQ engines",
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := newResolver(c.Context())
			if err != nil {
				return err
			}
			w := bufio.NewWriter(c.OutOrStdout())
			for _, s := range r.Listing.Strategies {
				fmt.Fprintf(w, "%-24s  %s\n", arm.KindBuiltin+":"+s.Name, s.Summary)
			}
			for _, s := range r.Listing.Routers {
				fmt.Fprintf(w, "%-24s  %s (--loop router)\n", arm.KindBuiltin+":"+s.Name, s.Summary)
			}
			for _, z := range r.Listing.ZMQ {
				fmt.Fprintf(w, "%-24s  ZeroMQ engine\n", "--set "+arm.OptionZMQ+"="+z)
			}
			return w.Flush()
		},
	}
}

func newVerify() *cobra.Command {
	var reference, candidate, runs, original string
	c := &cobra.Command{
		Use: "verify DIR", Args: cli.Exactly(1, "the folder of a run, or of merged runs"),
		Short: "recompute a run's figures and check every hash within reach",
		RunE: func(c *cobra.Command, args []string) error {
			opt := results.VerifyOptions{Trees: map[string]string{}, Controller: sglang.ScriptSHA256(), Runs: runs, Original: original}
			if reference != "" {
				opt.Trees[results.Reference] = reference
			}
			if candidate != "" {
				opt.Trees[results.Candidate] = candidate
			}
			if batchrun.Is(args[0]) || batchrun.IsSweep(args[0]) {
				return cli.Usagef("%s is of batchsend, want the folder of a run of fanoutbench; batchsend verify %s checks it", args[0], args[0])
			}
			checks, err := results.Verify(args[0], opt)
			return errors.Join(printChecks(c.OutOrStdout(), checks), err)
		},
	}
	c.Flags().StringVar(&reference, "reference-tree", "", "folder whose files the reference's sources are compared with; without it they are not")
	c.Flags().StringVar(&candidate, "candidate-tree", "", "the same for the candidate")
	c.Flags().StringVar(&original, "original", "", "of a run that reproduces another: the folder of that one, to compare both anew")
	c.Flags().StringVar(&runs, "runs", "", "folder below which the runs of merged ones lie (default: DIR, or the folder above it)")
	return c
}

// printChecks prints each check; one that failed is an error.
func printChecks(stdout io.Writer, checks []results.Check) error {
	out := bufio.NewWriter(stdout)
	failed := 0
	for _, k := range checks {
		word := "ok"
		if !k.OK {
			word = "FAIL"
			failed++
		}
		fmt.Fprintf(out, "%-4s  %s: %s\n", word, k.Name, k.Detail)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}

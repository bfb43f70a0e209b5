package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// checkShard reads --shard and --start-at. What a shard would find out or draw for
// itself must be said, so that all shards have it alike.
func (f *runFlags) checkShard() error {
	if f.shard == "" {
		if f.startAt != "" {
			return cli.Usagef("--start-at means nothing without --shard")
		}
		return nil
	}
	if _, err := fmt.Sscanf(f.shard, "%d/%d", &f.shardAt, &f.shards); err != nil || f.shards < 1 || f.shards > batchrun.MaxShards || f.shardAt < 0 || f.shardAt >= f.shards || f.shard != fmt.Sprintf("%d/%d", f.shardAt, f.shards) {
		return cli.Usagef("--shard is %q, want I/N with N of 1 to %d and I of 0 to N-1", f.shard, batchrun.MaxShards)
	}
	if f.schedule == "" {
		for _, flag := range []string{"rps", "seed"} {
			if !f.given(flag) {
				return cli.Usagef("--%s is not given, want it with --shard: all shards must have it alike", flag)
			}
		}
	}
	switch {
	case f.sweep != "":
		return cli.Usagef("--sweep means nothing with --shard: run each limit with --candidate-set, and merge its shards")
	case f.given("single-requests") && f.sequential > 0:
		return cli.Usagef("--single-requests is %d, want none with --shard: requests from several machines are not single", f.sequential)
	}
	if f.startAt == "" {
		return nil
	}
	var err error
	if f.start, err = time.Parse(time.RFC3339, f.startAt); err != nil {
		return cli.Usagef("--start-at is %q, want a time as 2026-01-31T12:00:00Z", f.startAt)
	}
	if !f.start.After(time.Now()) {
		return cli.Usagef("--start-at is %v, which has passed", f.startAt)
	}
	return nil
}

// checkTolerance wants the tolerance of scores to be the same for all shards, where
// each would measure its own.
func (f *runFlags) checkTolerance(arms map[string]servearm.Arm) error {
	if f.shards == 0 || f.given("score-tolerance") || arms[batchrun.Reference].Ours() && arms[batchrun.Candidate].Ours() {
		return nil
	}
	return cli.Usagef("--score-tolerance is not given, want it with --shard where an arm is no server of this module: each shard would measure its own")
}

func newMerge() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "merge SHARD... --output DIR",
		Short: "put the shards of one load together",
		Long: "Put the run folders of all shards of one load (run --shard I/N) together to one run folder: the raw records\n" +
			"merged, percentiles and histograms made anew of all of them, the machines' clocks compared.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("merge: no arguments, want the folder of each shard")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if output == "" {
				return cli.Usagef("merge: --output is not given, want a folder to make")
			}
			if _, err := os.Lstat(output); err == nil {
				return cli.Usagef("output %s exists, want a folder to make: a run is never overwritten", output)
			}
			r, err := batchrun.Merge(args, output)
			if err != nil {
				return err
			}
			f, err := batchrun.Read(output)
			if err == nil {
				err = batchrun.Report(c.OutOrStdout(), f, "text")
			}
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "merged run in %s\n", output) // progress, for whoever reads it
			if r.Verdict.Status != results.StatusVerified {
				return fmt.Errorf("%w: %s", batchdriver.ErrNotVerified, r.Verdict.Why())
			}
			return nil
		},
	}
	c.Flags().StringVar(&output, "output", "", "folder to make")
	return c
}

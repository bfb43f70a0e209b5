package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/checkarm"
)

func newCheckArm() *cobra.Command {
	var sets []string
	var repo string
	var conf checkarm.Config
	c := &cobra.Command{
		Use: "check-arm SPEC", Args: exactly(1, "one arm spec"),
		Short: "play the arm protocol with an arm and name each clause that fails",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := newResolver(c.Context())
			if err != nil {
				return err
			}
			r.Repo = repo
			options, err := arm.ParseOptions(sets)
			if err != nil {
				return usageError{err}
			}
			if conf.Arm, err = r.Resolve(c.Context(), args[0], options); err != nil {
				return ofArm("", err)
			}
			if err := checkTransport(conf.Arm, conf.Transport); err != nil {
				return err
			}
			if conf.Timeout < time.Millisecond || conf.StartTimeout < time.Millisecond {
				return usagef("timeout %v and start-timeout %v, want at least 1ms", conf.Timeout, conf.StartTimeout)
			}
			if conf.Arm, err = r.Build(c.Context(), conf.Arm, nil); err != nil {
				return ofArm("", err)
			}
			conf.Log = c.ErrOrStderr()
			return playClauses(c.Context(), c.OutOrStdout(), conf)
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "option NAME=VALUE of the arm, repeatable")
	c.Flags().StringVar(&repo, "repo", ".", "a folder in the repository of a git: arm")
	c.Flags().StringVar(&conf.Transport, "transport", "msgpack", "transport to ask for")
	c.Flags().DurationVar(&conf.Timeout, "timeout", checkarm.DefaultTimeout, "of one trial")
	c.Flags().DurationVar(&conf.StartTimeout, "start-timeout", checkarm.DefaultStartTimeout, "of the arm's start")
	return c
}

// playClauses prints each clause as it ends.
func playClauses(ctx context.Context, stdout io.Writer, conf checkarm.Config) error {
	out := bufio.NewWriter(stdout)
	failed := 0
	for clause := range checkarm.Run(ctx, conf) {
		if clause.Err == nil {
			fmt.Fprintf(out, "ok    %s\n", clause.Name)
		} else {
			failed++
			fmt.Fprintf(out, "FAIL  %s: %v\n", clause.Name, clause.Err)
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s fails %d clauses", conf.Arm.Spec, failed)
	}
	return nil
}

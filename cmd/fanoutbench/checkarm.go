package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/checkarm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
)

func newCheckArm() *cobra.Command {
	var sets []string
	var repo, python string
	var conf checkarm.Config
	c := &cobra.Command{
		Use: "check-arm SPEC", Args: cli.Exactly(1, "one arm spec"),
		Short: "play the arm protocol with an arm and name each clause that fails",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := newResolver(c.Context())
			if err != nil {
				return err
			}
			r.Repo, r.Python, r.Transport = repo, python, conf.Transport
			options, err := arm.ParseOptions(sets)
			if err != nil {
				return cli.Usage(err)
			}
			if conf.Arm, err = r.Resolve(c.Context(), args[0], options); err != nil {
				return ofArm("", err)
			}
			if err := checkTransport(conf.Arm, conf.Transport); err != nil {
				return err
			}
			if conf.Arm.SGLang == nil && python != "" {
				return cli.Usagef("python is %q, but %s is no SGLang tree", python, conf.Arm.Spec)
			}
			if conf.Arm.SGLang != nil && !c.Flags().Changed("start-timeout") {
				conf.StartTimeout = sglangStart
			}
			if conf.Timeout < time.Millisecond || conf.StartTimeout < time.Millisecond {
				return cli.Usagef("timeout %v and start-timeout %v, want at least 1ms", conf.Timeout, conf.StartTimeout)
			}
			if conf.Arm, err = r.Build(c.Context(), conf.Arm, nil); err != nil {
				return ofArm("", err)
			}
			return playClauses(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), conf)
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "option NAME=VALUE of the arm, repeatable")
	c.Flags().StringVar(&repo, "repo", ".", "a folder in the repository of a git: arm")
	c.Flags().StringVar(&python, "python", "", "the interpreter that runs an SGLang tree (default: that of the active virtual environment, else python3)")
	c.Flags().StringVar(&conf.Transport, "transport", "msgpack", "transport to ask for")
	c.Flags().DurationVar(&conf.Timeout, "timeout", checkarm.DefaultTimeout, "of one trial")
	c.Flags().DurationVar(&conf.StartTimeout, "start-timeout", checkarm.DefaultStartTimeout, "of the arm's start")
	return c
}

// playClauses prints each clause as it ends, and after one that failed what the
// arm wrote to its log meanwhile: an arm that refuses what it should may well say
// so there.
func playClauses(ctx context.Context, stdout, stderr io.Writer, conf checkarm.Config) error {
	out := bufio.NewWriter(stdout)
	log := &clauseLog{}
	conf.Log = log
	failed := 0
	for clause := range checkarm.Run(ctx, conf) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", clause.Name, context.Cause(ctx))
		}
		said := log.take()
		if clause.Err == nil {
			fmt.Fprintf(out, "ok    %s\n", clause.Name)
		} else {
			failed++
			fmt.Fprintf(out, "FAIL  %s: %v\n", clause.Name, clause.Err)
			_, _ = stderr.Write(said) // a log, for whoever reads it
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

// clauseLog keeps what an arm writes to its log during one clause.
type clauseLog struct {
	mu   sync.Mutex
	text []byte
}

func (l *clauseLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *clauseLog) take() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.text
	l.text = nil
	return text
}

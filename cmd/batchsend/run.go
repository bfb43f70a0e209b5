package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

func newRun(name string) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: name, Args: cli.Exactly(0, "none: arms are given with --reference and --candidate"),
		Short: "load a candidate server and a reference alike (the default command)",
		RunE: func(c *cobra.Command, _ []string) error {
			f.flags, f.given = c.Flags(), c.Flags().Changed
			if !f.given("seed") {
				f.seed = randomSeed()
			}
			if err := f.check(); err != nil {
				return err
			}
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f.add(c)
	return c
}

func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	conf, err := f.config(ctx, stderr)
	if err != nil {
		return err
	}
	if f.sweep != "" {
		return f.sweepRuns(ctx, stdout, stderr, conf)
	}
	return f.measure(ctx, stdout, stderr, conf)
}

// config is what the flags ask for, with arms that can be started.
func (f *runFlags) config(ctx context.Context, stderr io.Writer) (batchdriver.Config, error) {
	if f.output == "" {
		f.output = filepath.Join("runs", time.Now().UTC().Format("20060102T150405.000Z"))
	}
	if _, err := os.Lstat(f.output); err == nil {
		return batchdriver.Config{}, cli.Usagef("output %s exists, want a folder to make: a run is never overwritten", f.output)
	}
	arms, err := f.arms(ctx, stderr)
	if err != nil {
		return batchdriver.Config{}, err
	}
	conf := batchdriver.Config{
		Arms: arms, Load: f.load(), Rounds: f.rounds, Warmup: f.warmup, Seed: f.seed, MarginPct: f.margin,
		MaxFailedPct: f.maxFailed, MaxLateness: f.maxLateness, Timeout: f.timeout, ReadyTimeout: f.readyTimeout, Restart: f.restart,
		Shard: f.shardAt, Shards: f.shards, StartAt: f.start, Output: f.output, ToolVersion: cli.Version(), Command: append([]string{"batchsend"}, os.Args[1:]...), Repeat: f.again, Progress: newProgress(stderr),
	}
	if err := f.checkTolerance(arms); err != nil {
		return batchdriver.Config{}, err
	}
	if err := errors.Join(f.readDataset(&conf.Load), f.readTokenizer(&conf), f.readLogs(&conf), f.readKeys(&conf), f.replay(&conf)); err != nil {
		return batchdriver.Config{}, cli.Usage(err)
	}
	if f.given("primary") {
		conf.Primary = append([]string{}, f.primary...) // none is not the default
	}
	if f.given("score-tolerance") {
		conf.Tolerance = &f.tolerance
	}
	return conf, nil
}

// measure runs and prints the report.
func (f *runFlags) measure(ctx context.Context, stdout, stderr io.Writer, conf batchdriver.Config) error {
	_, runErr := batchdriver.Run(ctx, conf)
	conf.Progress.(*progress).end()
	if runErr != nil && !errors.Is(runErr, batchdriver.ErrNotVerified) {
		return runErr // there is no result to show
	}
	folder, err := batchrun.Read(conf.Output)
	if err == nil {
		err = batchrun.Report(stdout, folder, "text")
	}
	if err != nil {
		return errors.Join(runErr, err)
	}
	if _, err := fmt.Fprintf(stdout, "\nThe same load again: %s\n", typed(f.again(folder.Plan))); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stderr, "results in %s\n", conf.Output) // as all progress, for whoever reads it
	if runErr != nil {
		return fmt.Errorf("%w: %s", runErr, folder.Result.Verdict.Why())
	}
	return nil
}

// again are the words of the command that repeats a run's load: what was said, and what
// was found or drawn instead of being said.
func (f *runFlags) again(p batchrun.Plan) []string {
	words := []string{"batchsend"}
	f.flags.Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, is := flag.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
			if flag.Value.Type() != "stringArray" { // of which each value is a flag of its own
				values = []string{strings.Join(values, ",")}
			}
		}
		for _, v := range values {
			if flag.Name != "output" && flag.Name != "start-at" {
				words = append(words, "--"+flag.Name+"="+v)
			}
		}
	})
	if r := rate(p); !f.given("rps") && r > 0 {
		words = append(words, "--rps="+strconv.FormatFloat(r, 'g', -1, 64))
	}
	if !f.given("seed") && f.schedule == "" { // whose own seed it is otherwise
		words = append(words, "--seed="+strconv.FormatUint(p.Seed, 10))
	}
	return words
}

// typed is a command as a shell takes it.
func typed(words []string) string {
	var list []string
	for _, w := range words {
		if name, value, is := strings.Cut(w, "="); is && strings.HasPrefix(name, "--") {
			w = name + "=" + quoted(value)
		} else {
			w = quoted(w)
		}
		list = append(list, w)
	}
	return strings.Join(list, " ")
}

// quoted is a word as a shell takes it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

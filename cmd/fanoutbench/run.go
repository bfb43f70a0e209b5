package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/driver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// runFlags are the settings of a run as the command line gives them.
type runFlags struct {
	reference, candidate               string
	sets, referenceSets, candidateSets []string
	transport, consumer, pace, process string
	counts                             []int
	metadata                           []string
	rounds, repetitions, workers       int
	detokenizers                       int
	loop, consumers                    string
	seed                               uint64
	timeout, startTimeout              time.Duration
	stream, output                     string
	dryRun, profile                    bool
	repo                               string
	python                             map[string]*string // interpreters by arm, "" for both
	anyPackages                        bool
	layouts                            int
	familyFlags
	lone         bool // a candidate is given and no reference
	resolver     *arm.Resolver
	branch       string                 // that such a candidate's reference was found by
	given        func(flag string) bool // on the command line
	campaign     campaignFlags
	campaignSeed uint64        // of a campaign that is written
	planned      *results.Plan // that the run follows, where it is not made of these flags
}

const (
	defaultReference = "builtin:per-row"
	defaultCandidate = "builtin:splice"
	defaultRouter    = "builtin:grouped-splice" // the candidate of the router's loop
)

func newRun(name string) *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use: name, Args: cli.Exactly(0, "none: arms are given with --reference and --candidate"),
		Short: "measure a candidate arm against a reference (the default command)",
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("seed") {
				f.seed = randomSeed()
			}
			f.given = c.Flags().Changed
			if err := f.take(c); err != nil {
				return err
			}
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	f.addArms(c)
	fl.IntSliceVar(&f.counts, "counts", []int{1, 32, 310}, "rows of a batch, one cell each")
	fl.StringSliceVar(&f.metadata, "metadata", []string{"plain", "rich"}, "metadata of the rows, one cell each")
	fl.IntVar(&f.rounds, "rounds", 9, "counted rounds, 1 to 1000; below 6 no interval exists")
	fl.IntVar(&f.repetitions, "repetitions", 3, "trials of each arm in a cell and round")
	f.addFamily(c)
	fl.StringVar(&f.stream, "stream", results.StreamSeed, "what is sent: seed (three steps of one word a row), mixed (everything that a detokenizer must get right), recorded:DIR (captured frames)")
	fl.Uint64Var(&f.seed, "seed", 0, "of the coins, the streams and the metadata (default: random, recorded)")
	fl.IntVar(&f.workers, "http-workers", 4, "consumers, one endpoint each")
	fl.StringVar(&f.loop, "loop", protocol.LoopFanout, "what is measured: fanout, from detokenizer to HTTP workers, or router, to detokenizers (as many as --http-workers)")
	fl.IntVar(&f.detokenizers, "detokenizers", 1, "detokenizers of both arms, behind a router if several: short for --set detokenizers=N")
	fl.StringVar(&f.consumer, "consumer", protocol.ConsumerDecode, "decode every message on receipt, or raw: count its rows only")
	fl.StringVar(&f.consumers, "consumers", protocol.ConsumersThread, "where the consumers run: on one thread of the controller, or each in a process of its own (Linux), which adds a hop to --pace arrived")
	fl.StringVar(&f.pace, "pace", protocol.PaceArrived, "send a batch when all rows of the one before have arrived; none: at once; a number: so many a second")
	fl.StringVar(&f.process, "process", driver.ProcessRound, "fresh processes each round, or one set for the whole run (run); spawn: as round, and an SGLang tree is imported anew each time")
	fl.IntVar(&f.layouts, "layouts", 0, "link each worker this often, its functions in another order each time, and draw one of them a round; 0: off")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "of one trial")
	fl.DurationVar(&f.startTimeout, "start-timeout", 10*time.Second, "of an arm's start; 3m if an arm is an SGLang tree")
	fl.StringVar(&f.output, "output", "", "run folder to make (default: runs/ and the UTC time)")
	fl.BoolVar(&f.profile, "profile", false, "after the last round profile the workers' CPU, untimed, for up to ten seconds a cell and arm")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the arms, the plan and what it will take, and measure nothing")
	f.campaign.flags(c, name)
	return c
}

func randomSeed() uint64 {
	var b [8]byte
	rand.Read(b[:])                               // never fails, by its documentation
	return binary.LittleEndian.Uint64(b[:]) >> 11 // 53 bits: exact in every JSON reader
}

func (f *runFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	arms, err := f.arms(ctx)
	if err != nil {
		return err
	}
	if err := f.checkBudget(); err != nil {
		return cli.Usage(err)
	}
	p, source, err := f.plan(arms)
	if err != nil {
		return cli.Usage(err)
	}
	if err := errors.Join(f.checkLayouts(arms), f.checkPair(arms), f.checkPython(arms)); err != nil {
		return cli.Usage(err)
	}
	if f.campaign.shards > 0 {
		return f.writeCampaign(stdout, arms, p)
	}
	if f.output == "" {
		f.output = filepath.Join("runs", time.Now().UTC().Format("20060102T150405.000Z"))
	}
	if _, err := os.Lstat(f.output); err == nil {
		return cli.Usagef("output %s exists, want a folder to make: a run is never overwritten", f.output)
	}
	if f.dryRun {
		return f.showPlan(stdout, arms, p)
	}
	if err := f.build(ctx, stderr, arms, p); err != nil {
		return err
	}
	if p, source, err = f.budgeted(ctx, stderr, arms, p, source); err != nil {
		return err
	}
	noteFewRounds(stderr, p)
	return f.measure(ctx, stdout, stderr, arms, p, source)
}

// measure runs the plan and prints the report.
func (f *runFlags) measure(ctx context.Context, stdout, stderr io.Writer, arms map[string]arm.Arm, p results.Plan, source stream.Source) error {
	bar := newProgress(stderr)
	_, runErr := driver.Run(ctx, driver.Config{
		Plan: p, Source: source, Arms: arms, Output: f.output, Progress: bar, Profile: f.profile, AnyPackages: f.anyPackages,
		Command: append([]string{"fanoutbench"}, os.Args[1:]...),
	})
	bar.end()
	if runErr != nil && !errors.Is(runErr, driver.ErrNotVerified) {
		return runErr // there is no result to show
	}
	folder, err := results.Read(f.output)
	if err == nil {
		err = results.Report(stdout, folder, "text")
	}
	if err != nil {
		return errors.Join(runErr, err)
	}
	_, _ = fmt.Fprintf(stderr, "results in %s\n", f.output) // as all progress, for whoever reads it
	return runErr
}

// plan makes the plan of a run and the source of its streams.
func (f *runFlags) plan(arms map[string]arm.Arm) (results.Plan, stream.Source, error) {
	rec, err := f.recording()
	if err != nil {
		return results.Plan{}, stream.Source{}, err
	}
	if f.planned != nil {
		return again(*f.planned, rec)
	}
	asked := func(name string) results.ArmPlan {
		a := results.ArmPlan{Spec: arms[name].Spec, Options: arms[name].Asked()}
		if arms[name].HasLayouts() {
			a.Layouts = f.layouts
		}
		return a
	}
	if !f.given("start-timeout") && (arms[results.Reference].SGLang != nil || arms[results.Candidate].SGLang != nil) {
		f.startTimeout = sglangStart
	}
	loop := f.loop
	if loop == protocol.LoopFanout {
		loop = "" // as it is written
	}
	consumers := f.consumers
	if consumers == protocol.ConsumersThread {
		consumers = "" // as it is written
	}
	p := results.Plan{
		Loop: loop, Consumers: consumers,
		ToolVersion: cli.Version(), Reference: asked(results.Reference), Candidate: asked(results.Candidate),
		Transport: f.transport, Counts: f.counts, Metadata: f.metadata, Rounds: f.rounds, Repetitions: f.repetitions,
		Seed: f.seed, Stream: f.stream, HTTPWorkers: f.workers, Consumer: f.consumer, Pace: pace(f.pace), Process: f.process,
		TimeoutMS: int(f.timeout.Milliseconds()), StartTimeoutMS: int(f.startTimeout.Milliseconds()),
	}
	if rec != nil {
		p.StreamSHA256 = rec.SHA256
	}
	if err := f.family(&p); err != nil {
		return p, stream.Source{}, err
	}
	return settled(p, rec)
}

// pace is what the plan calls a pace of the command line: a number is a rate.
func pace(flag string) string {
	if rate, err := strconv.ParseFloat(flag, 64); err == nil {
		return protocol.RatePace(rate)
	}
	return flag
}

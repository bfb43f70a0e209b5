package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/driver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

type calibrateFlags struct {
	rounds, repetitions int
	counts              []int
	layouts             int
	output              string
	expires             time.Duration
	show                bool

	dir string // where the runs go
}

// defaultLayouts is the pool of executables where they can be built.
const defaultLayouts = 4

func newCalibrate() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use: "calibrate", Args: cli.Exactly(0, "none"),
		Short: "learn what this machine shows where nothing differs, and whether it shows a delay",
		Long: "Measures builtin:splice against itself (one executable, then executables linked in another order,\n" +
			"inside a checkout), then against itself with a delay of one and of two smallest effects, which must\n" +
			"be found. What it comes to is kept for gate and run, by the machine's fingerprint. The machine must\n" +
			"be as quiet as it will be when decisions are made.",
		RunE: func(c *cobra.Command, _ []string) error {
			if f.show {
				return showCalibration(c.OutOrStdout())
			}
			if !c.Flags().Changed("layouts") && results.ModuleRoot(".") != "" {
				f.layouts = defaultLayouts
			}
			return f.calibrate(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.IntVar(&f.rounds, "rounds", 27, "rounds of each comparison in which nothing differs; each nine are a look")
	fl.IntVar(&f.repetitions, "repetitions", 3, "trials of each arm in a cell and round")
	fl.IntSliceVar(&f.counts, "counts", []int{32, 310}, "rows of a batch, with rich metadata, one cell each")
	fl.IntVar(&f.layouts, "layouts", 0, "executables of each arm in the second comparison, 0 to leave it out (default: 4 inside a checkout, else 0)")
	fl.StringVar(&f.output, "output", "", "folder to make for the runs and calibration.json (default: the runs are not kept)")
	fl.DurationVar(&f.expires, "expires", 30*24*time.Hour, "how long it holds")
	fl.BoolVar(&f.show, "show", false, "print this machine's latest calibration and measure nothing")
	return c
}

func showCalibration(stdout io.Writer) error {
	path, err := results.CalibrationPath(results.Fingerprint(results.ThisHost()))
	if err != nil {
		return err
	}
	c, err := results.ReadCalibration(path)
	if err != nil {
		return err
	}
	_, err = stdout.Write(c.Text(time.Now()))
	return err
}

func (f *calibrateFlags) check() error {
	switch {
	case f.rounds < results.LookRounds || f.rounds > results.MaxRounds:
		return cli.Usagef("rounds is %d, want %d, one look, to %d", f.rounds, results.LookRounds, results.MaxRounds)
	case f.expires < time.Minute || f.expires > 366*24*time.Hour:
		return cli.Usagef("expires is %v, want a minute to a year", f.expires)
	case f.layouts < 0 || f.layouts == 1:
		return cli.Usagef("layouts is %d, want 0 or at least 2", f.layouts)
	case f.output == "":
		return nil
	}
	if _, err := os.Lstat(f.output); err == nil {
		return cli.Usagef("output %s exists, want a folder to make", f.output)
	}
	return nil
}

func (f *calibrateFlags) calibrate(ctx context.Context, stdout, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	f.dir = f.output
	if f.output == "" {
		if f.dir, err = os.MkdirTemp("", "fanoutbench-calibrate-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	}
	started := time.Now()
	inputs, err := f.measureAll(ctx, stderr)
	if err != nil {
		return err
	}
	c, err := results.Calibrate(inputs, started, started.Add(f.expires))
	if err != nil {
		return err
	}
	path, err := results.CalibrationPath(c.Fingerprint)
	if err != nil {
		return err
	}
	if err := c.Save(path); err != nil {
		return err
	}
	if f.output != "" {
		if err := c.Save(filepath.Join(f.output, results.CalibrationFile)); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(stderr, "kept in %s\n", path) // as all progress, for whoever reads it
	_, err = stdout.Write(c.Text(time.Now()))
	return err
}

// measureAll makes the runs one after the other.
func (f *calibrateFlags) measureAll(ctx context.Context, stderr io.Writer) ([]results.CalibrationInput, error) {
	same, err := f.measure(ctx, stderr, comparison{kind: results.RunSame, name: "a-a", rounds: f.rounds})
	if err != nil {
		return nil, err
	}
	inputs := []results.CalibrationInput{same}
	delay, err := results.DelayOf(same.Folder)
	if err != nil {
		return nil, err
	}
	var more []comparison
	if f.layouts > 0 {
		more = append(more, comparison{kind: results.RunLayouts, name: "layouts", rounds: f.rounds, layouts: f.layouts})
	}
	for _, multiple := range []float64{1, 2} {
		us := min(int(math.Ceil(multiple*delay.US)), protocol.MaxDelayUS)
		more = append(more, comparison{
			kind: results.RunDelay, name: fmt.Sprintf("delay-%gx", multiple), rounds: results.LookRounds, delayUS: us, multiple: multiple,
		})
	}
	for _, m := range more {
		in, err := f.measure(ctx, stderr, m)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// comparison is one run of a calibration.
type comparison struct {
	kind, name string
	rounds     int
	layouts    int
	delayUS    int
	multiple   float64
}

func (f *calibrateFlags) measure(ctx context.Context, stderr io.Writer, what comparison) (results.CalibrationInput, error) {
	in := results.CalibrationInput{Kind: what.kind, Name: what.name, Multiple: what.multiple}
	_, _ = fmt.Fprintf(stderr, "calibrate: %s, %d rounds\n", what.name, what.rounds) // progress, for whoever reads it
	options := map[string]string{}
	if what.delayUS > 0 {
		options[protocol.OptionDelay] = strconv.Itoa(what.delayUS)
	}
	p := results.Plan{Rounds: what.rounds, Repetitions: f.repetitions, Counts: f.counts, Metadata: []string{results.MetadataRich}, Process: results.ProcessRound}
	// The narrowest margin: a delay within a wider one would be called equal.
	p.MarginPct, p.Primary = results.MinMargin, results.DefaultPrimary(p.Counts, p.Metadata)
	p.Reference.Layouts, p.Candidate.Layouts = what.layouts, what.layouts
	var err error
	in.Folder, err = pairedRun(ctx, stderr, p, map[string]builtin{
		results.Reference: {defaultCandidate, nil}, results.Candidate: {defaultCandidate, options},
	}, filepath.Join(f.dir, what.name))
	return in, err
}

// builtin is a built-in arm with its options.
type builtin struct {
	spec    string
	options map[string]string
}

// pairedRun fills a plan of two built-in arms in, with the defaults of a run and a
// seed of its own, and runs it.
func pairedRun(ctx context.Context, stderr io.Writer, p results.Plan, specs map[string]builtin, output string) (*results.Folder, error) {
	resolver, err := newResolver(ctx)
	if err != nil {
		return nil, err
	}
	arms := map[string]arm.Arm{}
	for _, name := range []string{results.Reference, results.Candidate} {
		if arms[name], err = resolver.Resolve(ctx, specs[name].spec, specs[name].options); err != nil {
			return nil, ofArm(name, err)
		}
	}
	p.Reference.Spec, p.Reference.Options = arms[results.Reference].Spec, arms[results.Reference].Asked()
	p.Candidate.Spec, p.Candidate.Options = arms[results.Candidate].Spec, arms[results.Candidate].Asked()
	p.ToolVersion, p.Transport, p.Seed = cli.Version(), protocol.TransportMsgpack, randomSeed()
	p.Stream, p.HTTPWorkers, p.Consumer = results.StreamSeed, 4, protocol.ConsumerDecode
	p.Pace, p.TimeoutMS, p.StartTimeoutMS = protocol.PaceArrived, 30_000, 10_000
	p, source, err := settled(p, nil)
	if err != nil {
		return nil, cli.Usage(err)
	}
	for _, name := range []string{results.Reference, results.Candidate} {
		if seeds := plan.LayoutSeeds(p, p.Of(name).Layouts); len(seeds) > 0 {
			if arms[name], err = resolver.Build(ctx, arms[name], seeds); err != nil {
				return nil, ofArm(name, err)
			}
		}
	}
	bar := newProgress(stderr)
	_, err = driver.Run(ctx, driver.Config{
		Plan: p, Source: source, Arms: arms, Output: output, Progress: bar, Command: append([]string{"fanoutbench"}, os.Args[1:]...),
	})
	bar.end()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", output, err)
	}
	return results.Read(output)
}

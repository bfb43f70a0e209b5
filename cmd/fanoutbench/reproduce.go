package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/rebuild"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/results"
)

// reproduction are the flags of reproduce.
type reproduction struct {
	runFlags
	old         *results.Folder
	commands    map[string]*string // of exec arms, by arm
	recorded    string             // where a recorded stream lies now
	interpreter string             // of SGLang trees
}

func newReproduce() *cobra.Command {
	var r reproduction
	c := &cobra.Command{
		Use: "reproduce DIR", Args: cli.Exactly(1, "the folder of a run"),
		Short: "rebuild both arms of a run, run its plan with fresh coins, and say whether it comes out again",
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("seed") {
				r.seed = randomSeed()
			}
			r.given = func(string) bool { return false } // the plan is the old run's
			return r.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args[0])
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&r.output, "output", "", "run folder to make (default: runs/ and the UTC time)")
	fl.StringVar(&r.repo, "repo", ".", "a folder in the repository that has the run's revisions")
	fl.Uint64Var(&r.seed, "seed", 0, "of the new coins (default: random, recorded); not the old run's")
	r.commands = map[string]*string{
		results.Reference: fl.String("reference", "", "exec:COMMAND of an exec reference, where the record does not say which folder it was in"),
		results.Candidate: fl.String("candidate", "", "the same for the candidate"),
	}
	fl.StringVar(&r.recorded, "stream", "", "recorded:DIR, of a run with a recorded stream: where it lies now")
	fl.StringVar(&r.interpreter, "python", "", "the interpreter that runs SGLang trees (default: that of the active virtual environment, else python3; the run does not say where its own was)")
	return c
}

func (r *reproduction) run(ctx context.Context, stdout, stderr io.Writer, dir string) error {
	var err error
	if r.old, err = results.Read(dir); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	arms, rebuilt, err := r.rebuilt(ctx, stderr)
	if err != nil {
		return err
	}
	p, err := r.again(arms)
	if err != nil {
		return err
	}
	r.follow(p)
	rec, err := r.recording()
	if err != nil {
		return cli.Usage(err)
	}
	p, source, err := again(p, rec)
	if err != nil {
		return cli.Usage(err)
	}
	all := map[string]arm.Arm{}
	var how []string
	for _, name := range []string{results.Reference, results.Candidate} {
		one := rebuilt[name]
		how = append(how, name+": "+one.How)
		all[name] = one.Arm
		if seeds := plan.LayoutSeeds(p, p.Of(name).Layouts); one.Arm.Build == nil || len(seeds) > 0 {
			if all[name], err = one.Resolver.Build(ctx, one.Arm, seeds); err != nil {
				return ofArm(name, err)
			}
		}
	}
	if p.Control != nil {
		all[results.Control] = all[results.Reference]
	}
	if err := r.measure(ctx, stdout, stderr, all, p, source); err != nil {
		return err
	}
	return r.compare(stdout, how)
}

// check looks at what can be told before anything is built.
func (r *reproduction) check() error {
	if status := r.old.Result.Verdict.Status; status != results.StatusVerified {
		return fmt.Errorf("the run in %s is %s, want a verified one to reproduce", r.old.Dir, status)
	}
	if err := r.old.CheckFigures(); err != nil {
		return fmt.Errorf("run folder %s: %w", r.old.Dir, err)
	}
	if r.seed == r.old.Plan.Seed {
		return cli.Usagef("seed is %d, that of the run in %s, want fresh coins", r.seed, r.old.Dir)
	}
	if r.output == "" {
		r.output = filepath.Join("runs", time.Now().UTC().Format("20060102T150405.000Z"))
	}
	if _, err := os.Lstat(r.output); err == nil {
		return cli.Usagef("output %s exists, want a folder to make: a run is never overwritten", r.output)
	}
	return nil
}

// rebuilt has both arms again.
func (r *reproduction) rebuilt(ctx context.Context, stderr io.Writer) (map[string]arm.Arm, map[string]rebuild.Rebuilt, error) {
	builder := rebuild.Rebuilder{Run: r.old, Repo: r.repo, Specs: map[string]string{}, Python: r.interpreter}
	for name, spec := range r.commands {
		if *spec != "" {
			builder.Specs[name] = *spec
		}
	}
	arms, all := map[string]arm.Arm{}, map[string]rebuild.Rebuilt{}
	for _, name := range []string{results.Reference, results.Candidate} {
		_, _ = fmt.Fprintf(stderr, "rebuilding %s: %s\n", name, r.old.Plan.Of(name).Spec) // progress, for whoever reads it
		one, err := builder.Arm(ctx, name)
		if err != nil {
			return nil, nil, notRebuilt(name, err)
		}
		all[name], arms[name] = one, one.Arm
	}
	return arms, all, nil
}

// notRebuilt is an arm that the record or the repository lacks something for: the
// run cannot be reproduced, which is no mistake in the command line.
func notRebuilt(name string, err error) error {
	var spec *arm.SpecError
	var input *tree.InputError
	if errors.As(err, &spec) || errors.As(err, &input) {
		return fmt.Errorf("the %s cannot be rebuilt: %w", name, err)
	}
	return err
}

// again is the run's plan for another run: with the seed and the specs of this one,
// and with a family if it had none.
func (r *reproduction) again(arms map[string]arm.Arm) (results.Plan, error) {
	p := r.old.Plan
	p.ToolVersion, p.Seed, p.Budget = cli.Version(), r.seed, nil
	p.CampaignSHA256, p.Shard, p.Shards = "", nil, 0
	p.Reference.Spec, p.Candidate.Spec = arms[results.Reference].Spec, arms[results.Candidate].Spec
	if len(p.Primary) == 0 {
		p = p.WithFamily()
	}
	if p.StreamSHA256 == "" && r.recorded != "" {
		return p, cli.Usagef("stream is %q, but the run had the stream %q, which is made from the seed", r.recorded, p.Stream)
	}
	if p.StreamSHA256 != "" {
		if r.recorded == "" {
			return p, cli.Usagef("the run had the stream %s, want --stream %sDIR to say where it lies now", p.Stream, results.StreamRecorded)
		}
		p.Stream = r.recorded
	}
	return p, nil
}

// compare says what came of it, in the new run's folder and on stdout.
func (r *reproduction) compare(stdout io.Writer, how []string) error {
	new, err := results.Read(r.output)
	if err != nil {
		return err
	}
	outcome, err := results.WriteReproduces(r.old, new, how)
	if err != nil {
		return err
	}
	head := fmt.Sprintf("\nreproduces the run in %s (seed %d) with seed %d\n", r.old.Dir, r.old.Plan.Seed, new.Plan.Seed)
	if len(r.old.Plan.Primary) == 0 {
		head += fmt.Sprintf("family     that run had none and decided nothing; both are compared in the default one, with a margin of %v %%\n", new.Plan.MarginPct)
	}
	if _, err := io.WriteString(stdout, head); err != nil {
		return err
	}
	return results.WriteReproducesText(stdout, outcome)
}

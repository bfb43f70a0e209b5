package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/results"
)

// ofArm says which arm an error is about. A mistake in a spec, or in what it
// names, is one of the command line; a full disk is not.
func ofArm(name string, err error) error {
	if name != "" {
		err = fmt.Errorf("%s: %w", name, err)
	}
	var spec *arm.SpecError
	if errors.As(err, &spec) {
		return cli.Usage(err)
	}
	return err
}

// checkLayouts refuses a pool for arms that can have none.
func (f *runFlags) checkLayouts(arms map[string]arm.Arm) error {
	if f.layouts != 0 && !arms[results.Reference].HasLayouts() && !arms[results.Candidate].HasLayouts() {
		return cli.Usagef("layouts is %d, want 0: an exec arm brings its own worker, and an SGLang tree is not linked", f.layouts)
	}
	return nil
}

// build builds the workers of both arms, before anything of the run is made.
func (f *runFlags) build(ctx context.Context, stderr io.Writer, arms map[string]arm.Arm, p results.Plan) error {
	var err error
	for _, name := range []string{results.Reference, results.Candidate} {
		a := arms[name]
		seeds := plan.LayoutSeeds(p, p.Of(name).Layouts)
		if a.Tree == nil && a.SGLang == nil && len(seeds) == 0 {
			continue
		}
		verb, why := "building", ""
		if a.SGLang != nil {
			verb = "preparing"
		}
		if f.branch != "" && name == results.Reference {
			why = ", the merge base with " + f.branch
		}
		_, _ = fmt.Fprintf(stderr, "%s %s: %s%s\n", verb, name, a.Spec, why) // progress, for whoever reads it
		if arms[name], err = f.resolver.Build(ctx, a, seeds); err != nil {
			return ofArm(name, err)
		}
	}
	if p.Control != nil {
		arms[results.Control] = arms[results.Reference]
	}
	noteSameTree(stderr, arms)
	return nil
}

// noteSameTree says early what the verdict will warn of: a clean checkout is often
// compared with itself by mistake.
func noteSameTree(stderr io.Writer, arms map[string]arm.Arm) {
	revisions := map[string]bool{}
	for _, a := range arms {
		revision, modified := a.Checkout()
		if revision == "" || modified != "false" {
			return
		}
		revisions[revision+a.Strategy+fmt.Sprint(a.Options)] = true
	}
	if len(revisions) == 1 {
		revision, _ := arms[results.Reference].Checkout()
		_, _ = fmt.Fprintf(stderr, "note: both arms are the same revision, %s: nothing is committed or changed beside it\n", revision)
	}
}

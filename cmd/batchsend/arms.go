package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Options of builtin arms that choose what they serve. Without either it is the
// simulated device, which two processors carry.
const (
	optionDevice = "device"
	optionModel  = "model-path"
	simulated    = "sim"
)

// arms finds the servers that the flags name, and builds those that are source.
func (f *runFlags) arms(ctx context.Context, stderr io.Writer) (map[string]servearm.Arm, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := servearm.Resolver{Server: []string{exe, serveCommand}, Repo: f.repo}
	arms := map[string]servearm.Arm{}
	for _, a := range []struct {
		name, spec string
		sets       []string
	}{{batchrun.Reference, f.reference, f.referenceSets}, {batchrun.Candidate, f.candidate, f.candidateSets}} {
		set, err := options(f.sets, a.sets)
		if err != nil {
			return nil, cli.Usagef("%s: %w", a.name, err)
		}
		arm, err := resolve(ctx, r, a.spec, set)
		if err == nil && arm.Tree != nil {
			_, _ = fmt.Fprintf(stderr, "building %s\n", arm.Spec) // as all progress, for whoever reads it
			arm, err = r.Make(ctx, arm)
		}
		if err != nil {
			return nil, ofArm(a.name, err)
		}
		arms[a.name] = arm
	}
	return arms, f.checkSets(arms)
}

// checkSets finds flags that no server gets.
func (f *runFlags) checkSets(arms map[string]servearm.Arm) error {
	reference, candidate := arms[batchrun.Reference], arms[batchrun.Candidate]
	const foreign = "which is no server of this module"
	switch {
	case len(f.referenceSets) > 0 && !reference.Ours():
		return cli.Usagef("--reference-set means nothing to %s, %s", reference.Spec, foreign)
	case len(f.candidateSets) > 0 && !candidate.Ours():
		return cli.Usagef("--candidate-set means nothing to %s, %s", candidate.Spec, foreign)
	case len(f.sets) > 0 && !reference.Ours() && !candidate.Ours():
		return cli.Usagef("--set means nothing to %s and %s: neither is a server of this module", reference.Spec, candidate.Spec)
	}
	return nil
}

// resolve is the resolver's, with the default device.
func resolve(ctx context.Context, r servearm.Resolver, spec string, set map[string]string) (servearm.Arm, error) {
	arm, err := r.Resolve(ctx, spec, set)
	if err != nil || arm.Kind != servearm.KindBuiltin {
		return arm, err
	}
	_, device := arm.Options[optionDevice]
	_, model := arm.Options[optionModel]
	if device || model {
		return arm, nil
	}
	set = maps.Clone(set)
	set[optionDevice] = simulated
	return r.Resolve(ctx, spec, set)
}

func ofArm(name string, err error) error {
	var spec *servearm.SpecError
	if errors.As(err, &spec) {
		return cli.Usagef("%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// options reads FLAG=VALUE words; later lists win over earlier ones.
func options(lists ...[]string) (map[string]string, error) {
	set := map[string]string{}
	for _, list := range lists {
		own := map[string]bool{}
		for _, word := range list {
			k, v, _ := strings.Cut(word, "=")
			if k == "" || strings.HasPrefix(k, "-") {
				return nil, fmt.Errorf("option %q, want FLAG=VALUE or FLAG, without dashes", word)
			}
			if own[k] {
				return nil, fmt.Errorf("option %s is given twice", k)
			}
			own[k], set[k] = true, v
		}
	}
	return set, nil
}

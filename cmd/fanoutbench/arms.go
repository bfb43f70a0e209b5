package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// addArms adds the flags that say what the arms are.
func (f *runFlags) addArms(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&f.reference, "reference", defaultReference, "the arm to compare with: builtin:STRATEGY, dir:PATH, git:REV, sglang:VERSION or exec:COMMAND; of a dir: or git: candidate, if not given, the merge base with the default branch")
	fl.StringVar(&f.candidate, "candidate", defaultCandidate, "the arm in question (with --loop router: "+defaultRouter+"); inside an SGLang checkout, if not given, that checkout as it lies there")
	fl.StringArrayVar(&f.sets, "set", nil, "option NAME=VALUE of both arms, repeatable")
	fl.StringArrayVar(&f.referenceSets, "reference-set", nil, "option of the reference")
	fl.StringArrayVar(&f.candidateSets, "candidate-set", nil, "option of the candidate")
	fl.StringVar(&f.repo, "repo", ".", "a folder in the repository of git: arms")
	f.python = map[string]*string{}
	for _, p := range []struct{ flag, arm, usage string }{
		{"python", "", "the interpreter that runs SGLang trees (default: that of the active virtual environment, else python3)"},
		{"reference-python", results.Reference, "the same for the reference alone"},
		{"candidate-python", results.Candidate, "the same for the candidate alone"},
	} {
		f.python[p.arm] = fl.String(p.flag, "", p.usage)
	}
	fl.BoolVar(&f.anyPackages, "allow-different-packages", false, "compare SGLang trees although their interpreters have different versions of a package")
	fl.StringVar(&f.transport, "transport", protocol.TransportMsgpack, "msgpack (opaque metadata wrapped), or the control without wrappers: native (builtin arms), pickle (SGLang trees, and exec arms that have it)")
}

// pythonOf is the interpreter that is given for an arm, "" if none is.
func (f *runFlags) pythonOf(name string) string {
	if own := *f.python[name]; own != "" {
		return own
	}
	return *f.python[""]
}

// defaults fills in the arms that are not given: inside an SGLang checkout its
// working tree is the candidate, unless the reference is of another kind.
func (f *runFlags) defaults(ctx context.Context) error {
	if root, ok := sglang.Around("."); ok && !f.given("candidate") && results.ModuleRoot(".") == "" && f.besideTree(ctx) {
		wd, err := os.Getwd()
		if err != nil {
			return err
		}
		if root, err = filepath.Rel(wd, root); err != nil {
			return err
		}
		f.candidate = arm.KindDir + ":" + root
		f.lone = !f.given("reference")
		return nil
	}
	f.lone = f.given("candidate") && !f.given("reference")
	if f.loop == protocol.LoopRouter && !f.given("candidate") {
		f.candidate = defaultRouter
	}
	return nil
}

// besideTree says whether the reference, if one is given, can stand beside an
// SGLang tree.
func (f *runFlags) besideTree(ctx context.Context) bool {
	if !f.given("reference") {
		return true
	}
	f.resolver.Python = f.pythonOf(results.Reference)
	a, err := f.resolver.Resolve(ctx, f.reference, nil)
	return err == nil && a.SGLang != nil
}

// arms resolves both specs with their options.
func (f *runFlags) arms(ctx context.Context) (map[string]arm.Arm, error) {
	var err error
	if f.resolver, err = newResolver(ctx); err != nil {
		return nil, err
	}
	if f.loop != protocol.LoopFanout && f.loop != protocol.LoopRouter {
		return nil, cli.Usagef("loop %q, want %q or %q", f.loop, protocol.LoopFanout, protocol.LoopRouter)
	}
	f.resolver.Repo, f.resolver.Loop, f.resolver.Transport = f.repo, f.loop, f.transport
	if err := f.defaults(ctx); err != nil {
		return nil, err
	}
	f.sets = slices.Clone(f.sets)
	if f.detokenizers != 1 {
		f.sets = append(f.sets, fmt.Sprintf("%s=%d", protocol.OptionDetokenizers, f.detokenizers))
	}
	arms := map[string]arm.Arm{}
	for _, a := range []struct {
		name, spec string
		sets       []string
	}{
		{results.Candidate, f.candidate, f.candidateSets},
		{results.Reference, f.reference, f.referenceSets},
	} {
		options, err := arm.ParseOptions(slices.Concat(f.sets, a.sets))
		if err != nil {
			return nil, cli.Usagef("%s: %w", a.name, err)
		}
		f.resolver.Python = f.pythonOf(a.name)
		if candidate := arms[results.Candidate]; f.lone && (candidate.Tree != nil || candidate.SGLang != nil) && a.name == results.Reference {
			arms[a.name], f.branch, err = f.resolver.Base(ctx, candidate, options)
		} else {
			arms[a.name], err = f.resolver.Resolve(ctx, a.spec, options)
		}
		if err != nil {
			return nil, ofArm(a.name, err)
		}
		if err := checkTransport(arms[a.name], f.transport); err != nil {
			return nil, cli.Usagef("%s: %w", a.name, err)
		}
		if n := arms[a.name].Options[protocol.OptionDetokenizers]; f.loop == protocol.LoopRouter && n != "" && n != "1" {
			return nil, cli.Usagef("%s: option %s is %q, but in the router's loop the consumers are the detokenizers: give --http-workers", a.name, protocol.OptionDetokenizers, n)
		}
	}
	return arms, nil
}

// sglangStart is the start's time-out where an arm is an SGLang tree, which takes
// up to a minute to import.
const sglangStart = 3 * time.Minute

// checkTransport refuses a transport that the arm is known not to have; what an
// arm with a controller of its own has is in its receipt.
func checkTransport(a arm.Arm, transport string) error {
	switch {
	case a.SGLang != nil && transport == protocol.TransportNative:
		return cli.Usagef("transport %q, an SGLang tree has %q and %q", transport, protocol.TransportMsgpack, protocol.TransportPickle)
	case transport == protocol.TransportPickle && a.SGLang == nil && !a.OwnClock():
		return cli.Usagef("transport %q, a %s arm has %q and %q", transport, a.Kind, protocol.TransportMsgpack, protocol.TransportNative)
	}
	return nil
}

// checkPair refuses arms whose messages are not the same: their times would differ
// for that alone.
func (f *runFlags) checkPair(arms map[string]arm.Arm) error {
	reference, candidate := arms[results.Reference], arms[results.Candidate]
	if (reference.SGLang == nil) == (candidate.SGLang == nil) || reference.OwnClock() || candidate.OwnClock() {
		return nil
	}
	tree, other := reference, candidate
	if tree.SGLang == nil {
		tree, other = candidate, reference
	}
	return fmt.Errorf("%s and %s have different messages, so that their times say nothing of each other: compare %s with itself over a worker of this program (%s)", tree.Spec, other.Spec, tree.Spec, arm.CrossArm)
}

// checkPython refuses an interpreter for an arm that needs none.
func (f *runFlags) checkPython(arms map[string]arm.Arm) error {
	none := arms[results.Reference].SGLang == nil && arms[results.Candidate].SGLang == nil
	if none && *f.python[""] != "" {
		return fmt.Errorf("python is %q, but no arm is an SGLang tree", *f.python[""])
	}
	for _, name := range []string{results.Reference, results.Candidate} {
		if given := *f.python[name]; given != "" && arms[name].SGLang == nil {
			return fmt.Errorf("%s-python is %q, but the %s is no SGLang tree", name, given, name)
		}
	}
	if none && f.anyPackages {
		return errors.New("allow-different-packages is given, but no arm is an SGLang tree")
	}
	return nil
}

func newResolver(ctx context.Context) (*arm.Resolver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return arm.NewResolver(ctx, self)
}

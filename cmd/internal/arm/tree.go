package arm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// OptionStrategy is the option of dir and git arms beside those of builtin ones:
// how their worker splits batches.
const OptionStrategy = "strategy"

// Default strategies, those of the default candidates of the two loops.
const (
	defaultStrategy = "splice"
	defaultRouter   = "grouped-splice"
)

// tree finds the tree that a dir or git spec names, of this module or SGLang's. It
// is not built yet.
func (r *Resolver) tree(ctx context.Context, a *Arm) error {
	var t tree.Tree
	var err error
	if a.Kind == KindGit {
		t, err = tree.AtRevision(ctx, r.Repo, a.Name)
	} else {
		t, err = tree.Folder(a.Name)
	}
	other, ok, otherErr := r.sglangTree(ctx, *a)
	var input *tree.InputError
	switch {
	case otherErr != nil:
		return inSpec(a.Spec, otherErr)
	case ok && err == nil:
		return &SpecError{a.Spec, fmt.Sprintf("is a checkout of %s and an SGLang tree (%s), name a folder that is one of them", results.Module, sglang.Wanted)}
	case ok && errors.As(err, &input):
		a.SGLang = &other
		return nil
	case errors.As(err, &input):
		return &SpecError{a.Spec, err.Error() + "; or want an SGLang tree, " + sglang.Wanted}
	}
	a.Tree = &t
	return err
}

// sglangTree finds SGLang's tree in what a dir or git spec names, if there is one.
func (r *Resolver) sglangTree(ctx context.Context, a Arm) (sglang.Tree, bool, error) {
	if a.Kind == KindDir {
		return sglang.InFolder(a.Name)
	}
	commit, err := tree.Commit(ctx, r.Repo, a.Name)
	if err != nil {
		return sglang.Tree{}, false, ctx.Err() // the other search says what is wrong with the name
	}
	return sglang.InCommit(ctx, r.Repo, commit)
}

// inSpec makes what the user can mend a *SpecError.
func inSpec(spec string, err error) error {
	var input *tree.InputError
	var other *sglang.InputError
	if errors.As(err, &input) || errors.As(err, &other) {
		return &SpecError{spec, err.Error()}
	}
	return err
}

// takeStrategy moves the strategy from the options, which go to the controller,
// to the arm.
func (a *Arm) takeStrategy(loop string) {
	a.Strategy = defaultStrategy
	if loop == protocol.LoopRouter {
		a.Strategy = defaultRouter
	}
	if s, ok := a.Options[OptionStrategy]; ok {
		a.Strategy = s
		delete(a.Options, OptionStrategy)
	}
}

// Asked are the options that make the arm what it is, for the record: those of
// its controller, and the strategy where no spec says it.
func (a Arm) Asked() map[string]string {
	if a.Kind != KindDir && a.Kind != KindGit || a.SGLang != nil {
		return a.Options
	}
	all := maps.Clone(a.Options)
	all[OptionStrategy] = a.Strategy
	return all
}

func (a Arm) optionNames() string {
	names := strings.Join(controllerOptions, ", ")
	if a.Kind == KindBuiltin {
		return names
	}
	return OptionStrategy + ", " + names
}

// Base is the arm that a dir or git arm is compared with when no other is named:
// where its history leaves the default branch. branch is that branch's name.
func (r *Resolver) Base(ctx context.Context, a Arm, set map[string]string) (base Arm, branch string, err error) {
	if a.SGLang != nil {
		return r.baseSGLang(ctx, a, set)
	}
	t, branch, err := a.Tree.Base(ctx)
	if err != nil {
		return Arm{}, "", inSpec(a.Spec, fmt.Errorf("no reference is given, and none to be found: %w", err))
	}
	base = Arm{Spec: KindGit + ":" + t.Commit, Kind: KindGit, Name: t.Commit, Options: map[string]string{}, Tree: &t}
	maps.Copy(base.Options, set)
	return base, branch, r.settle(ctx, &base)
}

// Build builds what the arm's worker runs from: a source tree, or, with seeds,
// the checkout around the working directory for a builtin arm. With seeds there
// is a worker for each. An arm that needs no build comes back as it was.
func (r *Resolver) Build(ctx context.Context, a Arm, seeds []int64) (Arm, error) {
	if a.SGLang != nil {
		return r.prepareSGLang(ctx, a)
	}
	if a.Kind == KindBuiltin && len(seeds) > 0 && a.Tree == nil {
		root := results.ModuleRoot(".")
		if root == "" {
			return a, &SpecError{a.Spec, "layouts of a built-in worker are linked from the checkout around the working directory, and there is none of " + results.Module}
		}
		t, err := tree.Folder(root)
		if err != nil {
			return a, inSpec(a.Spec, err)
		}
		a.Tree = &t
	}
	if a.Tree == nil {
		return a, nil
	}
	cache, err := tree.Cache()
	if err != nil {
		return a, err
	}
	b, err := a.Tree.Build(ctx, cache, seeds)
	if err != nil {
		return a, inSpec(a.Spec, err)
	}
	a.Build = &b
	l, err := list(ctx, b.Workers[0].Path)
	if err != nil && ctx.Err() == nil {
		return a, &SpecError{a.Spec, fmt.Sprintf("its program does not say what its worker has, want one of wire version %d: %v", r.Listing.WireVersion, err)}
	}
	if err != nil {
		return a, err
	}
	return a.using(r.Self, 0), r.suits(a, l)
}

// suits wants a worker that the resolver's program, whose controller runs it, can
// run as the arm says.
func (r *Resolver) suits(a Arm, l protocol.Listing) error {
	switch {
	case l.WireVersion != r.Listing.WireVersion:
		return &SpecError{a.Spec, fmt.Sprintf("its worker speaks wire version %d, want %d: build this program from a revision that speaks the same", l.WireVersion, r.Listing.WireVersion)}
	case !slices.Contains(r.strategiesOf(l), a.Strategy):
		return &SpecError{a.Spec, fmt.Sprintf("its worker has no strategy %q, want one of %s", a.Strategy, strings.Join(r.strategiesOf(l), ", "))}
	}
	return checkOptions(a, l)
}

// Checkout is the commit of a tree that was built or prepared, and whether its files
// differ from it, as results.Arm has them.
func (a Arm) Checkout() (revision, modified string) {
	switch {
	case a.Build != nil:
		return a.Build.Revision, a.Build.Modified
	case a.SGLang != nil:
		return a.SGLang.Revision, a.SGLang.Modified
	}
	return "", ""
}

func (a Arm) using(self string, worker int) Arm {
	a.Command = []string{self, ControllerCommand, "--strategy", a.Strategy}
	if path := a.Build.Workers[worker].Path; path != self { // else it is the default
		a.Command = append(a.Command, "--worker", path)
	}
	return a
}

// Using is an arm that was built, with the worker of that index.
func (a Arm) Using(worker int) Arm { return a.using(a.Command[0], worker) }

// HasLayouts says whether the arm's worker can be linked in several layouts.
func (a Arm) HasLayouts() bool { return a.Profiled() }

package rebuild

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Rebuilt is an arm that was had again.
type Rebuilt struct {
	Arm      arm.Arm
	Resolver *arm.Resolver // builds it, with layouts where there are some
	How      string        // how it was had, and what was compared
}

// Rebuilder has the arms of one run again.
type Rebuilder struct {
	Run    *results.Folder
	Repo   string            // a folder in the repository of its revisions
	Specs  map[string]string // by arm: exec specs that take the place of the record's
	Python string            // the interpreter of SGLang trees, if one is given

	program *program
}

// program is this program as it was, built.
type program struct {
	tree     tree.Tree
	build    tree.Build
	resolver *arm.Resolver
}

// Arm has one arm of the run again.
func (r *Rebuilder) Arm(ctx context.Context, name string) (Rebuilt, error) {
	about, asked := r.Run.Result.Arms[name], r.Run.Plan.Of(name)
	kind, rest, _ := strings.Cut(asked.Spec, ":")
	spec, given := r.Specs[name]
	if given && kind != arm.KindExec {
		return Rebuilt{}, &arm.SpecError{Spec: spec, Reason: fmt.Sprintf("stands for %s, which is rebuilt from its revision; only the command of an exec arm can be another", asked.Spec)}
	}
	switch {
	case kind == arm.KindExec:
		return r.exec(ctx, cmp.Or(spec, asked.Spec), asked.Options)
	case kind == arm.KindSGLang:
		return r.release(ctx, asked)
	case strings.HasPrefix(about.Runtime, sglang.Runtime+" "):
		return r.checkout(ctx, asked, about)
	case kind == arm.KindBuiltin:
		return r.builtin(ctx, asked, about, rest)
	}
	return r.worker(ctx, asked, about)
}

// here is the resolver of this program.
func (r *Rebuilder) here(ctx context.Context) (*arm.Resolver, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return r.resolver(ctx, self)
}

func (r *Rebuilder) resolver(ctx context.Context, self string) (*arm.Resolver, error) {
	resolver, err := arm.NewResolver(ctx, self)
	if err != nil {
		return nil, err
	}
	resolver.Repo, resolver.Transport, resolver.Python = r.Repo, r.Run.Plan.Transport, r.Python
	resolver.Loop = cmp.Or(r.Run.Plan.Loop, protocol.LoopFanout)
	return resolver, nil
}

// placeholders are how folders of a machine stand in a record.
var placeholders = []string{"$TREE", "$CACHE", "$TMP", "$HOME", "$ELSEWHERE"}

func (r *Rebuilder) exec(ctx context.Context, spec string, options map[string]string) (Rebuilt, error) {
	for _, p := range placeholders {
		if strings.Contains(spec, p) {
			return Rebuilt{}, &arm.SpecError{Spec: spec, Reason: "the record does not say which folder " + p + " was; give the command anew"}
		}
	}
	resolver, err := r.here(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	a, err := resolver.Resolve(ctx, spec, options)
	return Rebuilt{a, resolver, fmt.Sprintf("%s: the command is run as it is, and nothing of it was rebuilt", spec)}, err
}

func (r *Rebuilder) release(ctx context.Context, asked results.ArmPlan) (Rebuilt, error) {
	resolver, err := r.here(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	a, err := resolver.Resolve(ctx, asked.Spec, asked.Options)
	return Rebuilt{a, resolver, asked.Spec + ": the release, by its version"}, err
}

// checkout is an SGLang tree of a commit.
func (r *Rebuilder) checkout(ctx context.Context, asked results.ArmPlan, about results.Arm) (Rebuilt, error) {
	patch, err := kept(asked.Spec, about.Revision, about.Modified, about.Patch)
	if err != nil {
		return Rebuilt{}, err
	}
	resolver, err := r.here(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	a, err := resolver.Resolve(ctx, arm.KindGit+":"+about.Revision, asked.Options)
	if err != nil {
		return Rebuilt{}, err
	}
	if a.SGLang == nil || a.SGLang.Commit == nil {
		return Rebuilt{}, &arm.SpecError{Spec: a.Spec, Reason: "is no SGLang tree in the repository of " + r.Repo + ", as that of the run was"}
	}
	a.SGLang.Commit.Patch = patch
	return Rebuilt{a, resolver, fmt.Sprintf("%s: commit %s%s", asked.Spec, about.Revision, withPatch(patch))}, nil
}

// builtin is an arm of this program as it was.
func (r *Rebuilder) builtin(ctx context.Context, asked results.ArmPlan, about results.Arm, strategy string) (Rebuilt, error) {
	p, err := r.asItWas(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	if p == nil {
		return Rebuilt{}, &arm.SpecError{Spec: asked.Spec, Reason: "the run's environment names no revision of the program, which was not run in a checkout of it, so nothing is there to build; " +
			"run it from a checkout, or compare dir: or git: arms, whose own revisions are recorded, for a run that can be reproduced"}
	}
	if d := results.SourcesDiffer(about.Sources, p.build.Sources); d != "" {
		return Rebuilt{}, differs(asked.Spec, p.tree, d)
	}
	a, err := p.resolver.Resolve(ctx, arm.KindBuiltin+":"+strategy, asked.Options)
	if err != nil {
		return Rebuilt{}, err
	}
	a.Tree, a.Build = &p.tree, &p.build
	how := fmt.Sprintf("%s: program of commit %s%s, %d sources compared; ", asked.Spec, p.tree.Commit, withPatch(p.tree.Patch), len(about.Sources))
	if slices.Contains(about.BinarySHA256, p.build.Workers[0].SHA256) {
		how += "the executable is the same"
	} else {
		how += "the executable is another, which its user had built in a way that is not recorded"
	}
	same, err := r.layouts(ctx, p.tree, about, p.build)
	return Rebuilt{a, p.resolver, how + same}, err
}

// worker is a dir: or git: arm of this module.
func (r *Rebuilder) worker(ctx context.Context, asked results.ArmPlan, about results.Arm) (Rebuilt, error) {
	t, err := r.tree(ctx, asked.Spec, about.Revision, about.Modified, about.Patch)
	if err != nil {
		return Rebuilt{}, err
	}
	b, err := build(ctx, t)
	if err != nil {
		return Rebuilt{}, err
	}
	if d := results.SourcesDiffer(about.Sources, b.Sources); d != "" {
		return Rebuilt{}, differs(asked.Spec, t, d)
	}
	how := fmt.Sprintf("%s: worker of commit %s%s, %d sources compared; ", asked.Spec, t.Commit, withPatch(t.Patch), len(about.Sources))
	same, err := r.executable(about, b)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("%s: %w", asked.Spec, err)
	}
	pool, err := r.layouts(ctx, t, about, b)
	if err != nil {
		return Rebuilt{}, fmt.Errorf("%s: %w", asked.Spec, err)
	}
	p, err := r.asItWas(ctx)
	if err != nil {
		return Rebuilt{}, err
	}
	under := "under the controller of that run's program"
	resolver := (*arm.Resolver)(nil)
	if p != nil {
		resolver = p.resolver
	} else if resolver, err = r.here(ctx); err == nil {
		under = "under this program's controller, since the record does not say which one it was"
	}
	if err != nil {
		return Rebuilt{}, err
	}
	a, err := resolver.Resolve(ctx, arm.KindGit+":"+t.Commit, asked.Options)
	if err != nil {
		return Rebuilt{}, err
	}
	a.Tree = &t
	return Rebuilt{a, resolver, how + same + pool + "; " + under}, nil
}

// asItWas builds the program of the run once; nil where the record names no
// revision.
func (r *Rebuilder) asItWas(ctx context.Context) (*program, error) {
	e := r.Run.Result.Environment
	if r.program != nil || e.Revision == "" {
		return r.program, nil
	}
	t, err := r.tree(ctx, "the program", e.Revision, e.Modified, e.Patch)
	if err != nil {
		return nil, err
	}
	b, err := build(ctx, t)
	if err != nil {
		return nil, err
	}
	resolver, err := r.resolver(ctx, b.Workers[0].Path)
	if err != nil {
		return nil, err
	}
	r.program = &program{t, b, resolver}
	return r.program, nil
}

func (r *Rebuilder) tree(ctx context.Context, what, revision, modified, patch string) (tree.Tree, error) {
	patch, err := kept(what, revision, modified, patch)
	if err != nil {
		return tree.Tree{}, err
	}
	t, err := tree.AtRevision(ctx, r.Repo, revision)
	if err != nil {
		return t, fmt.Errorf("%s: %w", what, err)
	}
	t.Patch = patch
	return t, nil
}

// kept wants a revision, and the patch where there was one.
func kept(what, revision, modified, patch string) (string, error) {
	switch {
	case revision == "":
		return "", &arm.SpecError{Spec: what, Reason: "the record names no revision, since git did not hold the tree, so nothing is there to build"}
	case strings.HasPrefix(patch, results.PatchNotKept):
		return "", &arm.SpecError{Spec: what, Reason: fmt.Sprintf("commit %s had an uncommitted patch that the record does not have (%s)", revision, patch)}
	case modified == "true" && patch == "":
		return "", &arm.SpecError{Spec: what, Reason: fmt.Sprintf("commit %s had uncommitted changes, and the record has no patch", revision)}
	}
	return patch, nil
}

func build(ctx context.Context, t tree.Tree) (tree.Build, error) {
	cache, err := tree.Cache()
	if err != nil {
		return tree.Build{}, err
	}
	return t.Build(ctx, cache, nil)
}

// executable wants the worker that the run had, if the same toolchain built it.
func (r *Rebuilder) executable(about results.Arm, b tree.Build) (string, error) {
	if len(about.Layouts) > 0 {
		return "", nil // see layouts
	}
	if other, err := r.otherToolchain(about, b); other != "" || err != nil {
		return other, err
	}
	if !slices.Contains(about.BinarySHA256, b.Workers[0].SHA256) {
		return "", fmt.Errorf("the worker comes out with sha256 %s, want one of %q as in the run: the sources are the same", b.Workers[0].SHA256, about.BinarySHA256)
	}
	return "the executable is the same", nil
}

// layouts builds the run's pool of executables again and wants the same.
func (r *Rebuilder) layouts(ctx context.Context, t tree.Tree, about results.Arm, b tree.Build) (string, error) {
	if len(about.Layouts) == 0 {
		return "", nil
	}
	if other, err := r.otherToolchain(about, b); other != "" || err != nil {
		return other, err
	}
	cache, err := tree.Cache()
	if err != nil {
		return "", err
	}
	var seeds []int64
	for _, l := range about.Layouts {
		seeds = append(seeds, l.Seed)
	}
	pool, err := t.Build(ctx, cache, seeds)
	if err != nil {
		return "", err
	}
	var errs []error
	for i, l := range about.Layouts {
		if got := pool.Workers[i].SHA256; got != l.SHA256 {
			errs = append(errs, fmt.Errorf("layout %d (seed %d) comes out with sha256 %s, want %s as in the run", i, l.Seed, got, l.SHA256))
		}
	}
	return fmt.Sprintf("; all %d layouts are the same", len(seeds)), errors.Join(errs...)
}

// otherToolchain says why executables cannot be compared, "" if they can.
func (r *Rebuilder) otherToolchain(about results.Arm, b tree.Build) (string, error) {
	info, err := buildinfo.ReadFile(b.Workers[0].Path)
	if err != nil {
		return "", err
	}
	if was := about.Packages["go"]; was != info.GoVersion {
		return fmt.Sprintf("executables not compared: %s built the run's, %s these", was, info.GoVersion), nil
	}
	return "", nil
}

func differs(spec string, t tree.Tree, what string) error {
	return &arm.SpecError{Spec: spec, Reason: fmt.Sprintf("commit %s%s does not have the files that the run had: %s", t.Commit, withPatch(t.Patch), what)}
}

func withPatch(patch string) string {
	if patch == "" {
		return ""
	}
	return fmt.Sprintf(" with a patch of %d bytes", len(patch))
}

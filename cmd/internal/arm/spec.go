package arm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// Kinds of arm.
const (
	KindBuiltin = "builtin"
	KindExec    = "exec"
	KindDir     = "dir"
	KindGit     = "git"
	KindSGLang  = "sglang"
)

var kinds = []string{KindBuiltin, KindExec, KindDir, KindGit, KindSGLang}

// Hidden commands of this program that an arm is made of.
const (
	ControllerCommand = "__controller"
	WorkerCommand     = "__worker"
	ConsumerCommand   = "__consumer"
)

// Arm is a spec that names exactly one thing.
type Arm struct {
	Spec    string // as given, with its kind written out
	Kind    string
	Name    string            // the strategy, or the command
	Options map[string]string // of the spec and of --set; the controller knows which exist
	Command []string          // of a source tree only once it is built

	Strategy string      // of the worker, where this program's controller runs it
	Tree     *tree.Tree  // what the worker is built from, where it is not this program
	Build    *tree.Build // what came of it, see Resolver.Build

	SGLang       *sglang.Tree  // the tree that is run, where it is one of SGLang's
	Python       sglang.Python // that runs it
	WorkerSHA256 string        // of this program, where its worker takes the place of the tree's
}

// OwnClock reports whether the arm brings its own controller, and so its own
// clock and consumers.
func (a Arm) OwnClock() bool { return a.Kind == KindExec }

// Profiled reports whether the arm's worker can be profiled: one of this module
// under this program's controller.
func (a Arm) Profiled() bool { return !a.OwnClock() && a.SGLang == nil }

// SpecError is a spec, or an option, that cannot be run.
type SpecError struct{ Spec, Reason string }

func (e *SpecError) Error() string { return fmt.Sprintf("arm %q: %s", e.Spec, e.Reason) }

// Resolver knows what specs can name. Self is this program's path, Repo a folder
// in the repository of git: arms.
type Resolver struct {
	Self    string
	Repo    string
	Listing protocol.Listing
	Loop    string // the loop whose strategies builtin arms name; empty is the fanout's

	Transport string // of SGLang trees, whose command names it
	Python    string // the interpreter of SGLang trees; empty: see sglang.FindPython
}

// NewResolver asks this program's worker what it has.
func NewResolver(ctx context.Context, self string) (*Resolver, error) {
	l, err := list(ctx, self)
	return &Resolver{Self: self, Repo: ".", Listing: l}, err
}

// list asks a worker what it has.
func list(ctx context.Context, worker string) (l protocol.Listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, worker, WorkerCommand, "--list").Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return l, fmt.Errorf("arm: ask %s for its strategies: %w", worker, err)
	}
	if err := json.Unmarshal(out, &l); err != nil {
		return l, fmt.Errorf("arm: the list of %s: %w", worker, err)
	}
	return l, nil
}

const listTimeout = 10 * time.Second

// Resolve finds the one thing that spec names. Options given with set come on
// top of those in the spec.
func (r *Resolver) Resolve(ctx context.Context, spec string, set map[string]string) (Arm, error) {
	kind, rest, ok := strings.Cut(spec, ":")
	if !ok {
		var err error
		if kind, err = r.bareWord(ctx, spec); err != nil {
			return Arm{}, err
		}
		rest = spec
	}
	if strings.TrimSpace(rest) == "" {
		return Arm{}, &SpecError{spec, "nothing after the colon"}
	}
	a := Arm{Spec: kind + ":" + rest, Kind: kind, Name: rest, Options: map[string]string{}}
	switch kind {
	case KindBuiltin:
		if err := r.builtin(&a); err != nil {
			return Arm{}, err
		}
	case KindExec:
		a.Command = []string{"sh", "-c", "exec " + rest}
	case KindDir, KindGit:
		if err := r.tree(ctx, &a); err != nil {
			return Arm{}, err
		}
	case KindSGLang:
		t, err := sglang.AtRelease(rest)
		if err != nil {
			return Arm{}, inSpec(spec, err)
		}
		a.SGLang = &t
	default:
		return Arm{}, &SpecError{spec, fmt.Sprintf("unknown kind %q, want one of %s", kind, strings.Join(kinds, ", "))}
	}
	maps.Copy(a.Options, set)
	return a, r.settle(ctx, &a)
}

// settle checks the options of an arm whose spec is resolved.
func (r *Resolver) settle(ctx context.Context, a *Arm) error {
	if a.SGLang != nil {
		return r.settleSGLang(ctx, a)
	}
	// These two mean the same in every arm: the plan's fence is made for them.
	if _, err := protocol.ParseRouting(a.Options); err != nil {
		return &SpecError{a.Spec, err.Error()}
	}
	_, counted := a.Options[protocol.OptionDetokenizers] // one that is asked for is no mistake
	if rule := a.Options[protocol.OptionRouter]; rule != "" && rule != protocol.RouterNone && !counted && r.Loop != protocol.LoopRouter {
		return &SpecError{a.Spec, fmt.Sprintf("option %s is %q, but there is one detokenizer, and nothing to choose: give --detokenizers, or --loop %s", protocol.OptionRouter, rule, protocol.LoopRouter)}
	}
	switch a.Kind {
	case KindBuiltin:
		return checkOptions(*a, r.Listing)
	case KindDir, KindGit:
		a.takeStrategy(r.Loop)
		return checkNames(*a)
	}
	return nil
}

// OptionZMQ is the option of a builtin arm for the ZeroMQ engine.
const OptionZMQ = "zmq"

// OptionMethod is the option of a builtin arm for the detokenizer's method.
const OptionMethod = "method"

var methods = []string{protocol.MethodOffset, protocol.MethodBytes}

// controllerOptions are all that this program's controller has.
var controllerOptions = []string{OptionZMQ, protocol.OptionDetokenizers, protocol.OptionRouter, OptionMethod}

// checkOptions refuses what this program's controller would refuse, before
// anything runs. The options of exec arms are known to their controllers only.
func checkOptions(a Arm, l protocol.Listing) error {
	if err := checkNames(a); err != nil {
		return err
	}
	if v, ok := a.Options[OptionZMQ]; ok && !slices.Contains(l.ZMQ, v) {
		return &SpecError{a.Spec, fmt.Sprintf("option %s is %q, want one of %s", OptionZMQ, v, strings.Join(l.ZMQ, ", "))}
	}
	if v, ok := a.Options[OptionMethod]; ok && !slices.Contains(methods, v) {
		return &SpecError{a.Spec, fmt.Sprintf("option %s is %q, want one of %s", OptionMethod, v, strings.Join(methods, ", "))}
	}
	return nil
}

// checkNames refuses options that there are not; it needs no worker for that.
func checkNames(a Arm) error {
	for _, k := range slices.Sorted(maps.Keys(a.Options)) {
		if k != protocol.OptionDelay && !slices.Contains(controllerOptions, k) {
			return &SpecError{a.Spec, fmt.Sprintf("no option %q, a %s arm has %s", k, a.Kind, a.optionNames())}
		}
	}
	if _, err := protocol.ParseDelay(a.Options); err != nil {
		return &SpecError{a.Spec, err.Error()}
	}
	return nil
}

func (r *Resolver) strategies() []string { return r.strategiesOf(r.Listing) }

// strategiesOf are those that a worker has for the loop that is measured.
func (r *Resolver) strategiesOf(l protocol.Listing) []string {
	var names []string
	list := l.Strategies
	if r.Loop == protocol.LoopRouter {
		list = l.Routers
	}
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

func (r *Resolver) bareWord(ctx context.Context, word string) (string, error) {
	name, _, _ := strings.Cut(word, "@")
	var could []string
	if slices.Contains(r.strategies(), name) {
		could = append(could, KindBuiltin)
	}
	if st, err := os.Stat(word); err == nil && st.IsDir() {
		could = append(could, KindDir)
	} else if tree.HasRevision(ctx, r.Repo, word) {
		could = append(could, KindGit)
	}
	switch len(could) {
	case 1:
		return could[0], nil
	case 0:
		return "", &SpecError{word, fmt.Sprintf("is no strategy (%s), no folder and no revision here; write KIND:%s with a kind of %s",
			strings.Join(r.strategies(), ", "), word, strings.Join(kinds, ", "))}
	}
	for i, kind := range could {
		could[i] = kind + ":" + word
	}
	return "", &SpecError{word, "could be " + strings.Join(could, " or ") + "; write which"}
}

// builtin takes STRATEGY@K=V,K=V apart.
func (r *Resolver) builtin(a *Arm) error {
	name, options, has := strings.Cut(a.Name, "@")
	if !slices.Contains(r.strategies(), name) {
		return &SpecError{a.Spec, fmt.Sprintf("no strategy %q, want one of %s", name, strings.Join(r.strategies(), ", "))}
	}
	if has {
		parsed, err := ParseOptions(strings.Split(options, ","))
		if err != nil {
			return &SpecError{a.Spec, err.Error()}
		}
		a.Options = parsed
	}
	a.Spec, a.Name, a.Strategy = KindBuiltin+":"+name, name, name
	a.Command = []string{r.Self, ControllerCommand, "--strategy", name}
	return nil
}

// ParseOptions reads K=V pairs.
func ParseOptions(pairs []string) (map[string]string, error) {
	options := map[string]string{}
	for _, p := range pairs {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("option %q, want NAME=VALUE", p)
		}
		if _, twice := options[k]; twice {
			return nil, errors.New("option " + k + " is given twice")
		}
		options[k] = v
	}
	return options, nil
}

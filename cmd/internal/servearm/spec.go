package servearm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
)

// Kinds of arm.
const (
	KindBuiltin = "builtin"
	KindDir     = "dir"
	KindGit     = "git"
	KindLaunch  = "launch"
	KindURL     = "url"
)

var kinds = []string{KindBuiltin, KindDir, KindGit, KindLaunch, KindURL}

// How a server of this module sends the items of a request to its scheduler.
const (
	Individual = "individual"
	Batch      = "batch"
	Plain      = "plain" // as SGLang does without flags
)

// optionMode is the option of dir and git arms for what builtin arms are named by.
const optionMode = "mode"

// modeFlags are the command line of each mode.
var modeFlags = map[string][]string{
	Individual: {"--disable-batch-send"},
	Batch:      {"--enable-tokenizer-batch-encode"},
	Plain:      nil,
}

// shorthands are options by another name than their flag's.
var shorthands = map[string]string{
	"max-tokens": "batch-send-max-tokens",
	"max-reqs":   "batch-send-max-reqs",
}

// portMark is where a command has its port.
const portMark = "{port}"

// Arm is a spec that names exactly one server.
type Arm struct {
	Spec    string
	Kind    string
	Name    string            // the mode, the path or revision, the command, the address
	Mode    string            // of a server of this module
	Options map[string]string // further flags, without dashes; "" is a flag without a value
	Program []string          // how the server is started; of a source tree once it is built
	Tree    *tree.Tree
	Build   *tree.Build
}

// Ours says whether the server is one of this module.
func (a Arm) Ours() bool { return a.Kind == KindBuiltin || a.Kind == KindDir || a.Kind == KindGit }

// Started says whether Start starts a process.
func (a Arm) Started() bool { return a.Kind != KindURL }

// SpecError is a spec, or an option, that cannot be run.
type SpecError struct{ Spec, Reason string }

func (e *SpecError) Error() string { return fmt.Sprintf("arm %q: %s", e.Spec, e.Reason) }

// Resolver knows what specs can name.
type Resolver struct {
	Server []string // the command line of this program's own server
	Repo   string   // a folder in the repository of git arms
	Cache  string   // where trees are built; "" is the user's
}

// Resolve finds the server that a spec names. Flags given with set come on top of
// those in the spec, for servers of this module only.
func (r Resolver) Resolve(ctx context.Context, spec string, set map[string]string) (Arm, error) {
	kind, rest, ok := strings.Cut(spec, ":")
	if !ok || !slices.Contains(kinds, kind) {
		return Arm{}, &SpecError{spec, fmt.Sprintf("want KIND:... with a kind of %s, as in builtin:batch", strings.Join(kinds, ", "))}
	}
	if strings.TrimSpace(rest) == "" {
		return Arm{}, &SpecError{spec, "nothing after the colon"}
	}
	a := Arm{Spec: spec, Kind: kind, Name: rest, Options: map[string]string{}}
	if !a.Ours() {
		return r.other(a)
	}
	if err := a.takeOptions(set); err != nil {
		return Arm{}, err
	}
	if kind == KindBuiltin {
		a.Mode, a.Program = a.Name, r.Server
		if _, ok := modeFlags[a.Mode]; !ok {
			return Arm{}, &SpecError{spec, fmt.Sprintf("no mode %q, want %s", a.Mode, strings.Join(modes(), ", "))}
		}
		return a, a.check(ctx)
	}
	return a, r.source(ctx, &a)
}

func modes() []string { return slices.Sorted(maps.Keys(modeFlags)) }

// other checks the spec of a server that is not of this module.
func (r Resolver) other(a Arm) (Arm, error) {
	switch {
	case a.Kind == KindLaunch && !strings.Contains(a.Name, portMark):
		return Arm{}, &SpecError{a.Spec, "no {port} in the command, want it where the server's port belongs"}
	case a.Kind == KindLaunch:
		return a, nil
	}
	u, err := url.Parse(a.Name)
	if err != nil || u.Scheme != "http" || u.Host == "" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Arm{}, &SpecError{a.Spec, "want url:http://HOST:PORT"}
	}
	a.Name = "http://" + u.Host
	return a, nil
}

// takeOptions moves what stands behind @ to Options, and then what was set.
func (a *Arm) takeOptions(set map[string]string) error {
	name, list, has := strings.Cut(a.Name, "@")
	a.Name = name
	if has {
		for option := range strings.SplitSeq(list, ",") {
			k, v, _ := strings.Cut(option, "=")
			if k == "" || strings.HasPrefix(k, "-") {
				return &SpecError{a.Spec, fmt.Sprintf("option %q, want NAME=VALUE or NAME, a flag of fanoutserve without dashes", option)}
			}
			k = full(k)
			if _, twice := a.Options[k]; twice {
				return &SpecError{a.Spec, "option " + k + " is given twice"}
			}
			a.Options[k] = v
		}
	}
	for k, v := range set {
		a.Options[full(k)] = v
	}
	for _, reserved := range []string{"host", "port"} {
		if _, has := a.Options[reserved]; has {
			return &SpecError{a.Spec, fmt.Sprintf("option %s is this program's to choose", reserved)}
		}
	}
	if level, has := a.Options["log-level"]; has && level != "info" && level != "debug" {
		return &SpecError{a.Spec, fmt.Sprintf("option log-level is %q, want info or debug: the log says where the server listens", level)}
	}
	return nil
}

func full(option string) string {
	if name, short := shorthands[option]; short {
		return name
	}
	return option
}

// source finds the tree of a dir or git arm.
func (r Resolver) source(ctx context.Context, a *Arm) error {
	a.Mode = Batch
	if mode, ok := a.Options[optionMode]; ok {
		if _, ok := modeFlags[mode]; !ok {
			return &SpecError{a.Spec, fmt.Sprintf("no mode %q, want %s", mode, strings.Join(modes(), ", "))}
		}
		a.Mode = mode
		delete(a.Options, optionMode)
	}
	var t tree.Tree
	var err error
	if a.Kind == KindDir {
		t, err = tree.Folder(a.Name)
	} else {
		t, err = tree.AtRevision(ctx, r.Repo, a.Name)
	}
	if err == nil {
		t, err = t.Of(ctx, tree.Serve)
	}
	a.Tree = &t
	return inSpec(a.Spec, err)
}

// inSpec makes what the user can mend a *SpecError.
func inSpec(spec string, err error) error {
	var input *tree.InputError
	if errors.As(err, &input) {
		return &SpecError{spec, err.Error()}
	}
	return err
}

// Make builds the server of a dir or git arm; any other comes back as it was.
func (r Resolver) Make(ctx context.Context, a Arm) (Arm, error) {
	if a.Tree == nil {
		return a, nil
	}
	cache := r.Cache
	if cache == "" {
		var err error
		if cache, err = tree.Cache(); err != nil {
			return a, err
		}
	}
	b, err := a.Tree.Build(ctx, cache, nil)
	if err != nil {
		return a, inSpec(a.Spec, err)
	}
	a.Build, a.Program = &b, []string{b.Workers[0].Path}
	return a, a.check(ctx)
}

// flags are those of a server of this module.
func (a Arm) flags() []string {
	flags := slices.Clone(modeFlags[a.Mode])
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if v := a.Options[name]; v != "" {
			flags = append(flags, "--"+name+"="+v)
		} else {
			flags = append(flags, "--"+name)
		}
	}
	return flags
}

// checkTimeout bounds what takes milliseconds.
const checkTimeout = time.Minute

// check asks the server's own command line whether it has the flags.
func (a Arm) check(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	argv := slices.Concat(a.Program, a.flags(), []string{"--help"})
	said, err := exec.CommandContext(within, argv[0], argv[1:]...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &exit):
		return &SpecError{a.Spec, strings.TrimSpace(string(said))}
	}
	return fmt.Errorf("servearm: %s: %w", a.Program[0], err)
}

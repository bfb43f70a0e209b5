package arm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/sglang"
	"github.com/fanoutbench/fanoutbench/cmd/internal/tree"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Options of SGLang trees: the worker of a cross arm, and variables that are set in
// the environment before the tree is imported.
const (
	OptionWorker = "worker"
	optionEnv    = "env." // and the variable's name
)

// CrossArm is how a worker of this module is put under a tree's consumers, for
// messages.
const CrossArm = "--candidate-set " + OptionWorker + "=" + KindBuiltin + ":STRATEGY"

// variable is the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// transportVariable is set by --transport, since a tree may read it when it is
// imported.
const transportVariable = "SGLANG_USE_PICKLE_IPC"

// settleSGLang checks what can be known of an SGLang tree before it runs: its
// options and its interpreter.
func (r *Resolver) settleSGLang(ctx context.Context, a *Arm) error {
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if err := r.checkSGLangOption(*a, name, a.Options[name]); err != nil {
			return &SpecError{a.Spec, err.Error()}
		}
	}
	if r.Loop == protocol.LoopRouter {
		a.Options[protocol.OptionRouter] = protocol.RouterIPC // the one rule that there is
	}
	var err error
	a.Python, err = sglang.FindPython(ctx, r.Python)
	return inSpec(a.Spec, err)
}

func (r *Resolver) checkSGLangOption(a Arm, name, value string) error {
	env, isEnv := strings.CutPrefix(name, optionEnv)
	switch {
	case isEnv && env == transportVariable:
		return fmt.Errorf("option %s: the variable is set by --transport %s or %s", name, protocol.TransportMsgpack, protocol.TransportPickle)
	case isEnv && !variable.MatchString(env):
		return fmt.Errorf("option %s: %q is no name of an environment variable", name, env)
	case isEnv && strings.ContainsRune(value, 0):
		return fmt.Errorf("option %s: %q holds a zero byte", name, value)
	case isEnv:
		return nil
	case name == protocol.OptionDetokenizers && value == "1":
		return nil
	case name == protocol.OptionDetokenizers:
		return fmt.Errorf("option %s is %q, an SGLang tree is measured with one: --loop %s measures the way to several", name, value, protocol.LoopRouter)
	case name == protocol.OptionRouter && r.Loop != protocol.LoopRouter:
		return fmt.Errorf("option %s is %q, but there is one detokenizer, and nothing to choose: --loop %s measures the router", name, value, protocol.LoopRouter)
	case name == protocol.OptionRouter && value != protocol.RouterIPC:
		return fmt.Errorf("option %s is %q, an SGLang tree has %q", name, value, protocol.RouterIPC)
	case name == protocol.OptionRouter:
		return nil
	case name == OptionWorker && r.Transport == protocol.TransportPickle:
		return fmt.Errorf("option %s is %q, but this program's workers do not read messages that are pickled as a whole: it is for --transport %s", name, value, protocol.TransportMsgpack)
	case name == OptionWorker:
		return r.checkWorker(value)
	case name == OptionZMQ && a.Options[OptionWorker] == "":
		return fmt.Errorf("option %s is %q, but the tree's own worker has pyzmq: it is for %s", name, value, CrossArm)
	case name == OptionZMQ && !slices.Contains(r.Listing.ZMQ, value):
		return fmt.Errorf("option %s is %q, want one of %s", name, value, strings.Join(r.Listing.ZMQ, ", "))
	case name == OptionZMQ:
		return nil
	}
	return fmt.Errorf("no option %q, an SGLang tree has %sNAME, %s, %s, and %s in the router's loop", name, optionEnv, OptionWorker, OptionZMQ, protocol.OptionRouter)
}

// checkWorker wants builtin:STRATEGY.
func (r *Resolver) checkWorker(value string) error {
	strategy, ok := strings.CutPrefix(value, KindBuiltin+":")
	if !ok || !slices.Contains(r.strategies(), strategy) {
		return fmt.Errorf("option %s is %q, want %s: and one of %s", OptionWorker, value, KindBuiltin, strings.Join(r.strategies(), ", "))
	}
	return nil
}

func (r *Resolver) baseSGLang(ctx context.Context, a Arm, set map[string]string) (base Arm, branch string, err error) {
	t, branch, err := a.SGLang.Base(ctx)
	if err != nil {
		return Arm{}, "", inSpec(a.Spec, fmt.Errorf("no reference is given, and none to be found: %w", err))
	}
	commit := t.Commit.Commit
	base = Arm{Spec: KindGit + ":" + commit, Kind: KindGit, Name: commit, Options: map[string]string{}, SGLang: &t}
	maps.Copy(base.Options, set)
	return base, branch, r.settle(ctx, &base)
}

// prepareSGLang makes the tree a folder of this machine, writes the script that
// runs it, and makes the arm's command.
func (r *Resolver) prepareSGLang(ctx context.Context, a Arm) (Arm, error) {
	cache, err := tree.Cache()
	if err != nil {
		return a, err
	}
	t, err := a.SGLang.Prepare(ctx, a.Python.Path, cache)
	if err != nil {
		return a, inSpec(a.Spec, err)
	}
	a.SGLang = &t
	script, err := sglang.WriteScript(cache)
	if err != nil {
		return a, err
	}
	// No bytecode is written: a tree is left as it is.
	a.Command = []string{a.Python.Path, "-B", script, "--tree", t.Folder, "--transport", r.Transport}
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if env, ok := strings.CutPrefix(name, optionEnv); ok {
			a.Command = append(a.Command, "--env", env+"="+a.Options[name])
		}
	}
	return a, r.addWorker(&a)
}

// addWorker gives the command of a cross arm its worker, and the arm its hash.
func (r *Resolver) addWorker(a *Arm) error {
	strategy, ok := strings.CutPrefix(a.Options[OptionWorker], KindBuiltin+":")
	if !ok {
		return nil
	}
	command, err := json.Marshal([]string{r.Self, WorkerCommand})
	if err != nil {
		return fmt.Errorf("arm: %w", err)
	}
	a.Command = append(a.Command, "--worker-command", string(command), "--worker-strategy", strategy)
	if engine := a.Options[OptionZMQ]; engine != "" {
		a.Command = append(a.Command, "--worker-zmq", engine)
	}
	a.WorkerSHA256, err = results.HashFile(r.Self)
	return err
}

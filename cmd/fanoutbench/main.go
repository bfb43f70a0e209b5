// Fanoutbench measures the paths by which an LLM server hands decoded rows to
// its HTTP workers.
//
// Two arms, a reference and a candidate, replay the same incremental token
// batches through their own IPC path in paired rounds of random order. Every
// delivered row is verified; the per-round reductions come out with intervals,
// raw trials and the hashes of what ran.
//
// Usage:
//
//	fanoutbench [run] --reference SPEC --candidate SPEC [flags]
//	fanoutbench plan --shards N --output FILE [flags of run]
//	fanoutbench run --campaign FILE --shard I
//	fanoutbench list
//	fanoutbench check-arm SPEC
//	fanoutbench report DIR [--format text|markdown|csv|json|bench|html]
//	fanoutbench history DIR... [--count N] [--metadata KIND] [--metric NAME] [--format text|csv|html]
//	fanoutbench explain DIR [--count N] [--metadata KIND] [--metric NAME]
//	fanoutbench verify DIR
//	fanoutbench reproduce DIR [--output NEW] [--repo PATH]
//	fanoutbench merge DIR... [--output NEW]
//	fanoutbench gate DIR [--margin 5%] [--counters LIST]
//	fanoutbench calibrate
//	fanoutbench doctor
//
// Exit status: 0 when the measurement is complete and verified, whatever it
// says; 2 for a mistake in the command line; 4 when a run is invalid, incomplete
// or interrupted, an arm fails a clause, or a folder does not verify. Of gate also 1
// for a regression and 3 for what cannot be told, if that is to fail. ("go run"
// turns every failure into 1.)
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit statuses.
const (
	exitOK      = 0
	exitUsage   = 2
	exitInvalid = 4
)

func main() {
	// A pipe that nobody reads is an error of the write, told like any other; a
	// process that the signal ends would leave its sockets and its private folder
	// behind. It is caught, not ignored: what is ignored stays so in the processes
	// that this one starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Reset(syscall.SIGINT) }) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status(os.Stderr, err))
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// status prints err, if any, and gives the exit status that stands for it.
func status(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "fanoutbench: %v\n", err) // there is no other place to say it
	var gate gateError
	if errors.As(err, &gate) {
		return gate.code
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitInvalid
}

func run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// newRoot is the command tree; without a subcommand it is run.
func newRoot() *cobra.Command {
	root := newRun("fanoutbench")
	root.Args = noCommand
	root.Version = toolVersion()
	root.Long = "Compare two ways of fanning decoded batches out to HTTP workers: the same rows,\n" +
		"over real ZeroMQ IPC, in paired rounds of random order, every row verified."
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newRun("run"), newList(), newCheckArm(), newReport(), newHistoryCommand(), newExplain(), newVerify(), newPlan(), newMerge(), newReproduce(), newGate(), newCalibrate(), newDoctor(), newController(), newWorker(), newConsumer())
	return root
}

// noCommand is for words behind the program's name that are no subcommand.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("no command %q, did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return usagef("no command %q, see fanoutbench --help; arms are given with --reference and --candidate", args[0])
}

// exactly is cobra.ExactArgs with this program's exit status.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s: %d arguments %q, want %s", c.Name(), len(args), args, what)
		}
		return nil
	}
}

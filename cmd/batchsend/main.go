// Batchsend measures what sending the items of one request as one message does to
// the prefill batches of an LLM server, and to latency.
//
// Two arms, a reference and a candidate, each a server of its own, get the same
// open-loop Poisson load on /v1/score in paired rounds of random order, and single
// requests beside it. Latency counts from the time when a request was due. The
// sender judges its own sending; the scheduler's records say how items were spread
// over prefill batches; the answers of both arms must agree.
//
// Usage:
//
//	batchsend [run] [--reference SPEC] [--candidate SPEC] [flags]
//	batchsend report DIR [--format text|...]
//	batchsend verify DIR [SHARD...]
//	batchsend merge SHARD... --output DIR
//	batchsend gate DIR [--margin 5%]
//
// Exit status: 0 when the measurement is complete and verified, whatever it says;
// 2 for a mistake in the command line; 4 when a run is invalid, incomplete or
// interrupted, or a folder does not verify. Of gate also 1 for a regression and 3 for
// what cannot be told, if that is to fail.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
)

// Exit statuses.
const (
	exitOK           = 0
	exitRegression   = 1
	exitUsage        = 2
	exitInconclusive = 3
	exitInvalid      = 4
)

// serveCommand makes this executable the server of builtin arms.
const serveCommand = "__serve"

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		os.Exit(serve.Main(os.Args[1:2], os.Args[2:]))
	}
	// A pipe that nobody reads is an error of the write, told like any other; a
	// process that the signal ends would leave its servers behind. It is caught, not
	// ignored: what is ignored stays so in the processes that this one starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Reset(syscall.SIGINT) }) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status(os.Stderr, err))
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// gateError is what a gate ends with unless it passes.
type gateError struct {
	code            int
	outcome, reason string
}

func (e gateError) Error() string { return fmt.Sprintf("gate: %s: %s", e.outcome, e.reason) }

// status prints err, if any, and gives the exit status that stands for it.
func status(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "batchsend: %v\n", err) // there is no other place to say it
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

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	root := newRun("batchsend")
	root.Version = toolVersion()
	root.Long = "Compare two ways of sending the items of a request to an LLM server's scheduler: the same\n" +
		"open-loop load on both servers, in paired rounds of random order, every answer checked."
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newRun("run"), newReport(), newVerify(), newGate(), newMerge())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// exactly is cobra.ExactArgs with this program's exit status.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s: %d arguments %q, want %s; see batchsend --help", c.Name(), len(args), args, what)
		}
		return nil
	}
}

// toolVersion is the module version that this program was built as.
func toolVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Fanoutserve is a small LLM server with the processes and sockets of a large
// one: HTTP workers, a router, a scheduler with its model, detokenizers, joined by
// ZeroMQ over ipc://. Its flags have SGLang's names.
//
// Usage:
//
//	fanoutserve [flags]
//
// Without --model-path it serves a small model that it makes from a seed, so that
// nothing has to be downloaded. --device sim serves no model at all, but steps of
// a stated duration.
//
// Flags of SGLang that have no meaning here are accepted, each with a warning, so
// that published commands start; see [sift]. A flag that neither knows is a
// mistake.
//
// SIGTERM or SIGINT ends the server in order: what runs is finished, nothing new
// is taken, and the ledger of rows is told. A second one ends it at once.
//
// Exit status: 0 when the server was asked to end and every row is accounted for;
// 1 when it could not start, a part of it has failed, requests were cut off or
// rows were lost; 2 for a mistake in the command line.
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

	"github.com/fanoutbench/fanoutbench/cmd/fanoutserve/internal/supervisor"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
)

// Exit statuses.
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// partCommand runs one part as a child.
const partCommand = "__part"

func main() {
	// A log that nobody reads is an error of the write, told like any other; a
	// process that the signal ends would leave its folder behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, now := signals()
	os.Exit(status(os.Stderr, run(ctx, now, os.Stdin, os.Stdout, os.Stderr, os.Args[1:])))
}

// signals gives a context that the first signal ends, and a channel that the
// second closes.
func signals() (context.Context, <-chan struct{}) {
	ctx, end := context.WithCancel(context.Background())
	now := make(chan struct{})
	got := make(chan os.Signal, 2)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-got
		end()
		<-got
		close(now)
	}()
	return ctx, now
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, values ...any) error { return usageError{fmt.Errorf(format, values...)} }

// status prints err, if any, and gives the exit status that stands for it.
func status(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "fanoutserve: %v\n", err) // there is no other place to say it
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFail
}

func run(ctx context.Context, now <-chan struct{}, stdin io.Reader, stdout, stderr io.Writer, argv []string) error {
	if len(argv) == 1 && argv[0] == partCommand {
		signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // the supervisor's matter
		return supervisor.RunPart(stdin, stdout, stderr, parts)
	}
	a := args.Default()
	root := newRoot(&a)
	argv, warnings, err := sift(argv, root.Flags())
	if err != nil {
		return usageError{err}
	}
	root.RunE = func(c *cobra.Command, _ []string) error {
		for _, w := range warnings {
			if _, err := fmt.Fprintln(stderr, "fanoutserve: warning: "+w); err != nil {
				return err
			}
		}
		return serve(ctx, now, stderr, a)
	}
	root.SetArgs(argv)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

// serve starts the server that the settings describe.
func serve(ctx context.Context, now <-chan struct{}, stderr io.Writer, a args.Args) error {
	a = a.Complete()
	if err := a.Check(); err != nil {
		return usageError{err}
	}
	if _, err := backend.Describe(a); err != nil { // once, not from every part
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return supervisor.Run(ctx, supervisor.Config{
		Args: a, Parts: parts, Command: []string{self, partCommand},
		Ledger: counters.ReadLedger, Log: stderr, TempDir: os.TempDir(), Now: now,
	})
}

func newRoot(a *args.Args) *cobra.Command {
	root := &cobra.Command{
		Use:   "fanoutserve [flags]",
		Short: "serve a small language model through real processes and ZeroMQ",
		Long: "Serve a small language model as large systems do: HTTP workers, a router, a scheduler and\n" +
			"detokenizers, as processes joined by ZeroMQ. Without --model-path the model is made from a seed.",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, rest []string) error {
			if len(rest) > 0 {
				return usagef("%q is no flag; see fanoutserve --help", rest[0])
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	bind(root, a)
	return root
}

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

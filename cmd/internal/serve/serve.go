// Package serve is the program fanoutserve: its command line, its signals and the
// processes it consists of. The command of that name is one way to run it; a
// command that measures servers has it inside, behind a hidden word, so that it
// needs no other program.
//
// The processes of a server are the executable itself under [partCommand], so a
// program that calls [Main] must do nothing else when it is started as Main's
// words say.
package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/serve/internal/supervisor"
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

// sayGrace is how long the program's last word waits for a reader.
const sayGrace = 2 * time.Second

// partCommand runs one part as a child.
const partCommand = "__part"

// Main runs the program with the command line argv and gives its exit status.
// words are what stand before argv on the command line of this executable: none
// for fanoutserve itself.
func Main(words, argv []string) int {
	// A log that nobody reads is an error of the write, told like any other; a
	// process that the signal ends would leave its folder behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if len(argv) > 0 && argv[0] == partCommand { // behind it stands the part's name, for who looks at processes
		if supervisor.RunPart(os.Stdin, os.Stdout, os.Stderr, parts) != nil {
			return exitFail // the supervisor has been told why, and tells it
		}
		return exitOK
	}
	ctx, now := signals()
	p := program{words: words, now: now, stdout: os.Stdout, stderr: os.Stderr}
	return status(os.Stderr, p.run(ctx, argv))
}

// program is one run of it.
type program struct {
	words          []string        // that lead to it in this executable
	now            <-chan struct{} // closed: end at once
	stdout, stderr io.Writer
}

// sameSignal is the time in which another signal is the first one again: timeout(1)
// sends one to its child and at once to the child's group, a terminal to a group
// whose leader may pass it on.
const sameSignal = time.Second

// signals gives a context that the first signal ends, and a channel that a
// second one closes.
func signals() (context.Context, <-chan struct{}) {
	ctx, end := context.WithCancel(context.Background())
	now := make(chan struct{})
	got := make(chan os.Signal, 2)
	signal.Notify(got, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go heed(got, end, func() { close(now) })
	return ctx, now
}

// heed calls end for the first signal, and now for one that is not the same.
func heed(got <-chan os.Signal, end, now func()) {
	<-got
	end()
	first := time.Now()
	for range got {
		if time.Since(first) >= sameSignal {
			now()
			return
		}
	}
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
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = fmt.Fprintf(stderr, "fanoutserve: %v\n", err) // there is no other place to say it
	}()
	select {
	case <-said:
	case <-time.After(sayGrace): // nobody reads it
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFail
}

func (p program) run(ctx context.Context, argv []string) error {
	a := args.Default()
	root := newRoot(&a)
	argv, warnings, err := sift(argv, root.Flags())
	if err != nil {
		return usageError{err}
	}
	root.RunE = func(c *cobra.Command, _ []string) error {
		for _, w := range warnings {
			if _, err := fmt.Fprintln(p.stderr, "fanoutserve: warning: "+w); err != nil {
				return err
			}
		}
		return p.serve(ctx, a.OnMachine(c.Flags().Changed))
	}
	root.SetArgs(argv)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	return root.ExecuteContext(ctx)
}

// serve starts the server that the settings describe.
func (p program) serve(ctx context.Context, a args.Args) error {
	a = a.Complete()
	if err := a.Check(); err != nil {
		return usageError{err}
	}
	a, said := backend.Resolve(a)
	if said != "" {
		if _, err := fmt.Fprintln(p.stderr, "fanoutserve: "+said); err != nil {
			return err
		}
	}
	if err := backend.Check(a); err != nil { // here too: not from a part, and those around it
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return supervisor.Run(ctx, supervisor.Config{
		Args: a, Parts: parts, Command: slices.Concat([]string{self}, p.words, []string{partCommand}),
		Ledger: counters.ReadLedger, Log: p.stderr, TempDir: os.TempDir(), Now: p.now,
	})
}

func newRoot(a *args.Args) *cobra.Command {
	root := &cobra.Command{
		Use:   "fanoutserve [flags]",
		Short: "serve a small language model through real processes and ZeroMQ",
		Long: "Serve a small language model as large systems do: HTTP workers, a router, a scheduler and\n" +
			"detokenizers, as processes joined by ZeroMQ. Without --model-path the model is made from a seed.",
		Version:       args.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, rest []string) error {
			if len(rest) > 0 {
				return usagef("%q is no flag; see fanoutserve --help", rest[0])
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagError(err)} })
	bind(root, a)
	return root
}

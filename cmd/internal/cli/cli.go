// Package cli is what the programs that measure have in common around their commands: exit statuses, the
// errors that stand for them, the root of a command tree, and the signals that end a program.
package cli

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
)

// Exit statuses.
const (
	ExitOK           = 0
	ExitRegression   = 1 // of a gate
	ExitUsage        = 2 // a mistake in the command line
	ExitInconclusive = 3 // of a gate where that is to fail
	ExitInvalid      = 4 // everything else that fails
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage makes an error a mistake in the command line.
func Usage(err error) error { return usageError{err} }

// Usagef is fmt.Errorf for a mistake in the command line.
func Usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// GateError is what a gate ends with unless it passes.
type GateError struct {
	Code            int
	Outcome, Reason string
}

func (e GateError) Error() string { return fmt.Sprintf("gate: %s: %s", e.Outcome, e.Reason) }

// Status prints err, if any, and gives the exit status that stands for it.
func Status(stderr io.Writer, program string, err error) int {
	if err == nil {
		return ExitOK
	}
	_, _ = fmt.Fprintf(stderr, "%s: %v\n", program, err) // there is no other place to say it
	var gate GateError
	if errors.As(err, &gate) {
		return gate.Code
	}
	var usage usageError
	if errors.As(err, &usage) {
		return ExitUsage
	}
	return ExitInvalid
}

// Main runs a program until it ends or is told to, and ends the process.
func Main(program string, run func(context.Context) error) {
	// A pipe that nobody reads is an error of the write, told like any other; a process that the signal
	// ends would leave its children and its private folder behind. It is caught, not ignored: what is
	// ignored stays so in the processes that this one starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Reset(syscall.SIGINT) }) // a second Ctrl-C ends the program at once
	err := run(ctx)
	stop()
	os.Exit(Status(os.Stderr, program, err))
}

// Root makes c the root of a command tree, whose errors Status prints.
func Root(c *cobra.Command) {
	c.Version = Version()
	c.SilenceErrors = true
	c.SilenceUsage = true
	c.CompletionOptions.HiddenDefaultCmd = true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage(err) })
}

// Exactly is cobra.ExactArgs that says what is wanted, as a mistake in the command line.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			name := ""
			if c.HasParent() { // the program's own name is before every error
				name = c.Name() + ": "
			}
			word := "arguments"
			if len(args) == 1 {
				word = "argument"
			}
			return Usagef("%s%d %s %q, want %s; see %s --help", name, len(args), word, args, what, c.Root().Name())
		}
		return nil
	}
}

// Version is the module version that this program was built as.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

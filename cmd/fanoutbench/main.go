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
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
)

func main() {
	cli.Main("fanoutbench", func(ctx context.Context) error { return run(ctx, os.Stdin, os.Stdout, os.Stderr, os.Args[1:]) })
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
	root.Long = "Compare two ways of fanning decoded batches out to HTTP workers: the same rows,\n" +
		"over real ZeroMQ IPC, in paired rounds of random order, every row verified."
	cli.Root(root)
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
		return cli.Usagef("no command %q, did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return cli.Usagef("no command %q, see fanoutbench --help; arms are given with --reference and --candidate", args[0])
}

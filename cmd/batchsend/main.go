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
	"io"
	"os"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cli"
	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
)

// serveCommand makes this executable the server of builtin arms.
const serveCommand = "__serve"

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveCommand {
		os.Exit(serve.Main(os.Args[1:2], os.Args[2:]))
	}
	cli.Main("batchsend", func(ctx context.Context) error { return run(ctx, os.Stdout, os.Stderr, os.Args[1:]) })
}

func run(ctx context.Context, stdout, stderr io.Writer, args []string) error {
	root := newRun("batchsend")
	root.Long = "Compare two ways of sending the items of a request to an LLM server's scheduler: the same\n" +
		"open-loop load on both servers, in paired rounds of random order, every answer checked."
	cli.Root(root)
	root.AddCommand(newRun("run"), newReport(), newVerify(), newGate(), newMerge())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root.ExecuteContext(ctx)
}

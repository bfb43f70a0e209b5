// Fanoutserve is a small LLM server with the processes and sockets of a large
// one: HTTP workers, a router, a scheduler with its model, detokenizers, joined by
// ZeroMQ over ipc://. Its flags have SGLang's names.
//
// Usage:
//
//	fanoutserve [flags]
//
// --model-path names a model's files: a folder as Hugging Face has them, or a .gguf.
// Without it a small model is served that is made from a seed, so that nothing has
// to be downloaded. --device sim serves no model at all, but steps of
// a stated duration.
//
// Flags of SGLang that have no meaning here are accepted, each with a warning, so
// that published commands start. A flag that neither knows is a mistake.
//
// SIGTERM or SIGINT ends the server in order: what runs is finished, nothing new
// is taken, and the ledger of rows is told. Another one, a second or more later, ends
// it at once.
//
// Exit status: 0 when the server was asked to end and every row is accounted for;
// 1 when it could not start, a part of it has failed, requests were cut off or
// rows were lost; 2 for a mistake in the command line.
package main

import (
	"os"

	"github.com/fanoutbench/fanoutbench/cmd/internal/serve"
)

func main() { os.Exit(serve.Main(nil, os.Args[1:])) }

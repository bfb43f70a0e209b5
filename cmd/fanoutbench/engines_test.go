package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
)

// Every ZeroMQ engine delivers every row, and the report names it.
func TestEngines(t *testing.T) {
	for _, engine := range worker.List().ZMQ {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			p := measure(t, nil, "--counts", "1,5,32", "--metadata", "plain,rich",
				"--candidate", "builtin:grouped", "--reference-set", "zmq="+engine, "--candidate-set", "zmq=zmtp")
			p.run(exitOK)
			p.verified("msgpack", "per-row", "grouped")
			p.has("stdout", p.stdout.String(), "strategy per-row, options detokenizers=1", "zmq="+engine+"\n", "zmq=zmtp\n")
		})
	}
}

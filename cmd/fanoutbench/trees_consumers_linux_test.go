package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// Under a tree's worker the consumers are this program's, also when each is a
// process, and behind a router.
func TestTreesConsumers(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.compare(t, "--candidate", ".", "--consumers", "process", "--process", "round", "--http-workers", "3", "--counts", "32",
		"--candidate-set", "strategy=grouped", "--candidate-set", "detokenizers=2", "--candidate-set", "router="+protocol.RouterIPC)
	p.run(exitOK)
	p.ran(results.Reference, results.Arm{Spec: "git:" + h.main, Strategy: "splice", Revision: h.main, Modified: "false"}, "one")
	p.ran(results.Candidate, results.Arm{Spec: "dir:.", Strategy: "grouped", Revision: h.topic, Modified: "true"}, "three")
	p.routed(results.Reference, 1, "")
	p.routed(results.Candidate, 2, protocol.RouterIPC)
	p.consumerProcesses(3)
}

package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// The workers of a folder and of a revision run behind a router as well: each
// arm's own executable is router and detokenizers.
func TestTreesBehindRouter(t *testing.T) {
	for rule, args := range map[string][]string{
		protocol.RouterRID: nil,
		protocol.RouterIPC: {"--stream", "mixed", "--pace", "none"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t)
			p := h.compare(t, append(args, "--candidate", ".", "--detokenizers", "2", "--set", "router="+rule, "--counts", "5,32")...)
			p.run(exitOK)
			p.ran(results.Reference, results.Arm{Spec: "git:" + h.main, Strategy: "splice", Revision: h.main, Modified: "false"}, "one")
			p.ran(results.Candidate, results.Arm{Spec: "dir:.", Strategy: "splice", Revision: h.topic, Modified: "true"}, "three")
			p.routed(results.Reference, 2, rule)
			p.routed(results.Candidate, 2, rule)
			newProgram(t, nil, "verify", p.output).run(exitOK)
		})
	}
}

//go:build cuda

package main

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// A program that is built for GPUs measures as any other: what stands behind the scheduler knows no device.
func TestRunOfACUDABuild(t *testing.T) {
	p := measure(t, nil, "--reference", "builtin:per-row", "--candidate", "builtin:grouped-splice", "--transport", protocol.TransportMsgpack, "--counts", "1,5,32", "--metadata", "plain,rich")
	p.run(exitOK)
	p.verified(protocol.TransportMsgpack, "per-row", "grouped-splice")
}

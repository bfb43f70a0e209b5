package results

import "github.com/fanoutbench/fanoutbench/protocol"

// Values of Plan.Process: fresh processes for every round, or one set of them
// for the whole run.
const (
	ProcessRound = "round"
	ProcessRun   = "run"
)

// Values of Plan.Metadata.
const (
	MetadataPlain = "plain"
	MetadataRich  = "rich"
)

var (
	transports    = []string{protocol.TransportMsgpack, protocol.TransportNative, protocol.TransportPickle}
	consumers     = []string{protocol.ConsumerDecode, protocol.ConsumerRaw}
	paces         = []string{protocol.PaceArrived, protocol.PaceNone}
	processes     = []string{ProcessRound, ProcessRun}
	metadataKinds = []string{MetadataPlain, MetadataRich}
)

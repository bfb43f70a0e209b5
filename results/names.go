package results

import "github.com/fanoutbench/fanoutbench/protocol"

// Values of Plan.Process: fresh processes for every round, or one set of them
// for the whole run.
const (
	ProcessRound = "round"
	ProcessRun   = "run"
	ProcessSpawn = "spawn" // as round, and of an arm whose controller could be used again a new one
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
	processes     = []string{ProcessRound, ProcessRun, ProcessSpawn}
	metadataKinds = []string{MetadataPlain, MetadataRich}
)

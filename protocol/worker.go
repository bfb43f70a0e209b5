package protocol

// WireVersion is the version of the control pipe (see the package
// documentation) and of the frames. Since 2 the vocabulary of prepare is a file.
const WireVersion = 2

// Message types of the control pipe.
const (
	TypeConfigure = "configure"
	TypeReady     = "ready"
	TypePrepare   = "prepare"
	TypePrepared  = "prepared"
	TypeReport    = "report"
)

// Names of the counters of this module's workers.
const (
	CounterOpaqueDecodes = "opaque_decodes"
	CounterMessages      = "messages"
	CounterBytes         = "bytes"
	CounterAllocations   = "allocations"

	// CounterRouterMessages is what a router sent to its detokenizers; only arms
	// with a router have it.
	CounterRouterMessages = "router_messages"
)

// How a detokenizer finds the text that a row adds.
const (
	MethodOffset = "offset" // a window of ids, for any vocabulary; the default
	MethodBytes  = "bytes"  // a buffer of bytes, for a vocabulary of bytes
)

// The label of a worker's profile samples that are not the measured plane's.
const (
	ProfilePlane   = "plane"
	ProfileControl = "control"
)

// A stream is replayed for a profile until the worker has used ProfileCPUMS of CPU
// time, 200 samples, or ProfileMS have passed.
const (
	ProfileCPUMS = 2000
	ProfileMS    = 10_000
)

// Configure tells a worker what to run.
type Configure struct {
	Type        string `json:"type"`
	WireVersion int    `json:"wire_version"`
	Strategy    string `json:"strategy"`
	ZMQ         string `json:"zmq"`
	Endpoint    string `json:"endpoint"` // its input, which it binds
	SendMS      int    `json:"send_ms"`  // deadline of one write

	// Of a router only.
	Router  string   `json:"router,omitempty"`  // its rule, RouterRID or RouterIPC
	Targets []string `json:"targets,omitempty"` // the detokenizers' inputs, in index order

	// Of a detokenizer only, and left out for MethodOffset, so that a worker of
	// before there was a choice can be asked for what it has.
	Method string `json:"method,omitempty"`

	// Of a detokenizer only, for calibrations: how long it is busy before every
	// batch. Left out for none.
	DelayUS int `json:"delay_us,omitempty"`
}

// Ready is a worker's answer; its input endpoint is bound by then.
type Ready struct {
	Type          string            `json:"type"`
	WireVersion   int               `json:"wire_version"`
	Version       string            `json:"version"` // of the module it was built from
	Strategy      string            `json:"strategy"`
	NeedsPrepared bool              `json:"needs_prepared"` // wants the stream's frames in prepare
	Packages      map[string]string `json:"packages"`       // toolchain and module versions
	Counters      []string          `json:"counters"`
}

// Prepare announces a trial.
type Prepare struct {
	Type       string `json:"type"`
	Vocabulary File   `json:"vocabulary"`        // a Vocabulary object, which a worker that has this hash need not read again
	Batches    int    `json:"batches"`           // of the stream; later batches are the fence's
	Frames     *File  `json:"frames,omitempty"`  // a Frames object: what will be sent, fence included
	Profile    string `json:"profile,omitempty"` // file for a CPU profile, which is on from now on
}

// Frames is the content of a prepare's frames file.
type Frames struct {
	Frames [][]byte `json:"frames"`
}

// Report holds a worker's counters over the batches of the stream, and what
// failed since prepare.
type Report struct {
	Type     string             `json:"type"`
	Batches  int                `json:"batches"` // of the stream, that it has handled
	Counters map[string]float64 `json:"counters"`
	Errors   []string           `json:"errors"`
}

// Strategy is one entry of a worker's list.
type Strategy struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Listing is what a worker prints when asked what it has.
type Listing struct {
	WireVersion int        `json:"wire_version"`
	Strategies  []Strategy `json:"strategies"`
	Routers     []Strategy `json:"routers,omitempty"` // of the router's loop
	ZMQ         []string   `json:"zmq"`
}

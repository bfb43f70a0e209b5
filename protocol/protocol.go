package protocol

import "encoding/json"

// Version is the version of this protocol. Driver and controller must agree.
const Version = 1

// QuietMS is how long, in milliseconds, nothing may arrive after the fence.
const QuietMS = 5

// Message types, the value of the key "type" of every line.
const (
	TypeHello   = "hello"
	TypeReceipt = "receipt"
	TypeTrial   = "trial"
	TypeResult  = "result"
	TypeStop    = "stop"
	TypeStopped = "stopped"
	TypeError   = "error"
)

// Transports of the measured plane.
const (
	TransportMsgpack = "msgpack" // opaque metadata columns wrapped as bytes
	TransportNative  = "native"  // the control without wrappers, on Go arms
	TransportPickle  = "pickle"  // the control without wrappers, on Python trees
)

// Consumer kinds and paces of the timed part.
const (
	ConsumerDecode = "decode"
	ConsumerRaw    = "raw"
	PaceArrived    = "arrived"
	PaceNone       = "none"
)

// Where consumers run: on one thread of the controller, or each in a process.
const (
	ConsumersThread  = "thread"
	ConsumersProcess = "process"
)

// Loops that can be measured.
const (
	LoopFanout = "fanout" // from detokenizer to HTTP workers
	LoopRouter = "router" // from router to detokenizers: the consumers are their inputs
)

// Hello opens the conversation.
type Hello struct {
	Type        string            `json:"type"`
	Version     int               `json:"version"`
	Transport   string            `json:"transport"`
	Options     map[string]string `json:"options"` // --set of this arm; an unknown key is an error
	HTTPWorkers int               `json:"http_workers"`
	Consumer    string            `json:"consumer"`
	Consumers   string            `json:"consumers,omitempty"` // left out: ConsumersThread
	Pace        string            `json:"pace"`
	Loop        string            `json:"loop,omitempty"` // left out: LoopFanout
	Dir         string            `json:"dir"`            // private folder for sockets and bulk files
	WaitMS      int               `json:"wait_ms"`        // after the clock's start: give up waiting for rows and report what came
}

// Source is one file that an arm's processes were made from or loaded.
type Source struct {
	Path   string `json:"path"` // relative to the tree
	SHA256 string `json:"sha256"`
}

// MessageField is one field of a message, in wire order.
type MessageField struct {
	Name    string          `json:"name"`
	Default json.RawMessage `json:"default"` // a row's value when nothing set it
}

// Message is a message of the measured plane, as delivered to HTTP workers.
type Message struct {
	Name   string         `json:"name"`
	Fields []MessageField `json:"fields"`
}

// Receipt is what an arm says of itself before the first trial. The driver
// refuses a transport that is not in Transports and a version that is not its
// own, and compares the receipts of an arm's processes over the whole run.
type Receipt struct {
	Type           string            `json:"type"`
	Version        int               `json:"version"`
	Runtime        string            `json:"runtime"`
	RuntimeVersion string            `json:"runtime_version"`
	Transports     []string          `json:"transports"`
	Transport      string            `json:"transport"` // the one in force
	Strategy       string            `json:"strategy"`
	Options        map[string]string `json:"options"` // in force, defaults written out
	PIDs           []int             `json:"pids"`    // the worker processes
	Packages       map[string]string `json:"packages"`
	Sources        []Source          `json:"sources"`
	BinarySHA256   []string          `json:"binary_sha256"` // controller's and worker's executables
	Counters       []string          `json:"counters"`      // names that results will hold
	Endpoints      []string          `json:"endpoints"`     // the consumers, in index order
	Router         string            `json:"router"`        // how a detokenizer is chosen; "none" with one
	Detokenizers   int               `json:"detokenizers,omitempty"`
	Consumers      string            `json:"consumers,omitempty"`   // as hello has it
	Again          bool              `json:"again,omitempty"`       // after stopped the controller waits for another hello
	Descriptive    string            `json:"descriptive,omitempty"` // why figures of this arm decide nothing
	Messages       []Message         `json:"messages"`
}

// Cell is one kind of stream.
type Cell struct {
	Count    int    `json:"count"`    // rows of a batch
	Metadata string `json:"metadata"` // "plain" or "rich"
}

// File is bulk data: a file in the folder of the hello.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Trial asks for one stream and its fence.
type Trial struct {
	Type       string `json:"type"`
	ID         string `json:"id"`
	Round      int    `json:"round"`
	Repetition int    `json:"repetition"` // -1: the warm-up stream of a fresh process
	Cell       Cell   `json:"cell"`
	Work       File   `json:"work"`
	Profile    string `json:"profile,omitempty"` // for this module's own controller: where its worker puts a CPU profile
}

// Token is one vocabulary entry. Bytes is base64 in JSON.
type Token struct {
	ID      int64  `json:"id"`
	Bytes   []byte `json:"bytes"`
	Special bool   `json:"special"`
}

// Vocabulary kinds: pieces are joined by nothing, or by single blanks.
const (
	VocabularyBytes = "bytes"
	VocabularyWords = "words"
)

// Vocabulary is all that a tokenizer needs to be made on the spot.
type Vocabulary struct {
	Kind   string  `json:"kind"`
	Tokens []Token `json:"tokens"`
}

// Batch is one BatchTokenIDOutput as data. Row i of every column belongs to
// consumer Consumers[i]; http_worker_ipcs is not among the columns, since only
// the controller knows the endpoints. A field that is absent is at its default.
type Batch struct {
	Consumers []int                      `json:"consumers"`
	Columns   map[string]json.RawMessage `json:"columns"` // field name to a JSON array with one value a row; customized_info: an object of such arrays
}

// Work is the content of a trial's work file. It never holds the expected text.
type Work struct {
	Vocabulary Vocabulary `json:"vocabulary"`
	PromptIDs  []int64    `json:"prompt_ids"`
	Stream     []Batch    `json:"stream"`
	Fence      []Batch    `json:"fence"`
}

// Metrics of one trial, in milliseconds. A null is a metric that this trial or
// this platform does not have.
type Metrics struct {
	CompleteMS  float64  `json:"complete_ms"`
	FirstMS     *float64 `json:"first_ms"`
	FirstAllMS  *float64 `json:"first_all_ms"`
	SpreadMS    *float64 `json:"spread_ms"`
	WorkerCPUMS *float64 `json:"worker_cpu_ms"`
}

// Result answers a trial.
type Result struct {
	Type     string             `json:"type"`
	ID       string             `json:"id"`
	Metrics  Metrics            `json:"metrics"`
	Counters map[string]float64 `json:"counters"` // per batch of the stream, the fence left out
	Rows     File               `json:"rows"`
	Stalled  string             `json:"stalled,omitempty"` // not all rows came within wait_ms; says what was missing
}

// Row is one delivered row.
type Row struct {
	Endpoint int                        `json:"endpoint"` // the index of the consumer that received it
	Position int                        `json:"position"` // its place among the rows of that endpoint, from 0
	Fields   map[string]json.RawMessage `json:"fields"`   // values at their default may be left out
}

// Delivery is the content of a result's rows file.
type Delivery struct {
	Rows []Row `json:"rows"`
}

// Error is sent in place of an answer.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Signal is a line without content: stop and stopped.
type Signal struct {
	Type string `json:"type"`
}

package batchrun

import (
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// Schema is the version of plan.json, raw.jsonl, trials.jsonl and result.json
// together.
const Schema = 1

// Names of the files of a run folder. Those that package results has too are
// written by the same names.
const (
	PlanFile       = results.PlanFile
	RawFile        = results.RawFile
	TrialsFile     = "trials.jsonl"
	ResultFile     = results.ResultFile
	SummaryFile    = results.SummaryFile
	LogFolder      = results.LogFolder
	ScheduleFolder = "schedules"
	HistFolder     = "hist"
)

// Arm names, as they stand in every record.
const (
	Reference = results.Reference
	Candidate = results.Candidate
)

// Kinds of a cell.
const (
	KindSingle   = "single"   // one request at a time, the next when the last has been answered
	KindPoisson  = "poisson"  // an open loop with independent exponential gaps
	KindConstant = "constant" // an open loop with equal gaps
)

// APIs that a request may use.
const (
	APIScore       = "score"
	APICompletions = "completions"
	APIChat        = "chat"
)

// Metrics of a cell, a value for every round: of the answered requests' latencies
// the mean and the nearest-rank percentiles, and the mean of leading_ms.
var Metrics = []string{"avg_ms", "p50_ms", "p90_ms", "p99_ms", "leading_ms"}

// Quantiles are those of Metrics that are percentiles, in their order.
var Quantiles = []float64{0.5, 0.9, 0.99}

// PlanArm is one arm as asked for.
type PlanArm struct {
	Spec    string            `json:"spec"`
	Options map[string]string `json:"options"`
}

// Cell is one load that both arms get in every round.
type Cell struct {
	Kind     string  `json:"kind"`
	Items    int     `json:"items"`              // of a request
	RPS      float64 `json:"rps,omitempty"`      // requests a second that the schedule was drawn for; of an open loop
	Seconds  float64 `json:"seconds,omitempty"`  // length of the schedule; of an open loop
	Requests int     `json:"requests,omitempty"` // of a single cell: how many, one after the other
}

// Primary is a metric of a cell that the decision is about.
type Primary struct {
	Cell   int    `json:"cell"` // index in the plan's cells
	Metric string `json:"metric"`
	Role   string `json:"role"`
}

// ScheduleRef names a schedule, which both arms replay: the file Name.
type ScheduleRef struct {
	Round    int    `json:"round"`
	Cell     int    `json:"cell"`
	Shard    *int   `json:"shard,omitempty"` // of a merged run: whose
	Seed     uint64 `json:"seed"`
	Requests int    `json:"requests"` // arrivals that were drawn
	SHA256   string `json:"sha256"`   // of the file's bytes
}

// Plan is everything decided before the first trial. Its file's bytes are hashed
// into the result.
type Plan struct {
	Schema      int      `json:"schema"`
	ToolVersion string   `json:"tool_version"`
	Seed        uint64   `json:"seed"`
	Rounds      int      `json:"rounds"`
	Warmup      int      `json:"warmup"` // requests to every fresh server before its first trial; in no record
	Reference   PlanArm  `json:"reference"`
	Candidate   PlanArm  `json:"candidate"`
	Cells       []Cell   `json:"cells"`
	First       []string `json:"first"` // the arm that goes first, by round

	API             string  `json:"api"`
	QueryTokens     int     `json:"query_tokens"`    // of a request's query; 0 with a data set
	ItemTokens      int     `json:"item_tokens"`     // of each item; 0 with a data set
	UniqueRequests  int     `json:"unique_requests"` // different bodies, used in turn
	Labels          []int64 `json:"labels"`          // token ids whose scores are asked for
	Cold            bool    `json:"cold"`            // no request finds another's prefix in the cache
	SharedPrefix    bool    `json:"shared_prefix"`   // different bodies begin alike
	DatasetSHA256   string  `json:"dataset_sha256,omitempty"`
	TokenizerSHA256 string  `json:"tokenizer_sha256,omitempty"` // of the file by which tokens were counted, of servers that are not of this module; absent: all were asked
	RequestsSHA256  string  `json:"requests_sha256"`            // of the bodies, in order
	TimeoutMS       float64 `json:"timeout_ms"`                 // of a request, from its sending

	ScoreTolerance float64       `json:"score_tolerance"` // how far the arms' scores may lie apart
	MaxFailedPct   float64       `json:"max_failed_pct"`  // of a trial's requests, before the run is invalid
	Schedules      []ScheduleRef `json:"schedules"`       // of every round and open-loop cell, in this order

	// What a decision is about. A plan without a family decides nothing.
	MarginPct float64   `json:"margin_pct,omitempty"` // slow-down, in per cent of the reference, that still counts as equal
	Primary   []Primary `json:"primary,omitempty"`

	// Of a run that has a part of the load, beside others that have the rest, or that is
	// put together from all of them. Rates are those of all shards together.
	Shard  *int   `json:"shard,omitempty"`
	Shards int    `json:"shards,omitempty"`
	Parts  []Part `json:"parts,omitempty"`
}

// Spread is one prefill batch that items of a request were in.
type Spread struct {
	Batch int `json:"batch"` // its number in the server
	Items int `json:"items"` // of this request
	// When the scheduler put them into it; absent: not known, as from most logs.
	AtMS *float64 `json:"at_ms,omitempty"`
}

// Request is one line of raw.jsonl. Times are milliseconds, in whole tenths of a
// microsecond, from the start of the trial, but for those of items and prefills, which are from sent_ms on. What did not happen, or
// is not known, is absent.
type Request struct {
	Round       int      `json:"round"`
	Cell        int      `json:"cell"`
	Arm         string   `json:"arm"`
	Shard       *int     `json:"shard,omitempty"` // of a merged run: whose it is
	Index       int      `json:"index"`           // in the trial, by intended time
	Body        int      `json:"body,omitempty"`  // which of the unique requests; absent: 0
	IntendedMS  float64  `json:"intended_ms"`
	SentMS      *float64 `json:"sent_ms,omitempty"`
	FirstByteMS *float64 `json:"first_byte_ms,omitempty"`
	DoneMS      *float64 `json:"done_ms,omitempty"` // of the answer's last byte
	Status      int      `json:"status,omitempty"`
	Error       string   `json:"error,omitempty"` // why it failed; absent: it was answered as it should be

	PromptTokens    int         `json:"prompt_tokens,omitempty"`    // as the answer says
	ScoresSHA256    string      `json:"scores_sha256,omitempty"`    // absent of an answer: that of the one before to the same body, by the same arm in the same cell
	Scores          [][]float64 `json:"scores,omitempty"`           // beside their hash, of body 0 if there are not many: an item a row, a label a column
	ScoreDifference *float64    `json:"score_difference,omitempty"` // largest, from the first good answer of the reference to the same body
	TokenMS         []float64   `json:"token_ms,omitempty"`         // of a stream: arrival of each token, from the start
	ChunkMS         []float64   `json:"chunk_ms,omitempty"`         // of a stream: arrival of each chunk, from the start

	Prefills    []Spread `json:"prefills,omitempty"`      // the batches its items were in, in their order
	FirstItemMS *float64 `json:"first_item_ms,omitempty"` // arrival of its first item at the scheduler
	LastItemMS  *float64 `json:"last_item_ms,omitempty"`  // arrival of its last item at the scheduler
	LeadingMS   *float64 `json:"leading_ms,omitempty"`    // until the scheduler had finished its first item
}

// Sender is what the load's sender says of itself in one trial.
type Sender struct {
	CPUMS       float64 `json:"cpu_ms"`
	GCPauses    int     `json:"gc_pauses"`
	GCPauseMS   float64 `json:"gc_pause_ms"`       // all together
	GCWorstMS   float64 `json:"gc_worst_pause_ms"` // the longest
	MaxInFlight int     `json:"max_in_flight"`
	Goroutines  int     `json:"goroutines"`         // at most
	Connections int     `json:"connections"`        // opened for the trial
	Redialled   int     `json:"redialled"`          // requests whose connection had been closed before a byte of them was written
	Descriptors uint64  `json:"descriptors"`        // limit in force; 0: not known
	Raised      bool    `json:"raised"`             // that limit was raised for the run
	Priority    bool    `json:"priority"`           // the dispatching thread ran before others, by policy or by priority
	Processors  int     `json:"processors"`         // that the sender might use; 0: not known
	StoodIn     int     `json:"stood_in,omitempty"` // requests that the second dispatching thread sent, the first being late
	Notes       string  `json:"notes,omitempty"`    // what else has to be known
}

// Judged is what the sender's judgement went by, of an open loop.
type Judged struct {
	OfferedRPS      float64   `json:"offered_rps"`  // of the schedule as it was drawn
	SentRPS         float64   `json:"sent_rps"`     // 0: too few to tell
	AnsweredRPS     float64   `json:"answered_rps"` // likewise
	LatenessLimitMS float64   `json:"lateness_limit_ms"`
	InFlight        []float64 `json:"in_flight"` // means over equal parts of the second half
}

// Lateness is the distribution of sent_ms - intended_ms over the sent requests of a
// trial. Verify computes it anew.
type Lateness struct {
	P50MS float64 `json:"p50_ms"`
	P90MS float64 `json:"p90_ms"`
	P99MS float64 `json:"p99_ms"`
	MaxMS float64 `json:"max_ms"`
}

// Trial is one line of trials.jsonl: one arm's pass through one cell in one round.
type Trial struct {
	Round     int       `json:"round"`
	Cell      int       `json:"cell"`
	Arm       string    `json:"arm"`
	Position  int       `json:"position"` // 0: ran first of the two
	StartedAt time.Time `json:"started_at"`
	WallMS    float64   `json:"wall_ms"`          // to the last answer
	Fresh     bool      `json:"fresh"`            // its server was started for this round
	Requests  int       `json:"requests"`         // lines in raw.jsonl
	Failed    int       `json:"failed"`           // those with an error
	Unsent    int       `json:"unsent"`           // those of them without sent_ms
	Lateness  *Lateness `json:"lateness"`         // null where nothing was sent
	Valid     bool      `json:"valid"`            // as the sender judged
	Reasons   []string  `json:"reasons"`          // why not
	Judged    *Judged   `json:"judged,omitempty"` // by what
	Sender    Sender    `json:"sender"`
	// What went on beside it on the sender's machine; absent where nothing is known, and of a merged run.
	Disturbance *results.Disturbance `json:"disturbance,omitempty"`
	Parts       []TrialPart          `json:"parts,omitempty"` // of a merged run, by shard
	Evidence    string               `json:"evidence"`        // where prefills and items come from: "admissions", "log", or "" for nowhere
}

// Arm is one arm as it ran.
type Arm struct {
	Spec         string            `json:"spec"`
	Kind         string            `json:"kind"`    // builtin, dir, git, launch or url
	Command      []string          `json:"command"` // that started the server, whole, with {port} where launch has its port; empty for url
	Restart      string            `json:"restart"` // a fresh server each "round", one for the "run", or "never": it ran already
	Options      map[string]string `json:"options"` // in force, defaults written out
	Server       map[string]string `json:"server"`  // what it says of itself, as far as it was asked
	Sources      []results.Source  `json:"sources"`
	BinarySHA256 []string          `json:"binary_sha256"`
	Revision     string            `json:"revision,omitempty"`
	Modified     string            `json:"modified,omitempty"`
	Patch        string            `json:"patch,omitempty"`
	Descriptive  string            `json:"descriptive,omitempty"` // why the arm's figures decide nothing
}

// armKinds are the values of Arm.Kind.
var armKinds = []string{"builtin", "dir", "git", "launch", armURL}

// armURL is the kind of a server that ran already.
const armURL = "url"

// Evidence of a trial.
const (
	EvidenceAdmissions = "admissions"
	EvidenceLog        = "log"
)

// Values of Arm.Restart.
const (
	RestartRound = "round"
	RestartRun   = "run"
	RestartNever = "never"
)

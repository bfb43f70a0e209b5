package results

import "time"

// Schema is the version of plan.json, raw.jsonl and result.json together.
const Schema = 1

// Names of the files of a run folder.
const (
	PlanFile    = "plan.json"
	RawFile     = "raw.jsonl"
	ResultFile  = "result.json"
	SummaryFile = "summary.csv"
	LogFolder   = "logs"
)

// Arm names, as they stand in every record.
const (
	Reference = "reference"
	Candidate = "candidate"
	Control   = "control" // the reference once more, where a plan asks for it
)

// Statuses of a run and decisions about it.
const (
	StatusVerified   = "verified"   // every trial of the plan ran and every row was right
	StatusIncomplete = "incomplete" // interrupted; what was measured is kept
	StatusInvalid    = "invalid"    // a row was wrong or an arm failed: no timing is published
)

// Streams of a plan; what follows the last is the folder that was read.
const (
	StreamSeed     = "seed"
	StreamMixed    = "mixed"
	StreamRecorded = "recorded:"
)

// Metrics in the order of the summary.
var Metrics = []string{"complete_ms", "first_ms", "first_all_ms", "spread_ms", "worker_cpu_ms"}

// ArmPlan is one arm as asked for.
type ArmPlan struct {
	Spec    string            `json:"spec"`
	Options map[string]string `json:"options"`
	Layouts int               `json:"layouts,omitempty"` // executables of the worker in the arm's pool; none: one executable, not drawn
	Layout  []int             `json:"layout,omitempty"`  // the one drawn, by round, starting with round -1
}

// Plan is everything decided before the first trial. Its file's bytes are
// hashed into the result.
type Plan struct {
	Schema         int      `json:"schema"`
	ToolVersion    string   `json:"tool_version"`
	Reference      ArmPlan  `json:"reference"`
	Candidate      ArmPlan  `json:"candidate"`
	Transport      string   `json:"transport"`
	Counts         []int    `json:"counts"`
	Metadata       []string `json:"metadata"`
	Rounds         int      `json:"rounds"`      // counted rounds 0..Rounds-1; round -1 comes before them
	Repetitions    int      `json:"repetitions"` // trials of an arm in a cell and round
	Seed           uint64   `json:"seed"`
	Stream         string   `json:"stream"`                  // "seed", "mixed" or "recorded:DIR"
	StreamSHA256   string   `json:"stream_sha256,omitempty"` // of the files of a recorded stream
	HTTPWorkers    int      `json:"http_workers"`
	Consumer       string   `json:"consumer"`
	Consumers      string   `json:"consumers,omitempty"` // "process", or left out for the controller's thread
	Pace           string   `json:"pace"`                // arrived, none or rate:R
	Loop           string   `json:"loop,omitempty"`      // "router", or left out for the fanout's
	Process        string   `json:"process"`             // fresh processes each "round", or "spawn", or one set for the "run"
	TimeoutMS      int      `json:"timeout_ms"`
	StartTimeoutMS int      `json:"start_timeout_ms"`
	First          []string `json:"first"` // the arm that goes first, by round, starting with round -1
	RowsPerRun     int      `json:"rows_per_run"`
	FencePerRun    int      `json:"fence_rows_per_run"`
	FullRows       int      `json:"full_rows,omitempty"` // of the full stream, every arm, before round -1

	// What a decision is about. A plan without a family decides nothing; those that
	// were made before there were decisions have none of these keys.
	Control   *ArmPlan  `json:"control,omitempty"`    // the reference once more, a third arm in every round
	ControlAt []int     `json:"control_at,omitempty"` // its place among the three, 0 to 2, by round, starting with round -1
	Kind      string    `json:"kind,omitempty"`       // KindAnytime, or left out: the number of rounds is fixed
	MarginPct float64   `json:"margin_pct,omitempty"` // slow-down, in per cent of the reference, that still counts as equal
	Primary   []Primary `json:"primary,omitempty"`    // the family: what the decision is about, corrected for their number
	Budget    *Budget   `json:"budget,omitempty"`     // how the number of rounds was chosen, where a time was given

	// Of a run that is one of several by one campaign; all three or none.
	CampaignSHA256 string `json:"campaign_sha256,omitempty"` // of the campaign's file
	Shard          *int   `json:"shard,omitempty"`           // which of them this is, from 0
	Shards         int    `json:"shards,omitempty"`          // how many there are
}

// Trial is one line of raw.jsonl: a verified trial. Times are milliseconds.
type Trial struct {
	Round       int                `json:"round"`
	Repetition  int                `json:"repetition"`
	Count       int                `json:"count"`
	Metadata    string             `json:"metadata"`
	Arm         string             `json:"arm"`
	Position    int                `json:"position"`         // 0: ran before the other arm in this repetition
	Layout      *int               `json:"layout,omitempty"` // index of the executable in the arm's layouts, of an arm with a pool
	CompleteMS  float64            `json:"complete_ms"`
	FirstMS     *float64           `json:"first_ms"`
	FirstAllMS  *float64           `json:"first_all_ms"`
	SpreadMS    *float64           `json:"spread_ms"`
	WorkerCPUMS *float64           `json:"worker_cpu_ms"`
	OuterMS     float64            `json:"outer_ms"`    // the driver's own clock around the trial
	IdleCPUMS   *float64           `json:"idle_cpu_ms"` // what the other arms' processes used meanwhile
	Counters    map[string]float64 `json:"counters"`    // per batch
	Rows        int                `json:"rows"`
	FenceRows   int                `json:"fence_rows"`
	WorkSHA256  string             `json:"work_sha256"`
	RowsSHA256  string             `json:"rows_sha256"`
	StartedAt   time.Time          `json:"started_at"`
	Disturbance *Disturbance       `json:"disturbance,omitempty"` // not in runs that were made before it was read
}

// Source is one file with its hash.
type Source struct {
	Path   string `json:"path"` // relative to the tree
	SHA256 string `json:"sha256"`
}

// Arm is one arm as it ran.
type Arm struct {
	Spec         string            `json:"spec"`
	Runtime      string            `json:"runtime"`
	Strategy     string            `json:"strategy"`
	ZMQ          string            `json:"zmq"`
	Options      map[string]string `json:"options"`
	Packages     map[string]string `json:"packages"`
	Sources      []Source          `json:"sources"`
	BinarySHA256 []string          `json:"binary_sha256"`
	OwnClock     bool              `json:"own_clock"`          // exec: the arm brought its own controller and clock
	Revision     string            `json:"revision,omitempty"` // of a source tree: its commit, absent where git does not hold it
	Modified     string            `json:"modified,omitempty"` // "true" or "false"; absent when not known
	Patch        string            `json:"patch,omitempty"`    // the uncommitted patch itself
	Layouts      []Layout          `json:"layouts,omitempty"`  // the pool that each round's worker was drawn from

	ControllerSHA256 string `json:"controller_sha256,omitempty"` // of an SGLang tree: this program's script that ran it
	Again            bool   `json:"again,omitempty"`             // one controller for all rounds, each from fresh processes
	Descriptive      string `json:"descriptive,omitempty"`       // why its figures decide nothing
}

// Layout is one executable of a pool: the same program, linked with its
// functions in another order.
type Layout struct {
	Seed   int64  `json:"seed"` // of the linker's -randlayout
	SHA256 string `json:"sha256"`
}

// Interval is an interval with its attained level, 0 to 1; a null level is one
// that has no exact value.
type Interval struct {
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	Level *float64 `json:"level"`
}

// SummaryRow is one metric of one cell. reference_ms and candidate_ms are
// medians over rounds of the means over repetitions; reductions are per round,
// in per cent, 100 (1 - candidate/reference), null where an arm lacks the metric
// or the reference is 0; rounds counts those that are not null.
type SummaryRow struct {
	Count                    int                           `json:"count"`
	Metadata                 string                        `json:"metadata"`
	Metric                   string                        `json:"metric"`
	ReferenceMS              *float64                      `json:"reference_ms"`
	CandidateMS              *float64                      `json:"candidate_ms"`
	MedianPairedReductionPct *float64                      `json:"median_paired_reduction_pct"`
	FasterRounds             int                           `json:"faster_rounds"`
	Rounds                   int                           `json:"rounds"`
	BootstrapCI              *Interval                     `json:"bootstrap_ci"`
	OrderCI                  *Interval                     `json:"order_ci"`
	Reductions               []*float64                    `json:"reductions"`
	Counters                 map[string]map[string]float64 `json:"counters"` // arm, name: per batch, mean over trials
}

// Failure says what ended a run. The fields that do not apply are absent.
type Failure struct {
	Message    string  `json:"message"`
	Arm        string  `json:"arm,omitempty"`
	Count      int     `json:"count,omitempty"`
	Metadata   string  `json:"metadata,omitempty"`
	Round      *int    `json:"round,omitempty"`
	Repetition *int    `json:"repetition,omitempty"`
	Consumer   *int    `json:"consumer,omitempty"` // -1: no consumer is to blame
	RID        string  `json:"rid,omitempty"`
	Field      string  `json:"field,omitempty"`
	Wanted     *string `json:"wanted,omitempty"`
	Got        *string `json:"got,omitempty"`
}

// Verdict is what a run says.
type Verdict struct {
	Status   string   `json:"status"`
	Decision string   `json:"decision"`
	Reason   string   `json:"reason,omitempty"` // one sentence, of a run with an analysis
	Failure  *Failure `json:"failure,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

// Result is result.json. Its figures are functions of plan.json and raw.jsonl.
type Result struct {
	Schema       int            `json:"schema"`
	ToolVersion  string         `json:"tool_version"`
	Transport    string         `json:"transport"`
	PlanSHA256   string         `json:"plan_sha256"`
	RawSHA256    string         `json:"raw_sha256"`
	Rounds       int            `json:"rounds"`
	Repetitions  int            `json:"repetitions"`
	Arms         map[string]Arm `json:"arms"`
	VerifiedRows int            `json:"verified_rows"`
	FenceRows    int            `json:"fence_rows"`
	WarmupRows   int            `json:"warmup_rows"`
	FullRows     int            `json:"full_rows,omitempty"`
	Summary      []SummaryRow   `json:"summary"`
	Control      []SummaryRow   `json:"control,omitempty"`  // the control in the candidate's place
	Analysis     *Analysis      `json:"analysis,omitempty"` // of a plan with a family
	Environment  Environment    `json:"environment"`
	Verdict      Verdict        `json:"verdict"`
}

// Environment is the machine and the command. Strings that a platform does not
// tell are empty; nothing is guessed.
type Environment struct {
	Command    []string          `json:"command"`
	StartedAt  time.Time         `json:"started_at"`
	EndedAt    time.Time         `json:"ended_at"`
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel"`
	CPU        string            `json:"cpu"`
	CPUs       int               `json:"cpus"` // that this process may run on
	Governor   string            `json:"governor"`
	Turbo      string            `json:"turbo"`
	SMT        string            `json:"smt"`
	Cgroup     map[string]string `json:"cgroup"`       // limits: cpu.max, memory.max
	StealTicks *int64            `json:"steal_ticks"`  // during the run, all CPUs
	Pressure   map[string]string `json:"cpu_pressure"` // /proc/pressure/cpu "some" totals in microseconds: before, after, during
	Go         string            `json:"go"`
	GC         map[string]string `json:"gc"` // GOGC, GOMEMLIMIT, GODEBUG as set
	Revision   string            `json:"revision"`
	Modified   string            `json:"modified"`             // "true", "false", or "" when not known
	Patch      string            `json:"patch"`                // the uncommitted patch itself, or "" when there is none
	Conditions map[string]string `json:"conditions,omitempty"` // what else can disturb, see ConditionClock and those after it

	steal *int64 // ticks since boot at the start, until End
}

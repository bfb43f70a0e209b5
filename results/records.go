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
	Counts         []int    `json:"counts"` // rows of a batch, one value for each kind of stream
	Metadata       []string `json:"metadata"`
	Rounds         int      `json:"rounds"`      // counted rounds, from 0; round -1 comes before them
	Repetitions    int      `json:"repetitions"` // trials of an arm in a cell and round
	Seed           uint64   `json:"seed"`
	Stream         string   `json:"stream"`                  // "seed", "mixed" or "recorded:DIR"
	StreamSHA256   string   `json:"stream_sha256,omitempty"` // of the files of a recorded stream
	HTTPWorkers    int      `json:"http_workers"`
	Consumer       string   `json:"consumer"`
	Consumers      string   `json:"consumers,omitempty"` // "process": each in a process of its own; left out: on a thread of the controller
	Pace           string   `json:"pace"`                // when a batch is sent: arrived, none, or rate:R for R batches a second
	Loop           string   `json:"loop,omitempty"`      // the loop that is measured: "router", or left out for the fanout's
	Process        string   `json:"process"`             // fresh processes each "round", or one set for the "run"; "spawn": each round, also of a controller that could be used again
	TimeoutMS      int      `json:"timeout_ms"`
	StartTimeoutMS int      `json:"start_timeout_ms"`
	First          []string `json:"first"`               // the arm that goes first, by round, starting with round -1
	RowsPerRun     int      `json:"rows_per_run"`        // stream rows of all trials, round -1 included
	FencePerRun    int      `json:"fence_rows_per_run"`  // rows of the fences of all trials
	FullRows       int      `json:"full_rows,omitempty"` // rows of the full stream, every arm, before round -1

	// What a decision is about. A plan without a family decides nothing; those that
	// were made before there were decisions have none of these keys.
	Control   *ArmPlan  `json:"control,omitempty"`    // the reference once more, a third arm in every round
	ControlAt []int     `json:"control_at,omitempty"` // the control's place among the three arms, 0 to 2, by round, starting with round -1
	Kind      string    `json:"kind,omitempty"`       // "anytime", or left out: the number of rounds is fixed
	MarginPct float64   `json:"margin_pct,omitempty"` // slow-down, in per cent of the reference, that still counts as equal
	Primary   []Primary `json:"primary,omitempty"`    // the family: what the decision is about, corrected for their number
	Budget    *Budget   `json:"budget,omitempty"`     // how the number of rounds was chosen from a time, where one was given

	// Of a run that is one of several by one campaign; all three or none.
	CampaignSHA256 string `json:"campaign_sha256,omitempty"` // of the campaign's file, where this run is one of several
	Shard          *int   `json:"shard,omitempty"`           // which of the campaign's runs this is, from 0
	Shards         int    `json:"shards,omitempty"`          // how many runs the campaign has
}

// Trial is one line of raw.jsonl: a verified trial. Times are milliseconds.
type Trial struct {
	Round       int                `json:"round"`
	Repetition  int                `json:"repetition"`
	Count       int                `json:"count"`
	Metadata    string             `json:"metadata"`
	Arm         string             `json:"arm"`
	Position    int                `json:"position"`         // place among the arms of this repetition, 0: ran first
	Layout      *int               `json:"layout,omitempty"` // index of the executable in the arm's layouts; absent without a pool
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
	Disturbance *Disturbance       `json:"disturbance,omitempty"` // absent in older runs and where the system tells nothing
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
	Options      map[string]string `json:"options"` // in force, defaults written out
	Packages     map[string]string `json:"packages"`
	Sources      []Source          `json:"sources"`
	BinarySHA256 []string          `json:"binary_sha256"`
	OwnClock     bool              `json:"own_clock"`          // exec: the arm brought its own controller and clock
	Revision     string            `json:"revision,omitempty"` // commit of a source tree; absent where git does not hold it
	Modified     string            `json:"modified,omitempty"` // "true" or "false"; absent when not known
	Patch        string            `json:"patch,omitempty"`    // the uncommitted patch of a source tree
	Layouts      []Layout          `json:"layouts,omitempty"`  // the pool that each round's worker was drawn from

	ControllerSHA256 string `json:"controller_sha256,omitempty"` // of an SGLang tree: this program's script that ran it
	Again            bool   `json:"again,omitempty"`             // one controller for all rounds, each from fresh processes
	Descriptive      string `json:"descriptive,omitempty"`       // why the arm's figures decide nothing
}

// Layout is one executable of a pool: the same program, linked with its
// functions in another order.
type Layout struct {
	Seed   int64  `json:"seed"` // of the linker's -randlayout
	SHA256 string `json:"sha256"`
}

// Interval is an interval with its level, 0 to 1.
type Interval struct {
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	Level *float64 `json:"level"` // attained; null where no exact one exists
}

// SummaryRow is one metric of one cell.
type SummaryRow struct {
	Count                    int                           `json:"count"`
	Metadata                 string                        `json:"metadata"`
	Metric                   string                        `json:"metric"`
	ReferenceMS              *float64                      `json:"reference_ms"` // median over rounds of the means over repetitions
	CandidateMS              *float64                      `json:"candidate_ms"` // likewise; of the control in a control's rows
	MedianPairedReductionPct *float64                      `json:"median_paired_reduction_pct"`
	FasterRounds             int                           `json:"faster_rounds"`
	Rounds                   int                           `json:"rounds"` // rounds that have a reduction
	BootstrapCI              *Interval                     `json:"bootstrap_ci"`
	OrderCI                  *Interval                     `json:"order_ci"`
	Reductions               []*float64                    `json:"reductions"` // 100 (1 - candidate/reference) by round; null where an arm lacks the metric or the reference is 0
	Counters                 map[string]map[string]float64 `json:"counters"`   // by arm and name: per batch, mean over trials
}

// Failure says what ended a run. The fields that do not apply are absent.
type Failure struct {
	Message    string  `json:"message"`
	Arm        string  `json:"arm,omitempty"`
	Count      int     `json:"count,omitempty"`
	Metadata   string  `json:"metadata,omitempty"`
	Round      *int    `json:"round,omitempty"`      // -1: before the counted rounds
	Repetition *int    `json:"repetition,omitempty"` // -1: a warm-up stream
	Consumer   *int    `json:"consumer,omitempty"`   // -1: no consumer is to blame
	RID        string  `json:"rid,omitempty"`
	Field      string  `json:"field,omitempty"`
	Wanted     *string `json:"wanted,omitempty"`
	Got        *string `json:"got,omitempty"`
}

// Verdict is what a run says.
type Verdict struct {
	Status   string   `json:"status"`
	Decision string   `json:"decision"`
	Reason   string   `json:"reason,omitempty"` // one sentence, of a decision other than none
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
	VerifiedRows int            `json:"verified_rows"` // stream rows of the trials, round -1 included
	FenceRows    int            `json:"fence_rows"`
	WarmupRows   int            `json:"warmup_rows"`         // stream rows of the warm-up streams of fresh processes
	FullRows     int            `json:"full_rows,omitempty"` // rows of the full stream that every arm passes before round -1
	Summary      []SummaryRow   `json:"summary"`             // empty in a run that is not verified
	Control      []SummaryRow   `json:"control,omitempty"`   // the same with the control in the candidate's place
	Analysis     *Analysis      `json:"analysis,omitempty"`  // of a plan with a family
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
	Conditions map[string]string `json:"conditions,omitempty"` // what else can disturb: clock source, huge pages, load average and swap before and after

	steal *int64 // ticks since boot at the start, until End
}

package batchrun

import "github.com/fanoutbench/fanoutbench/results"

// Percentile is a nearest-rank percentile of latencies with its exact interval.
type Percentile struct {
	MS    *float64 `json:"ms"`    // null: there is no latency
	Low   *float64 `json:"low"`   // null: n too small, no two of the latencies are an interval at 95 %
	High  *float64 `json:"high"`  // likewise
	Level *float64 `json:"level"` // attained
}

// Latency is a distribution of latencies.
type Latency struct {
	AvgMS *float64   `json:"avg_ms"`
	P50   Percentile `json:"p50"`
	P90   Percentile `json:"p90"`
	P99   Percentile `json:"p99"`
	MaxMS *float64   `json:"max_ms"`
}

// Bin is how often a number occurred.
type Bin struct {
	Value int `json:"value"`
	Count int `json:"count"`
}

// Figures are one arm in one cell, in one round or in all together.
type Figures struct {
	Cell     int    `json:"cell"`
	Arm      string `json:"arm"`
	Round    *int   `json:"round,omitempty"` // absent: all rounds together
	Requests int    `json:"requests"`
	Failed   int    `json:"failed"`

	OfferedRPS  *float64 `json:"offered_rps"`  // requests of the schedules over their length; null of a single cell
	AchievedRPS *float64 `json:"achieved_rps"` // answered requests over the time to the last answer; null: no time passed

	Response Latency `json:"response"` // from the intended time, of answered requests
	Service  Latency `json:"service"`  // from the sending, of answered requests

	// Percentiles of the response with every failed request at infinity. null:
	// infinite.
	AllP50MS *float64 `json:"all_p50_ms"`
	AllP90MS *float64 `json:"all_p90_ms"`
	AllP99MS *float64 `json:"all_p99_ms"`

	FirstByte *Latency `json:"first_byte,omitempty"` // of a stream: from the intended time to the answer's first byte
	TokenGap  *Latency `json:"token_gap,omitempty"`  // of a stream: between neighbouring tokens
	ChunkGap  *Latency `json:"chunk_gap,omitempty"`  // of a stream: between neighbouring chunks

	LeadingMS   *float64 `json:"leading_ms"`    // mean over answered requests; null: no evidence
	FirstItemMS *float64 `json:"first_item_ms"` // likewise
	LastItemMS  *float64 `json:"last_item_ms"`  // likewise
	Batches     []Bin    `json:"batches"`       // requests by the number of prefill batches that their items were spread over
	BatchItems  []Bin    `json:"batch_items"`   // prefill batches by the number of a request's items in them
}

// SummaryRow is one metric of one cell, both arms in pairs.
type SummaryRow struct {
	Cell                     int               `json:"cell"`
	Metric                   string            `json:"metric"`
	ReferenceMS              *float64          `json:"reference_ms"` // median over rounds
	CandidateMS              *float64          `json:"candidate_ms"` // likewise
	MedianPairedReductionPct *float64          `json:"median_paired_reduction_pct"`
	FasterRounds             int               `json:"faster_rounds"`
	Rounds                   int               `json:"rounds"` // that have a reduction
	BootstrapCI              *results.Interval `json:"bootstrap_ci"`
	OrderCI                  *results.Interval `json:"order_ci"`
	Reductions               []*float64        `json:"reductions"` // 100 (1 - candidate/reference) by round; null where an arm lacks the metric or the reference is 0
}

// Agreement is how far the arms' answers lie apart.
type Agreement struct {
	Compared   int      `json:"compared"`   // answers with a difference
	Different  int      `json:"different"`  // those whose difference is not 0
	Largest    *float64 `json:"largest"`    // null: none was compared
	Intolerant int      `json:"intolerant"` // those beyond the tolerance
}

// Analysis is what the rounds say about the plan's family, as package verdict has
// it. Every float in it is rounded to six significant digits.
//
// Slow-downs are 100 (candidate/reference - 1) per cent: positive is slower. A
// paired reduction of the summary is the same with the other sign.
type Analysis struct {
	Decision string            `json:"decision"`
	Reason   string            `json:"reason"`            // one sentence
	Level    float64           `json:"level"`             // of the whole family together, 0.95
	Rounds   int               `json:"rounds"`            // that there are
	Flips    int               `json:"flips,omitempty"`   // patterns of signs that the p-values are counted over
	Sampled  bool              `json:"sampled,omitempty"` // the patterns were drawn from the plan's seed, not enumerated
	Primary  []PrimaryAnalysis `json:"primary"`           // as the plan lists them
}

// PrimaryAnalysis is one primary cell. What does not exist is absent.
type PrimaryAnalysis struct {
	Cell     int    `json:"cell"`
	Metric   string `json:"metric"`
	Role     string `json:"role"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`

	SlowdownPct *float64 `json:"slowdown_pct,omitempty"` // the median of the rounds' log ratios, as a slow-down
	LowerPct    *float64 `json:"lower_pct,omitempty"`    // one-sided bound, simultaneous over the family at level each side
	UpperPct    *float64 `json:"upper_pct,omitempty"`    // the same from above
	P           *float64 `json:"p,omitempty"`            // two-sided, adjusted for the family

	SpreadPct         *float64 `json:"spread_pct,omitempty"`          // of one round's log ratio, robust
	SmallestEffectPct *float64 `json:"smallest_effect_pct,omitempty"` // that these rounds would find with 80 % power
	RoundsNeeded      *int     `json:"rounds_needed,omitempty"`       // to settle it against the margin, where it is not settled
	Lag1              *float64 `json:"lag1,omitempty"`                // correlation of neighbouring rounds
	PositionP         *float64 `json:"position_p,omitempty"`          // of the difference between candidate-first and reference-first rounds
}

// Verdict is what a run says.
type Verdict struct {
	Status   string   `json:"status"`            // verified, invalid or incomplete
	Decision string   `json:"decision"`          // as those of package results
	Reason   string   `json:"reason,omitempty"`  // one sentence, of a decision other than none
	Invalid  []string `json:"invalid,omitempty"` // why the run is invalid
	Failure  string   `json:"failure,omitempty"` // what ended an incomplete run
	Warnings []string `json:"warnings,omitempty"`
}

// Shard is a shard of a merged run as it ran.
type Shard struct {
	Shard    int      `json:"shard"`
	Status   string   `json:"status"`
	CPU      string   `json:"cpu"`
	CPUs     int      `json:"cpus"`
	Kernel   string   `json:"kernel"`
	Requests int      `json:"requests"`
	Repeat   []string `json:"repeat"` // the command that makes it again
	Clock    Clock    `json:"clock"`
}

// Result is result.json. Its figures are functions of plan.json, raw.jsonl and
// trials.jsonl.
type Result struct {
	Schema       int                 `json:"schema"`
	ToolVersion  string              `json:"tool_version"`
	PlanSHA256   string              `json:"plan_sha256"`
	RawSHA256    string              `json:"raw_sha256"`
	TrialsSHA256 string              `json:"trials_sha256"`
	Arms         map[string]Arm      `json:"arms"`
	Trials       int                 `json:"trials"`
	Requests     int                 `json:"requests"`
	Figures      []Figures           `json:"figures"` // by cell, then arm: all rounds together
	RoundFigures []Figures           `json:"rounds"`  // by cell, then round, then arm
	Summary      []SummaryRow        `json:"summary"` // by cell, then metric
	Agreement    Agreement           `json:"agreement"`
	Analysis     *Analysis           `json:"analysis,omitempty"`
	Environment  results.Environment `json:"environment"`
	Clock        *Clock              `json:"clock,omitempty"`
	Shards       []Shard             `json:"shards,omitempty"` // of a merged run; its arms and environment are those of shard 0
	Clocks       *Clocks             `json:"clocks,omitempty"` // of a merged run
	Repeat       []string            `json:"repeat,omitempty"` // the command that makes the load again, with the rate and the seed that were found or drawn
	Verdict      Verdict             `json:"verdict"`
}

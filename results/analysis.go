package results

import "github.com/fanoutbench/fanoutbench/results/verdict"

// Decisions. The first is of runs whose plan has no family, and of those that are
// not verified or whose arms make every figure descriptive.
const (
	DecisionNone         = "none"
	DecisionImproved     = verdict.Improved     // some primary cell is faster, none slower
	DecisionRegressed    = verdict.Regressed    // some primary cell is slower
	DecisionEquivalent   = verdict.Equivalent   // every primary cell is within the margin
	DecisionInconclusive = verdict.Inconclusive // the cells say what could have been seen, and what would settle it
	DecisionIdentical    = verdict.Identical    // both arms executed the same files with the same options and dependencies
	DecisionInsufficient = verdict.Insufficient // fewer rounds than any interval exists for
	DecisionNotInferior  = verdict.NotInferior  // of a cell in the role of non-inferiority only
)

// Decisions are all that a verdict may say, DecisionNone first.
var Decisions = []string{
	DecisionNone, DecisionImproved, DecisionRegressed, DecisionEquivalent, DecisionInconclusive, DecisionIdentical, DecisionInsufficient,
}

// Analysis is what the trials say about the plan's family. It is a function of
// plan and trials alone (package verdict has the rules), and Verify computes it
// anew. Every float in it is rounded to six significant digits, as it depends on
// Log and Exp.
//
// Slow-downs are 100 (candidate/reference - 1) per cent: positive is slower. A
// paired reduction of the summary is the same with the other sign.
type Analysis struct {
	Decision string            `json:"decision"`
	Reason   string            `json:"reason"`            // one sentence
	Level    float64           `json:"level"`             // of the whole family together, 0.95
	Rounds   int               `json:"rounds"`            // counted rounds that there are
	Flips    int               `json:"flips,omitempty"`   // patterns of signs that the p-values are counted over
	Sampled  bool              `json:"sampled,omitempty"` // the patterns were drawn from the plan's seed, not enumerated
	Primary  []PrimaryAnalysis `json:"primary"`           // as the plan lists them
	Control  *ControlAnalysis  `json:"control,omitempty"`
	Effects  []Effect          `json:"effects"` // every cell and metric, in the order of the summary: descriptive
}

// PrimaryAnalysis is one primary cell. What does not exist is absent.
type PrimaryAnalysis struct {
	Count    int    `json:"count"`
	Metadata string `json:"metadata"`
	Metric   string `json:"metric"`
	Role     string `json:"role"`
	Decision string `json:"decision"`
	Reason   string `json:"reason"`

	SlowdownPct *float64 `json:"slowdown_pct,omitempty"` // the median of the rounds' log ratios, as a slow-down
	LowerPct    *float64 `json:"lower_pct,omitempty"`    // one-sided bound, simultaneous over the family at level each side
	UpperPct    *float64 `json:"upper_pct,omitempty"`    // the same from above
	P           *float64 `json:"p,omitempty"`            // two-sided, adjusted for the family; fixed plans
	EValue      *float64 `json:"e_value,omitempty"`      // anytime plans

	SpreadPct         *float64 `json:"spread_pct,omitempty"`          // of one round's log ratio, robust
	SmallestEffectPct *float64 `json:"smallest_effect_pct,omitempty"` // that these rounds would find with 80 % power
	RoundsNeeded      *int     `json:"rounds_needed,omitempty"`       // to settle it against the margin, where it is not settled
	Lag1              *float64 `json:"lag1,omitempty"`                // correlation of neighbouring rounds
	PositionP         *float64 `json:"position_p,omitempty"`          // of the difference between candidate-first and reference-first rounds
}

// ControlAnalysis is the same family with the control in the candidate's place:
// what this run shows where there is no difference.
type ControlAnalysis struct {
	Failed  bool              `json:"failed"` // some cell of it was found slower or faster
	Reason  string            `json:"reason"`
	Primary []PrimaryAnalysis `json:"primary"`
}

// Effect is the Hodges-Lehmann estimate of a metric's slow-down in a cell, with
// its interval, which assumes symmetry about the median.
type Effect struct {
	Count       int       `json:"count"`
	Metadata    string    `json:"metadata"`
	Metric      string    `json:"metric"`
	SlowdownPct *float64  `json:"slowdown_pct"`
	CI          *Interval `json:"ci"` // per cent, level attained; not corrected for the number of cells
}

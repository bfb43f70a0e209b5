package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// CalibrationFile is a calibration's name beside the runs that it was made of.
const CalibrationFile = "calibration.json"

// MaxCalibration is the longest calibration, in bytes.
const MaxCalibration = 4 << 20

// Calibration is what is known of a machine from runs in which nothing differed,
// and from runs in which the candidate was delayed on purpose. It is a function of
// these runs, but for the two times. Slow-downs and spreads are per cent, as in an
// Analysis; floats have six significant digits.
type Calibration struct {
	Schema      int               `json:"schema"`
	ToolVersion string            `json:"tool_version"`
	Fingerprint string            `json:"fingerprint"` // SHA-256 of the facts in host
	Host        map[string]string `json:"host"`        // facts that outlive a reboot and that times depend on
	MadeAt      time.Time         `json:"made_at"`
	ExpiresAt   time.Time         `json:"expires_at"`
	Passed      bool              `json:"passed"`
	Reason      string            `json:"reason"` // one sentence

	Runs         []CalibrationRun  `json:"runs"`
	Repetitions  int               `json:"repetitions"`   // trials of an arm in a cell and round
	RoundSeconds float64           `json:"round_seconds"` // of the run A/A on one executable
	LookRounds   int               `json:"look_rounds"`   // rounds of a look
	Looks        int               `json:"looks"`         // disjoint stretches of A/A rounds, each tested as a run of its own
	FalseAlarms  int               `json:"false_alarms"`  // looks that named a cell faster or slower
	AlarmRate    Interval          `json:"alarm_rate"`    // interval of the share of looks with one, 0 to 1, exact
	Cells        []CalibrationCell `json:"cells"`         // of A/A on one executable: every cell and metric
	Delays       []FoundDelay      `json:"delays"`
}

// Kinds of a calibration's runs.
const (
	RunSame    = "a-a"     // reference and candidate are one executable
	RunLayouts = "layouts" // each is drawn from a pool, linked in another order
	RunDelay   = "delay"   // the candidate waits before every batch
)

// CalibrationRun is one of the runs.
type CalibrationRun struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"` // of its folder beside calibration.json, where it was kept
	PlanSHA256 string `json:"plan_sha256"`
	RawSHA256  string `json:"raw_sha256"`
	Rounds     int    `json:"rounds"`
	Decision   string `json:"decision"` // of its analysis
}

// CalibrationCell is a metric of a cell where nothing differs. What does not exist
// is absent.
type CalibrationCell struct {
	Count             int       `json:"count"`
	Metadata          string    `json:"metadata"`
	Metric            string    `json:"metric"`
	Primary           bool      `json:"primary"`
	ReferenceMS       *float64  `json:"reference_ms"`
	SpreadPct         *float64  `json:"spread_pct,omitempty"`          // of one round's log ratio, robust
	Lag1              *float64  `json:"lag1,omitempty"`                // correlation of neighbouring rounds
	PositionPct       *float64  `json:"position_pct,omitempty"`        // slow-down of the arm that goes first
	PositionP         *float64  `json:"position_p,omitempty"`          // two-sided
	SmallestEffectPct *float64  `json:"smallest_effect_pct,omitempty"` // that look_rounds rounds find with 80 % power, corrected for the family
	P                 []float64 `json:"p"`                             // of each look for this cell alone, in order
	PExcess           *float64  `json:"p_excess,omitempty"`            // most by which the share of p-values up to some p exceeds it: 0 where they are uniform or larger
}

// FoundDelay is a delay that was injected, and what the run says of it.
type FoundDelay struct {
	Run         string   `json:"run"` // its name among the runs
	DelayUS     int      `json:"delay_us"`
	Multiple    float64  `json:"multiple"` // of the smallest effect
	Count       int      `json:"count"`    // the cell in which it is looked for
	Metadata    string   `json:"metadata"`
	Metric      string   `json:"metric"`
	ExpectedPct float64  `json:"expected_pct"` // slow-down that it makes
	SlowdownPct *float64 `json:"slowdown_pct,omitempty"`
	Decision    string   `json:"decision"` // of that cell
	Found       bool     `json:"found"`
}

func (c *Calibration) normal() {
	c.Host = orEmpty(c.Host)
	c.MadeAt, c.ExpiresAt = c.MadeAt.UTC(), c.ExpiresAt.UTC()
	c.Runs, c.Cells, c.Delays = listed(c.Runs), listed(c.Cells), listed(c.Delays)
	for i := range c.Cells {
		c.Cells[i].P = listed(c.Cells[i].P)
	}
}

// Spread is that of a metric of a cell, for whoever plans rounds.
func (c *Calibration) Spread(p Primary) (pct float64, ok bool) {
	for _, cell := range c.Cells {
		if cell.Count == p.Count && cell.Metadata == p.Metadata && cell.Metric == p.Metric && cell.SpreadPct != nil && *cell.SpreadPct > 0 {
			return *cell.SpreadPct, true
		}
	}
	return 0, false
}

// Host are the facts of a machine that outlive a reboot and that its times depend
// on: no clock frequency, no uptime, no load.
func Host(e Environment) map[string]string {
	host := map[string]string{
		"os": e.OS, "arch": e.Arch, "cpu": e.CPU, "cpus": strconv.Itoa(e.CPUs), "kernel": e.Kernel,
		"governor": e.Governor, "turbo": e.Turbo, "smt": e.SMT, "go": e.Go,
	}
	for _, name := range []string{"cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"} {
		if v, ok := e.Cgroup[name]; ok {
			host["cgroup "+name] = v
		}
	}
	return host
}

// Fingerprint is the hash of these facts, by which calibrations are kept.
func Fingerprint(host map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(host)) {
		fmt.Fprintf(&b, "%q=%q\n", name, host[name])
	}
	return sum([]byte(b.String()))
}

// check holds what stands in a calibration against itself.
func (c *Calibration) check() error {
	switch {
	case c.Schema != Schema:
		return unwanted("schema", c.Schema, "%d", Schema)
	case Fingerprint(c.Host) != c.Fingerprint:
		return unwanted("fingerprint", c.Fingerprint, "%s, which follows from host", Fingerprint(c.Host))
	case c.MadeAt.IsZero() || !c.ExpiresAt.After(c.MadeAt):
		return unwanted("expires_at", c.ExpiresAt, "a time after made_at, %v", c.MadeAt)
	case c.FalseAlarms < 0 || c.FalseAlarms > c.Looks:
		return unwanted("false_alarms", c.FalseAlarms, "0 to the looks, %d", c.Looks)
	case !finite(c.RoundSeconds) || c.RoundSeconds <= 0:
		return unwanted("round_seconds", c.RoundSeconds, "a finite number above 0")
	case c.Repetitions < 1 || c.Repetitions > MaxRepetitions:
		return unwanted("repetitions", c.Repetitions, "1 to %d", MaxRepetitions)
	case c.Reason == "" || len(c.Runs) == 0 || len(c.Cells) == 0:
		return fmt.Errorf("reason, runs or cells are empty, want all of them")
	}
	for _, cell := range c.Cells {
		where := fmt.Sprintf("%d %s %s", cell.Count, cell.Metadata, cell.Metric)
		for _, v := range []*float64{cell.ReferenceMS, cell.SpreadPct, cell.SmallestEffectPct} {
			if v != nil && !(finite(*v) && *v >= 0) {
				return unwanted(where, *v, "finite numbers, 0 or more")
			}
		}
	}
	return nil
}

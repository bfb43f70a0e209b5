package results

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"
)

// ThisHost are the facts of this machine, as Host has them of a run's.
func ThisHost() map[string]string {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Cgroup: map[string]string{}}
	describeMachine(&e)
	return Host(e)
}

// Text is the calibration for people, at a time.
func (c *Calibration) Text(now time.Time) []byte {
	var b bytes.Buffer
	outcome := "passed"
	if !c.Passed {
		outcome = "FAILED"
	}
	fmt.Fprintf(&b, "calibration: %s: %s\n", outcome, oneLine(c.Reason))
	held := "holds until "
	if !now.Before(c.ExpiresAt) {
		held = "EXPIRED, held until "
	}
	fmt.Fprintf(&b, "made %s, %s%s, fanoutbench %s\n", c.MadeAt.Format(time.RFC3339), held, c.ExpiresAt.Format(time.RFC3339), oneLine(c.ToolVersion))
	fmt.Fprintf(&b, "host %.16s:", c.Fingerprint)
	for _, name := range slices.Sorted(maps.Keys(c.Host)) {
		if c.Host[name] != "" {
			fmt.Fprintf(&b, " %s %s;", oneLine(name), oneLine(c.Host[name]))
		}
	}
	fmt.Fprintf(&b, "\na round takes %s s\n", significant(&c.RoundSeconds, 3))
	low, high := 100*c.AlarmRate.Low, 100*c.AlarmRate.High
	fmt.Fprintf(&b, "false alarms: %d of %d looks of %d rounds, between %s and %s %% of all; 5 %% are stated\n\n", c.FalseAlarms, c.Looks, c.LookRounds, oneDecimal(&low), oneDecimal(&high))
	writeTable(&b, c.table(), []int{1, 2, 3})
	b.WriteString("\n*: primary. Spread: of one round's ratio. Position: slow-down of the arm that goes first.\n" +
		"Smallest effect: that so many rounds find with 80 % power, corrected for the family.\n\n")
	for _, d := range c.Delays {
		found := "found"
		if !d.Found {
			found = "NOT FOUND"
		}
		fmt.Fprintf(&b, "delay of %d us a batch (%g x the smallest effect) in %d %s %s: %s; slower by %s %%, %s %% expected\n",
			d.DelayUS, d.Multiple, d.Count, d.Metadata, d.Metric, found, oneDecimal(d.SlowdownPct), oneDecimal(&d.ExpectedPct))
	}
	for _, r := range c.Runs {
		fmt.Fprintf(&b, "run %s (%s): %d rounds, %s, raw sha256 %s\n", oneLine(r.Name), oneLine(r.Kind), r.Rounds, r.Decision, r.RawSHA256)
	}
	return b.Bytes()
}

func (c *Calibration) table() [][]string {
	lines := [][]string{{"count", "metadata", "metric", "", "ms", "spread %", "lag 1", "position %", "p", "smallest effect %", "p of the looks"}}
	for _, cell := range c.Cells {
		mark := ""
		if cell.Primary {
			mark = "*"
		}
		looks := ""
		for _, p := range cell.P {
			looks += " " + significant(&p, 2)
		}
		lines = append(lines, []string{
			fmt.Sprint(cell.Count), cell.Metadata, cell.Metric, mark, significant(cell.ReferenceMS, 3), significant(cell.SpreadPct, 2),
			significant(cell.Lag1, 2), significant(cell.PositionPct, 2), significant(cell.PositionP, 2), significant(cell.SmallestEffectPct, 2), looks,
		})
	}
	return lines
}

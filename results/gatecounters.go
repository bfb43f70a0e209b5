package results

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Allowance is how far a counter of the candidate may lie above the reference's:
// by so much a batch, and by so many per cent.
type Allowance struct {
	Counter       string
	Absolute, Pct float64
}

// DefaultAllowances are those of --counters default. Decodes, messages and bytes
// follow from the stream; allocations are counted in the whole process, which does
// other things too.
const DefaultAllowances = protocol.CounterOpaqueDecodes + "=0," + protocol.CounterMessages + "=0," + protocol.CounterBytes + "=1%," + protocol.CounterAllocations + "=5%"

// MaxAllowance bounds an allowance: beyond it nothing is gated.
const MaxAllowance = 1e9

// ParseAllowances reads COUNTER=N (a batch) and COUNTER=N%, joined by commas.
func ParseAllowances(s string) ([]Allowance, error) {
	if s == "default" {
		s = DefaultAllowances
	}
	var all []Allowance
	for _, item := range strings.Split(s, ",") {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \n") {
			return nil, fmt.Errorf("counters %q, want COUNTER=N or COUNTER=N%%, such as %s", shortened(item), DefaultAllowances)
		}
		number, relative := strings.CutSuffix(value, "%")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || !(v >= 0 && v <= MaxAllowance) {
			return nil, fmt.Errorf("the allowance of counter %s is %q, want a number from 0 to %g, or such a number with %%", name, shortened(value), MaxAllowance)
		}
		if slices.ContainsFunc(all, func(a Allowance) bool { return a.Counter == name }) {
			return nil, fmt.Errorf("counter %s is given twice", name)
		}
		a := Allowance{Counter: name, Absolute: v}
		if relative {
			a.Absolute, a.Pct = 0, v
		}
		all = append(all, a)
	}
	return all, nil
}

func (a Allowance) String() string {
	if a.Pct > 0 {
		return fmt.Sprintf("%g %%", a.Pct)
	}
	return fmt.Sprintf("%g", a.Absolute)
}

// GatedCounters is what a gate without noise says: Pass, or Fail where some
// counter of the candidate rises beyond its allowance.
type GatedCounters struct {
	Outcome, Reason string
	Cells           []GatedCounter // every cell of the plan with every counter asked for
}

// GatedCounter is one counter of one cell: means over the counted trials, a batch.
type GatedCounter struct {
	Count                int
	Metadata             string
	Allowance            Allowance
	Reference, Candidate float64
	Rises                bool
	Varies               string // the range over trials, of a counter that is not the same in all
}

// NoCounterError is a counter that an arm does not report.
type NoCounterError struct{ Dir, Arm, Counter, Reported string }

func (e *NoCounterError) Error() string {
	return fmt.Sprintf("the %s of %s does not report the counter %q, it reports %s", e.Arm, e.Dir, e.Counter, e.Reported)
}

// rounding is what a mean of equal counts in another order may differ by.
const rounding = 1e-12

// GateCounters compares the candidate's counters with the reference's, cell by
// cell. One trial a cell is enough. The error is a *NoCounterError, or what is
// wrong with the run.
func GateCounters(f *Folder, allowances []Allowance) (GatedCounters, error) {
	g := GatedCounters{Outcome: Pass}
	if err := f.whole(); err != nil {
		return g, err
	}
	cells := byCell(f.Trials)
	var rises []string
	for _, row := range f.Result.Summary {
		if row.Metric != Metrics[0] { // each row of a cell has the same counters
			continue
		}
		for _, a := range allowances {
			c := GatedCounter{Count: row.Count, Metadata: row.Metadata, Allowance: a}
			if err := c.compare(f.Dir, row); err != nil {
				return g, err
			}
			c.Varies = variation(cells[cell{row.Count, row.Metadata}], a.Counter)
			if c.Rises {
				rises = append(rises, c.String())
			}
			g.Cells = append(g.Cells, c)
		}
	}
	g.Reason = fmt.Sprintf("none of %d counters rises beyond its allowance", len(g.Cells))
	if len(rises) > 0 {
		g.Outcome, g.Reason = Fail, fmt.Sprintf("%d of %d counters rise beyond their allowance: %s", len(rises), len(g.Cells), strings.Join(rises, ", "))
	}
	return g, nil
}

func (c *GatedCounter) compare(dir string, row SummaryRow) error {
	for _, arm := range []struct {
		name string
		into *float64
	}{{Reference, &c.Reference}, {Candidate, &c.Candidate}} {
		v, ok := row.Counters[arm.name][c.Allowance.Counter]
		if !ok {
			return &NoCounterError{dir, arm.name, c.Allowance.Counter, nameList(row.Counters[arm.name])}
		}
		*arm.into = v
	}
	allowed := c.Reference + c.Allowance.Absolute + float64(math.Abs(c.Reference)*c.Allowance.Pct/100)
	c.Rises = c.Candidate > allowed+float64(math.Abs(allowed)*rounding)
	return nil
}

func (c GatedCounter) String() string {
	return fmt.Sprintf("%d %s %s", c.Count, c.Metadata, c.Allowance.Counter)
}

// variation says between what a counter lies that is not the same in all trials of
// an arm.
func variation(trials []Trial, counter string) string {
	var out []string
	for _, arm := range []string{Reference, Candidate} {
		low, high := math.Inf(1), math.Inf(-1)
		for _, t := range trials {
			if t.Arm == arm {
				low, high = min(low, t.Counters[counter]), max(high, t.Counters[counter])
			}
		}
		if low < high {
			out = append(out, fmt.Sprintf("%s %.4g to %.4g", arm, low, high))
		}
	}
	return strings.Join(out, ", ")
}

func nameList(counters map[string]float64) string {
	if len(counters) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(counters)), ", ")
}

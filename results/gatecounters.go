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
// follow from the stream. Allocations are counted in the whole process, which
// refills pools and starts threads when it likes: in the committed runs two trials
// of one arm differ by up to 1820 a batch beyond 5 % (a test holds the default to
// that), so that one trial a cell can tell no less.
const DefaultAllowances = protocol.CounterOpaqueDecodes + "=0," + protocol.CounterMessages + "=0," + protocol.CounterBytes + "=1%," + protocol.CounterAllocations + "=5%+2000"

// MaxAllowance bounds an allowance: beyond it nothing is gated.
const MaxAllowance = 1e9

// ParseAllowances reads COUNTER=N (a batch), COUNTER=N% and COUNTER=N%+N, joined by
// commas.
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
		a, ok := parseAllowance(value)
		if !ok {
			return nil, fmt.Errorf("the allowance of counter %s is %q, want N, N%% or N%%+N with numbers from 0 to %g", name, shortened(value), MaxAllowance)
		}
		a.Counter = name
		if slices.ContainsFunc(all, func(a Allowance) bool { return a.Counter == name }) {
			return nil, fmt.Errorf("counter %s is given twice", name)
		}
		all = append(all, a)
	}
	return all, nil
}

func parseAllowance(s string) (a Allowance, ok bool) {
	pct, rest, relative := strings.Cut(s, "%")
	if relative {
		if a.Pct, ok = allowedRise(pct); !ok || rest == "" {
			return a, ok
		}
		if s, ok = strings.CutPrefix(rest, "+"); !ok {
			return a, false
		}
	}
	a.Absolute, ok = allowedRise(s)
	return a, ok
}

func allowedRise(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && v >= 0 && v <= MaxAllowance
}

func (a Allowance) String() string {
	switch {
	case a.Pct > 0 && a.Absolute > 0:
		return fmt.Sprintf("%g %% and %g", a.Pct, a.Absolute)
	case a.Pct > 0:
		return fmt.Sprintf("%g %%", a.Pct)
	}
	return fmt.Sprintf("%g", a.Absolute)
}

// GatedCounters is what a gate of counts says: Pass, or Fail where some
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
	c.Rises = c.Allowance.exceeded(c.Reference, c.Candidate)
	return nil
}

func (a Allowance) exceeded(reference, candidate float64) bool {
	allowed := reference + a.Absolute + float64(math.Abs(reference)*a.Pct/100)
	return candidate > allowed+float64(math.Abs(allowed)*rounding)
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

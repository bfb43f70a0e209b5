package batchrun

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/table"
)

// Section is one table of a report, rounded for reading. Left are its columns of
// words, Below what is to be said of it.
type Section struct {
	Title string
	Head  []string
	Left  []int
	Lines [][]string
	Below string
}

func (s Section) table() [][]string { return append([][]string{s.Head}, s.Lines...) }

// Sections are the tables of a run, those without a line left out.
func (f *Folder) Sections() []Section {
	all := []Section{f.single(), f.open(), f.primaries(), f.reductions(), f.intervals(), f.streams(), f.spreads(), f.senders()}
	var kept []Section
	for _, s := range all {
		if len(s.Lines) > 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

func ms(v *float64) string { return table.Significant(v, 4) }

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// single is the first of the published tables.
func (f *Folder) single() Section {
	s := Section{
		Title: "Single request latency", Head: []string{"batch size", "method", "avg ms", "p50 ms", "p90 ms", "p99 ms", "n"}, Left: []int{1},
		Below: "Response times of requests that are sent one after the other, of answered requests, over all rounds.",
	}
	for _, g := range f.Result.Figures {
		if c, l := f.Plan.Cells[g.Cell], g.Response; !c.Open() {
			s.Lines = append(s.Lines, []string{strconv.Itoa(c.Items), f.Plan.Spec(g.Arm), ms(l.AvgMS), ms(l.P50.MS), ms(l.P90.MS), ms(l.P99.MS), g.answered()})
		}
	}
	return s
}

// open is the second of the published tables.
func (f *Folder) open() Section {
	s := Section{
		Title: "Open loop", Left: []int{6, 7},
		Head:  append(append([]string{}, summaryColumns[:7]...), "distribution", "n", "achieved_rps"),
		Below: "Response times from the intended time, of answered requests, over all rounds.",
	}
	for _, g := range f.Result.Figures {
		if c, l := f.Plan.Cells[g.Cell], g.Response; c.Open() {
			s.Lines = append(s.Lines, []string{
				number(c.RPS), strconv.Itoa(c.Items), ms(l.AvgMS), ms(l.P50.MS), ms(l.P90.MS), ms(l.P99.MS), f.Plan.Spec(g.Arm),
				c.Kind, g.answered(), table.Significant(g.AchievedRPS, 3),
			})
		}
	}
	return s
}

// answered is the number of answered requests, and of all where some failed.
func (f Figures) answered() string {
	if f.Failed == 0 {
		return strconv.Itoa(f.Requests)
	}
	return fmt.Sprintf("%d of %d", f.Requests-f.Failed, f.Requests)
}

// intervals has every percentile with its interval.
func (f *Folder) intervals() Section {
	s := Section{
		Title: "Percentiles with their intervals", Head: []string{"cell", "arm", "percentile", "ms", "interval ms", "level %", "with failures ms"}, Left: []int{0, 1, 2},
		Below: "Nearest rank; exact intervals at 95 % nominal, for requests that are independent, which those of one queue are not. With failures: each failed request counts as infinite.",
	}
	for _, g := range f.Result.Figures {
		for i, q := range []Percentile{g.Response.P50, g.Response.P90, g.Response.P99} {
			all := []*float64{g.AllP50MS, g.AllP90MS, g.AllP99MS}[i]
			with := "infinite"
			if all != nil {
				with = ms(all)
			}
			between, level := q.between()
			s.Lines = append(s.Lines, []string{f.Plan.Cells[g.Cell].String(), g.Arm, strings.TrimSuffix(Metrics[i+1], "_ms"), ms(q.MS), between, level, with})
		}
	}
	return s
}

func (q Percentile) between() (interval, level string) {
	if q.Low == nil || q.High == nil || q.Level == nil {
		return "n too small", "-"
	}
	pct := 100 * *q.Level
	return ms(q.Low) + " to " + ms(q.High), table.OneDecimal(&pct)
}

// reductions has every metric of every cell in pairs.
func (f *Folder) reductions() Section {
	s := Section{
		Title: "Paired reductions", Left: []int{0, 1},
		Head:  []string{"cell", "metric", "reference ms", "candidate ms", "reduction %", "faster", "order interval %", "level %", "bootstrap interval %", "level %"},
		Below: "reduction: median over rounds of 100 (1 - candidate/reference); faster: rounds above 0;\nboth intervals are for that median at 95 % nominal, with the level attained.",
	}
	for _, r := range f.Result.Summary {
		line := []string{
			f.Plan.Cells[r.Cell].String(), r.Metric, ms(r.ReferenceMS), ms(r.CandidateMS),
			table.OneDecimal(r.MedianPairedReductionPct), fmt.Sprintf("%d/%d", r.FasterRounds, r.Rounds),
		}
		for _, i := range []*results.Interval{r.OrderCI, r.BootstrapCI} {
			between, level := rounded(i)
			line = append(line, between, level)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

func rounded(i *results.Interval) (between, level string) {
	if i == nil {
		return "-", "-"
	}
	level = "-"
	if i.Level != nil {
		pct := 100 * *i.Level
		level = table.OneDecimal(&pct)
	}
	return table.OneDecimal(&i.Low) + " to " + table.OneDecimal(&i.High), level
}

// primaries is what the decision is about.
func (f *Folder) primaries() Section {
	s := Section{
		Title: "Primary cells", Left: []int{0, 1, 2, 3},
		Head: []string{"cell", "metric", "role", "decision", "slow-down %", "bounds %", "p", "smallest effect %", "rounds needed"},
	}
	a := f.Result.Analysis
	if a == nil {
		return s
	}
	s.Below = "slow-down: 100 (candidate/reference - 1), of the median of the rounds' log ratios, positive is slower; bounds: one-sided,\n" +
		"all cells together at " + number(100*a.Level) + " % each side; p: two-sided, adjusted for the family;\n" +
		"smallest effect: what these rounds would find with 80 % power. The margin is " + number(f.Plan.MarginPct) + " %."
	for _, c := range a.Primary {
		rounds := "-"
		if c.RoundsNeeded != nil {
			rounds = strconv.Itoa(*c.RoundsNeeded)
		}
		bounds := "-"
		if c.LowerPct != nil && c.UpperPct != nil {
			bounds = table.OneDecimal(c.LowerPct) + " to " + table.OneDecimal(c.UpperPct)
		}
		s.Lines = append(s.Lines, []string{
			f.Plan.Cells[c.Cell].String(), c.Metric, c.Role, c.Decision, table.OneDecimal(c.SlowdownPct), bounds,
			table.Significant(c.P, 2), table.OneDecimal(c.SmallestEffectPct), rounds,
		})
	}
	return s
}

// streams has what only an answer in pieces has.
func (f *Folder) streams() Section {
	s := Section{
		Title: "Streams", Head: []string{"cell", "arm", "what", "avg ms", "p50 ms", "p90 ms", "p99 ms", "max ms"}, Left: []int{0, 1, 2},
		Below: "first byte: from the intended time; token gap and chunk gap: between neighbours in one answer. A chunk may hold several tokens.",
	}
	for _, g := range f.Result.Figures {
		for i, l := range []*Latency{g.FirstByte, g.TokenGap, g.ChunkGap} {
			if l != nil {
				s.Lines = append(s.Lines, []string{
					f.Plan.Cells[g.Cell].String(), g.Arm, []string{"first byte", "token gap", "chunk gap"}[i], ms(l.AvgMS), ms(l.P50.MS), ms(l.P90.MS), ms(l.P99.MS), ms(l.MaxMS),
				})
			}
		}
	}
	return s
}

// spreads is how the items of a request were spread over prefill batches.
func (f *Folder) spreads() Section {
	s := Section{
		Title: "Items over prefill batches", Left: []int{0, 1, 2, 3},
		Head: []string{"cell", "arm", "batches: requests", "items: batches", "first item ms", "last item ms", "leading ms"},
		Below: "batches: requests: by the number of prefill batches a request's items were in; items: batches: by how many of its items one batch had;\n" +
			"first and last item: arrival at the scheduler; leading: until the first item was finished there; means, from the sending.",
	}
	for _, g := range f.Result.Figures {
		if len(g.Batches) > 0 || g.LeadingMS != nil || g.FirstItemMS != nil {
			s.Lines = append(s.Lines, []string{f.Plan.Cells[g.Cell].String(), g.Arm, listed(g.Batches), listed(g.BatchItems), ms(g.FirstItemMS), ms(g.LastItemMS), ms(g.LeadingMS)})
		}
	}
	return s
}

// mostBins is how many bins a table's cell shows.
const mostBins = 8

func listed(bins []Bin) string {
	var parts []string
	for i, b := range bins {
		if i == mostBins {
			parts = append(parts, fmt.Sprintf("and %d more", len(bins)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d: %d", b.Value, b.Count))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// senders is how well the load was sent, the worst over the rounds.
func (f *Folder) senders() Section {
	s := Section{
		Title: "Sender", Left: []int{0, 1, 2},
		Head:  []string{"cell", "arm", "valid", "lateness p99 ms", "max ms", "in flight", "unsent", "failed", "CPU ms", "GC pauses", "worst ms", "taken ms"},
		Below: "the worst of the rounds, but for unsent, failed, CPU and GC pauses, which are sums; lateness: sending after the intended time; taken: by the host, of all processors, a sum too.",
	}
	for cell, c := range f.Plan.Cells {
		for _, arm := range []string{Reference, Candidate} {
			s.Lines = append(s.Lines, f.sender(cell, c, arm))
		}
	}
	return s
}

func (f *Folder) sender(cell int, c Cell, arm string) []string {
	var valid, n, inFlight, unsent, failed, pauses int
	var p99, most, cpu, worst float64
	var taken *float64 // nil: of no trial known
	for _, t := range f.Trials {
		if t.Cell != cell || t.Arm != arm {
			continue
		}
		if n++; t.Valid {
			valid++
		}
		if t.Lateness != nil {
			p99, most = math.Max(p99, t.Lateness.P99MS), math.Max(most, t.Lateness.MaxMS)
		}
		inFlight, worst = max(inFlight, t.Sender.MaxInFlight), math.Max(worst, t.Sender.GCWorstMS)
		unsent, failed, pauses, cpu = unsent+t.Unsent, failed+t.Failed, pauses+t.Sender.GCPauses, cpu+t.Sender.CPUMS
		if ms := t.Disturbance.StealMS(); ms != nil {
			if taken != nil {
				*ms += *taken
			}
			taken = ms
		}
	}
	return []string{
		c.String(), arm, fmt.Sprintf("%d/%d", valid, n), table.Significant(&p99, 3), table.Significant(&most, 3), strconv.Itoa(inFlight),
		strconv.Itoa(unsent), strconv.Itoa(failed), table.Significant(&cpu, 3), strconv.Itoa(pauses), table.Significant(&worst, 3), table.Significant(taken, 3),
	}
}

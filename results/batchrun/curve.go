package batchrun

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/verdict"
)

// Point is what the run says of one cell.
func (f *Folder) Point(cell int) SweepPoint {
	p := SweepPoint{Batches: f.batches(cell, Candidate), ReferenceBatches: f.batches(cell, Reference)}
	for _, row := range f.Result.Summary {
		if row.Cell != cell {
			continue
		}
		switch row.Metric {
		case "avg_ms":
			p.AvgMS, p.ReferenceAvgMS, p.AvgReductionPct, p.AvgInterval = row.CandidateMS, row.ReferenceMS, row.MedianPairedReductionPct, row.OrderCI
		case "leading_ms":
			p.LeadingMS, p.ReferenceLeadingMS, p.LeadingReductionPct, p.LeadingInterval = row.CandidateMS, row.ReferenceMS, row.MedianPairedReductionPct, row.OrderCI
		}
	}
	return p
}

// batches is the mean number of prefill batches of an arm's requests.
func (f *Folder) batches(cell int, arm string) *float64 {
	sum, n := 0, 0
	for _, g := range f.Result.Figures {
		if g.Cell == cell && g.Arm == arm {
			for _, b := range g.Batches {
				sum, n = sum+b.Value*b.Count, n+b.Count
			}
		}
	}
	if n == 0 {
		return nil
	}
	m := float64(sum) / float64(n)
	return &m
}

// stepRatio is by what the server said of itself.
func stepRatio(server map[string]string) *float64 {
	value := func(name string) float64 {
		v, err := strconv.ParseFloat(server[name], 64)
		if err != nil {
			return math.NaN()
		}
		return v
	}
	ratio := value("sim_step_base") / (value("sim_step_per_token") + value("sim_step_per_context"))
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return nil
	}
	return &ratio
}

// against says why a value is not one to recommend, or not one with which the candidate
// wins; nothing if it is.
func (p SweepPoint) against(w Swept, r SweepRun, within float64) string {
	switch {
	case r.Status != results.StatusVerified:
		return "the run is " + r.Status
	case p.AvgReductionPct == nil:
		return "how long requests take is not known"
	case w.Limits():
		return p.againstLimit(within)
	case r.Ratio == nil:
		return "the ratio to what a token takes is not known"
	case p.AvgInterval == nil:
		return fmt.Sprintf("there is no interval of how long requests take, which needs %d rounds", verdict.MinRounds)
	case !(p.AvgInterval.Low > 0):
		return fmt.Sprintf("requests may take no less than with the reference: the interval of their reduction is %.4g to %.4g %%", p.AvgInterval.Low, p.AvgInterval.High)
	}
	return ""
}

func (p SweepPoint) againstLimit(within float64) string {
	switch {
	case p.LeadingReductionPct == nil:
		return "how long the leading item waits is not known"
	case -*p.LeadingReductionPct > within:
		return fmt.Sprintf("the leading item waits %.4g %% longer than with the reference", -*p.LeadingReductionPct)
	case *p.AvgReductionPct < 0:
		return fmt.Sprintf("requests take %.4g %% longer than with the reference", -*p.AvgReductionPct)
	}
	return ""
}

// recommend takes the largest limit that nothing is against.
func (c *SweepCell) recommend(s *Sweep, w Swept) {
	rule := fmt.Sprintf("the largest limit whose leading item waits at most %g %% longer than with the reference, and whose requests are not slower on average", *s.WithinPct)
	order := s.Ascending()
	slices.Reverse(order)
	at := slices.IndexFunc(order, func(i int) bool { return c.Points[i].Against == "" })
	if at < 0 {
		c.Reason = fmt.Sprintf("none of these limits: wanted is %s; with %s, %s", rule, w.Words(s.Runs[0].Value), c.Points[0].Against)
		return
	}
	v, p := s.Runs[order[at]].Value, c.Points[order[at]]
	c.Recommended = &v
	c.Reason = fmt.Sprintf("%s is %s: the leading item waits %s and requests take %s", w.Words(v), rule, than(*p.LeadingReductionPct), than(*p.AvgReductionPct))
	if at > 0 {
		c.Reason += c.but(s, w, order[at-1])
	}
}

// threshold takes the smallest ratio from which on nothing is against any value.
func (c *SweepCell) threshold(s *Sweep, w Swept) {
	var order []int // from the largest ratio down, those that are not known at the end
	for i := range s.Runs {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ratioOf(s.Runs[b]), ratioOf(s.Runs[a])) })
	n := slices.IndexFunc(order, func(i int) bool { return c.Points[i].Against != "" })
	if n == 0 {
		says := "the candidate does not win"
		if c.Points[order[0]].AvgInterval == nil {
			says = "it cannot be told whether the candidate wins"
		}
		c.Reason = fmt.Sprintf("%s at the largest ratio of these; with %s, %s", says, w.Words(s.Runs[order[0]].Value), c.Points[order[0]].Against)
		return
	}
	last := order[len(order)-1]
	if n > 0 {
		last = order[n-1]
	}
	v := s.Runs[last].Value
	c.WinsFrom = &v
	c.Reason = fmt.Sprintf("the candidate wins from %s on, which is %.4g tokens: requests take less, by the interval, with it and with all above", w.Words(v), *s.Runs[last].Ratio)
	if n > 0 {
		c.Reason += c.but(s, w, order[n])
	}
}

// but is what stands against the next value.
func (c *SweepCell) but(s *Sweep, w Swept, i int) string {
	return fmt.Sprintf("; with %s, %s", w.Words(s.Runs[i].Value), c.Points[i].Against)
}

// ratioOf has what is not known below all.
func ratioOf(r SweepRun) float64 {
	if r.Ratio == nil {
		return math.Inf(-1)
	}
	return *r.Ratio
}

// than is a reduction in words.
func than(reduction float64) string {
	if reduction < 0 {
		return fmt.Sprintf("%.4g %% longer", -reduction)
	}
	return fmt.Sprintf("%.4g %% less", reduction)
}

// Ascending are the runs from the smallest value to the largest; no limit is the largest.
func (s *Sweep) Ascending() []int {
	var order []int
	for i := range s.Runs {
		order = append(order, i)
	}
	w := s.Swept()
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.size(s.Runs[a].Value), w.size(s.Runs[b].Value)) })
	return order
}

// Answer is the value that the sweep found for the cell: the limit that is recommended, or
// the step's fixed part from which on the candidate wins. nil: none.
func (c SweepCell) Answer() *float64 {
	if c.WinsFrom != nil {
		return c.WinsFrom
	}
	return c.Recommended
}

// verdict is a word on point i where nothing is against it.
func (c SweepCell) verdict(s *Sweep, i int) string {
	answer := c.Answer()
	here := answer != nil && *answer == s.Runs[i].Value
	switch {
	case c.Points[i].Against != "":
		return ""
	case here && s.Swept().Limits():
		return "recommended"
	case here:
		return "wins from here on"
	case s.Swept().Limits():
		return "allowed"
	}
	return "wins"
}

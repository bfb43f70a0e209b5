package load

import (
	"fmt"
	"math"
	"slices"
)

// Limits are what a valid run keeps to.
type Limits struct {
	// Lateness is how late a request may be sent, in seconds.
	Lateness float64
	// Late is the share of requests that may be later.
	Late float64
	// LatenessShare lowers it to this share of the median time from the intended time to the first byte; 0 does not,
	// as against a null server, whose answers take no time.
	LatenessShare float64
	// Failures is the share of requests that may fail.
	Failures float64
}

// DefaultLimits are for one trial of several with a real server. Of all trials together fewer may be late
// (batchrun.MostLatePct), but of a short one a hundredth is a request or two, and a machine that loses its processors for some
// milliseconds now and then has as many late in one trial of ten.
func DefaultLimits() Limits { return Limits{Lateness: 1e-3, LatenessShare: 0.05, Late: 0.1} }

// NullLimits are for a server whose answers take no time.
func NullLimits() Limits { return Limits{Lateness: 1e-3, Late: 0.01} }

// Validity says whether a run measured the server under the load that was asked for.
type Validity struct {
	Valid   bool
	Reasons []string // why not; each begins with the word for its rule
	// The figures that were judged, per second where they are rates; 0 where too little was answered to tell.
	Offered, Sent, Answered float64
	Unsent, Failed          int
	Late                    int // requests that were later than LatenessLimit
	LatenessLimit           float64
	InFlight                [growthWindows]float64 // means over the fourths of the second half
}

// The rules, as the first word of a reason.
const (
	RuleUnsent     = "unsent"
	RuleErrors     = "errors"
	RuleLateness   = "lateness"
	RuleRate       = "rate"
	RuleSaturation = "saturation"
)

const growthWindows = 4

// Judge applies the rules. It needs no clock and no files: anyone who has the records can judge again.
func Judge(s Schedule, r Result, l Limits) Validity {
	if len(r.Sent) != len(s.At) {
		return Validity{Reasons: []string{fmt.Sprintf("%s: %d records of %d requests", RuleUnsent, len(r.Sent), len(s.At))}}
	}
	var v Validity
	v.judgeFailures(r.Sent, l)
	v.judgeLateness(r.Sent, l)
	v.judgeRates(s, r.Sent)
	v.judgeGrowth(s, r.Sent)
	v.Valid = len(v.Reasons) == 0
	return v
}

func (v *Validity) invalid(rule, format string, args ...any) {
	v.Reasons = append(v.Reasons, rule+": "+fmt.Sprintf(format, args...))
}

func (v *Validity) judgeFailures(sent []Sent, l Limits) {
	unsent, failed := map[string]int{}, map[string]int{}
	for _, r := range sent {
		if r.Sent == nil {
			v.Unsent++
			unsent[r.Err]++
		} else if r.Failed() {
			v.Failed++
			failed[r.Err]++
		}
	}
	if v.Unsent > 0 {
		v.invalid(RuleUnsent, "%d of %d requests were never sent, most often: %s", v.Unsent, len(sent), commonest(unsent))
	}
	if float64(v.Failed) > l.Failures*float64(len(sent)) {
		v.invalid(RuleErrors, "%d of %d requests failed, at most %.4g %% may, most often: %s", v.Failed, len(sent), 100*l.Failures, commonest(failed))
	}
}

// commonest is the text with the highest count, the first in order among equals.
func commonest(counts map[string]int) string {
	best := ""
	for text, n := range counts {
		if n > counts[best] || n == counts[best] && text < best {
			best = text
		}
	}
	return best
}

func (v *Validity) judgeLateness(sent []Sent, l Limits) {
	var late, first []float64
	for _, r := range sent {
		if x, ok := r.Lateness(); ok {
			late = append(late, x)
		}
		if x, ok := r.FirstByteLatency(); ok && !r.Failed() {
			first = append(first, x)
		}
	}
	v.LatenessLimit = l.Lateness
	if l.LatenessShare > 0 && len(first) > 0 {
		v.LatenessLimit = min(v.LatenessLimit, l.LatenessShare*SpreadOf(first).P50)
	}
	for _, x := range late {
		if x > v.LatenessLimit {
			v.Late++
		}
	}
	if n := float64(len(late)); float64(v.Late) > l.Late*n {
		v.invalid(RuleLateness, "%d of %d requests, %.3g %%, were sent more than %.4g ms late, at most %.3g %% may; the 99th percentile is %.4g ms",
			v.Late, len(late), 100*float64(v.Late)/n, 1e3*v.LatenessLimit, 100*l.Late, 1e3*SpreadOf(late).P99)
	}
}

// judgeRates compares the middle nine tenths of what was sent and answered with the same part of the
// schedule, whose own rate it is, not the one asked for. A stable server answers them in the same
// time, shifted; a saturated one needs longer.
func (v *Validity) judgeRates(s Schedule, sent []Sent) {
	var at, done []float64
	for _, r := range sent {
		if r.Sent != nil {
			at = append(at, *r.Sent)
		}
		if r.Done != nil {
			done = append(done, *r.Done)
		}
	}
	v.Offered = s.Offered()
	v.Sent, v.Answered = v.rate(s.At, at), v.rate(s.At, done)
	v.judgeRate(RuleRate, "sent", v.Sent, len(sent))
	if len(done) == len(sent) { // else the failures have been told
		v.judgeRate(RuleSaturation, "answered", v.Answered, len(sent))
	}
}

func (v *Validity) judgeRate(rule, what string, rate float64, n int) {
	tolerance := 3 / math.Sqrt(float64(n))
	if rate > 0 && math.Abs(rate/v.Offered-1) > tolerance {
		v.invalid(rule, "requests were %s at %.5g a second and the schedule has %.5g: %.3g %% off, want at most %.3g %%",
			what, rate, v.Offered, 100*math.Abs(rate/v.Offered-1), 100*tolerance)
	}
}

// rate scales the offered rate by how much longer the middle of the times takes than the schedule's.
func (v *Validity) rate(planned, times []float64) float64 {
	if len(times) < len(planned) || len(times) < 20 {
		return 0
	}
	slices.Sort(times)
	took := rank(times, 95, 100) - rank(times, 5, 100)
	if took <= 0 {
		return 0
	}
	return v.Offered * (rank(planned, 95, 100) - rank(planned, 5, 100)) / took
}

// judgeGrowth looks at how many requests were in flight in the fourths of the second half: a server that is
// slower than the schedule has more in each than in the one before, and its answers take longer; more requests whose
// answers do not are more arrivals by chance, as in one of a hundred loops of a second.
func (v *Validity) judgeGrowth(s Schedule, sent []Sent) {
	width := s.Seconds / 2 / growthWindows
	for _, r := range sent {
		if r.Failed() || r.Done == nil {
			continue
		}
		for w := range v.InFlight {
			from := s.Seconds/2 + float64(w)*width
			v.InFlight[w] += max(0, min(*r.Done, from+width)-max(r.Intended, from)) / width
		}
	}
	first, last := v.InFlight[0], v.InFlight[growthWindows-1]
	rising := slices.IsSorted(v.InFlight[:])
	if rising && slower(s, sent) && last-first > max(growthShare*first, growthNoise*math.Sqrt(first+1)) {
		v.invalid(RuleSaturation, "requests in flight grew through the second half: %.4g, %.4g, %.4g, %.4g on average in its fourths",
			v.InFlight[0], v.InFlight[1], v.InFlight[2], v.InFlight[3])
	}
}

// slower says whether answers to the last fourth of the schedule took longer than those to its first half, on average;
// without either it is not known, and is not ruled out.
func slower(s Schedule, sent []Sent) bool {
	var before, after []float64
	for _, r := range sent {
		took, ok := r.Latency()
		switch {
		case r.Failed() || !ok:
		case r.Intended < s.Seconds/2:
			before = append(before, took)
		case r.Intended >= s.Seconds*3/4:
			after = append(after, took)
		}
	}
	return len(before) == 0 || len(after) == 0 || mean(after) > growthSlower*mean(before)
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// In flight, the last fourth must lie above the first by this share and by this many standard
// deviations of a Poisson count, or it is noise.
const (
	growthShare = 0.25
	growthNoise = 3.0
	// growthSlower times as long as in the first half. What waits behind all before it, from the first request on,
	// takes more than three times as long.
	growthSlower = 1.5
)

package batchrun

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// An open loop may be sent from several machines: each runs a shard, whose plan has
// shard and shards, and Merge puts the runs together to one whose plan has shards and
// parts. A merged run is a run folder like any other, with these differences:
//
//	plan.json      parts: the hashes of the shards' files
//	schedules/     round-R-cell-C-shard-I.json
//	raw.jsonl      the requests of all shards, by their intended time; shard says whose
//	trials.jsonl   parts: when each shard began, and what it judged
//	result.json    shards: the machines and their clocks; clocks: how they compare

// Part is one shard of a merged run.
type Part struct {
	Shard        int    `json:"shard"`
	PlanSHA256   string `json:"plan_sha256"`
	RawSHA256    string `json:"raw_sha256"`
	TrialsSHA256 string `json:"trials_sha256"`
	ResultSHA256 string `json:"result_sha256"`
}

// TrialPart is what one shard did of a merged trial.
type TrialPart struct {
	Shard     int       `json:"shard"`
	StartedAt time.Time `json:"started_at"` // by its own clock
	WallMS    float64   `json:"wall_ms"`
	Requests  int       `json:"requests"`
	Valid     bool      `json:"valid"`
}

// Clock is what a run says of the clock that its times of day are from.
type Clock struct {
	Boot           string    `json:"boot"`  // names one boot of one machine, by a hash; "": not known
	Start          time.Time `json:"start"` // before the first trial
	End            time.Time `json:"end"`
	StartMonotonic float64   `json:"start_monotonic"` // seconds of CLOCK_MONOTONIC at start
	EndMonotonic   float64   `json:"end_monotonic"`
	MaxErrorMS     *float64  `json:"max_error_ms"` // how far it may be off, as the kernel's discipline says; null: it is not synchronised, or not known to be
}

// stepped is by how much the time of day left the monotonic clock during the run, ms.
func (c Clock) stepped() float64 {
	return 1000 * math.Abs(c.End.Sub(c.Start).Seconds()-(c.EndMonotonic-c.StartMonotonic))
}

func (c *Clock) check(name string) error {
	switch {
	case c == nil:
		return nil
	case c.Start.IsZero() || c.End.IsZero(): // a clock that is set back may end before it starts
		return form.Unwanted(name+".start and end", fmt.Sprintf("%v and %v", c.Start, c.End), "two times")
	case !finite(c.StartMonotonic) || !finite(c.EndMonotonic) || c.EndMonotonic < c.StartMonotonic:
		return form.Unwanted(name+".end_monotonic", c.EndMonotonic, "at least %v, that of its start", c.StartMonotonic)
	case c.MaxErrorMS != nil && (!finite(*c.MaxErrorMS) || *c.MaxErrorMS < 0):
		return form.Unwanted(name+".max_error_ms", *c.MaxErrorMS, "a finite number, 0 or more")
	}
	return nil
}

// Clocks compares the clocks of a merged run's shards.
type Clocks struct {
	Same       bool     `json:"same"`        // all shards ran on one machine, under one clock
	OffsetMS   *float64 `json:"offset_ms"`   // how far two of them may lie apart, at most; null: not known
	SteppedMS  float64  `json:"stepped_ms"`  // the most that one was set, or drifted, during its run
	StartsMS   float64  `json:"starts_ms"`   // the most that the shards' starts of one trial lie apart, by their clocks
	OverlapPct float64  `json:"overlap_pct"` // the least share of an open loop in which all shards were sending, by their clocks
}

// leastOverlap is the share of an open loop, per cent, in which all shards must have
// sent, for the load on a server that all of them asked to be the plan's.
const leastOverlap = 90

// merged says whether the run is put together from shards.
func (p Plan) merged() bool { return len(p.Parts) > 0 }

// checkShard: a run is a shard, put together from all shards, or neither. Only an open
// loop can be split.
func (p Plan) checkShard() error {
	switch {
	case p.Shard == nil && p.Shards == 0 && !p.merged():
		return nil
	case p.Shards < 1 || p.Shards > MaxShards:
		return form.Unwanted("shards", p.Shards, "1 to %d with a shard or parts, or none of them", MaxShards)
	case p.merged() == (p.Shard != nil):
		return fmt.Errorf("of shard and parts there are both or none, want one beside shards")
	case p.Shard != nil && (*p.Shard < 0 || *p.Shard >= p.Shards):
		return form.Unwanted("shard", *p.Shard, "0 to %d", p.Shards-1)
	case p.merged() && len(p.Parts) != p.Shards:
		return form.Unwanted("parts", fmt.Sprintf("%d of them", len(p.Parts)), "%d, one for each shard", p.Shards)
	}
	for i, c := range p.Cells {
		if !c.Open() {
			return form.Unwanted(fmt.Sprintf("cells[%d]", i), c.String(), "open loops only: one request at a time cannot be split over machines")
		}
	}
	for i, part := range p.Parts {
		if part.Shard != i {
			return form.Unwanted(fmt.Sprintf("parts[%d].shard", i), part.Shard, "%d", i)
		}
		for key, sum := range map[string]string{"plan_sha256": part.PlanSHA256, "raw_sha256": part.RawSHA256, "trials_sha256": part.TrialsSHA256, "result_sha256": part.ResultSHA256} {
			if err := form.CheckHash(fmt.Sprintf("parts[%d].%s", i, key), sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkParts holds a trial of a merged run, or of any other, against what its requests
// say of their shards.
func (p Plan) checkParts(t Trial, requests []Request) error {
	if len(t.Parts) != len(p.Parts) {
		return form.Unwanted("parts", fmt.Sprintf("%d of them", len(t.Parts)), "%d as in the plan", len(p.Parts))
	}
	counts := make([]int, len(t.Parts))
	for i, r := range requests {
		switch {
		case (r.Shard != nil) != p.merged():
			return fmt.Errorf("request %d: shard is there exactly in a merged run", i)
		case r.Shard != nil && (*r.Shard < 0 || *r.Shard >= len(counts)):
			return fmt.Errorf("request %d: %w", i, form.Unwanted("shard", *r.Shard, "0 to %d", len(counts)-1))
		case r.Shard != nil:
			counts[*r.Shard]++
		}
	}
	valid, wall := true, 0.0
	for i, part := range t.Parts {
		if part.Shard != i || part.Requests != counts[i] || part.StartedAt.IsZero() || !finite(part.WallMS) || part.WallMS < 0 {
			return form.Unwanted(fmt.Sprintf("parts[%d]", i), fmt.Sprintf("%+v", part), "shard %d with %d requests, a start and a time", i, counts[i])
		}
		valid, wall = valid && part.Valid, math.Max(wall, part.WallMS)
	}
	if p.merged() && (t.Valid != valid || t.WallMS != wall) {
		return form.Unwanted("valid and wall_ms", fmt.Sprintf("%v and %v", t.Valid, t.WallMS), "%v and %v, as its parts have it", valid, wall)
	}
	return nil
}

// overlap is the share of the loop, per cent, in which all shards of a trial were
// sending, and how far their starts lie apart, ms, by their own clocks.
func (t Trial) overlap(seconds float64) (pct, apart float64) {
	first, last := t.Parts[0].StartedAt, t.Parts[0].StartedAt
	for _, part := range t.Parts {
		if part.StartedAt.Before(first) {
			first = part.StartedAt
		}
		if part.StartedAt.After(last) {
			last = part.StartedAt
		}
	}
	apart = 1000 * last.Sub(first).Seconds()
	return math.Max(0, 100*(1-apart/(1000*seconds))), apart
}

// apart are the reasons why a load on a server that all shards asked was not that of
// the plan: they did not ask at one time.
func (p Plan) apart(trials []Trial) (why []string) {
	if !p.merged() {
		return nil
	}
	for _, t := range trials {
		if pct, ms := t.overlap(p.Cells[t.Cell].Seconds); strings.HasPrefix(p.Spec(t.Arm), armURL+":") && pct < leastOverlap {
			why = append(why, fmt.Sprintf("round %d, %s, %s: the shards began %.4g ms apart, so that all of them loaded the server in %.3g %% of the time, want at least %d %%", t.Round, p.Cells[t.Cell], t.Arm, ms, pct, leastOverlap))
		}
	}
	return why
}

// clocks compares the shards' clocks; nil of a run that is not merged.
func (p Plan) clocks(trials []Trial, shards []Shard) *Clocks {
	if !p.merged() {
		return nil
	}
	c := &Clocks{Same: true, OverlapPct: 100}
	var errors []float64
	for _, s := range shards {
		c.Same = c.Same && s.Clock.Boot != "" && s.Clock.Boot == shards[0].Clock.Boot
		c.SteppedMS = math.Max(c.SteppedMS, s.Clock.stepped())
		errors = some(errors, s.Clock.MaxErrorMS)
	}
	slices.Sort(errors)
	zero := 0.0
	switch n := len(errors); {
	case c.Same:
		c.OffsetMS = &zero
	case n == len(shards) && n > 1:
		worst := errors[n-1] + errors[n-2]
		c.OffsetMS = &worst
	}
	for _, t := range trials {
		pct, apart := t.overlap(p.Cells[t.Cell].Seconds)
		c.OverlapPct, c.StartsMS = math.Min(c.OverlapPct, pct), math.Max(c.StartsMS, apart)
	}
	return c
}

// text says what a reader must know of the clocks.
func (c Clocks) text() string {
	offset := "of machines whose clocks may lie apart by any time: not all say that they are synchronised"
	switch {
	case c.Same:
		offset = "one clock, of one machine"
	case c.OffsetMS != nil:
		offset = fmt.Sprintf("of machines whose clocks lie at most %.4g ms apart, as their kernels say", *c.OffsetMS)
	}
	return fmt.Sprintf("%s; the shards' starts of a trial lie at most %.4g ms apart, and all were sending in at least %.3g %% of every loop; the most a clock was set during its run: %.3g ms", offset, c.StartsMS, c.OverlapPct, c.SteppedMS)
}

// checkShards: a merged result has its shards, each with a clock, and the validity of
// the whole follows from theirs.
func (r Result) checkShards(p Plan) error {
	if len(r.Shards) != len(p.Parts) {
		return form.Unwanted("shards", fmt.Sprintf("%d of them", len(r.Shards)), "%d as in the plan", len(p.Parts))
	}
	if err := r.Clock.check("clock"); err != nil {
		return err
	}
	for i, s := range r.Shards {
		if s.Shard != i {
			return form.Unwanted(fmt.Sprintf("shards[%d].shard", i), s.Shard, "%d", i)
		}
		if err := s.Clock.check(fmt.Sprintf("shards[%d].clock", i)); err != nil {
			return err
		}
	}
	return nil
}

func (f *Folder) clocksText() string {
	if c := f.Result.Clocks; c != nil {
		return c.text()
	}
	return "one machine's"
}

package batchrun

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// scheduleSchema names the form of a schedule file, which the sender writes and
// reads; it derives the times from the seed anew. Here the file's hash stands for its
// form, and its times are held against those of the requests.
const scheduleSchema = "batchsend-schedule/1"

type schedule struct {
	Schema       string    `json:"schema"`
	Seed         uint64    `json:"seed"`
	Distribution string    `json:"distribution"`
	RPS          float64   `json:"rps"`
	Seconds      float64   `json:"seconds"`
	Unique       int       `json:"unique"`
	Shard        int       `json:"shard"`
	Shards       int       `json:"shards"`
	At           []float64 `json:"at"`      // seconds
	Request      []int     `json:"request"` // bodies
}

// slack is how far an intended time may lie from the schedule's, in milliseconds:
// what rounding takes, and what a float loses where seconds become milliseconds.
const slack = 0.5/resolution + 1e-6

// checkSchedules: the files of the schedules are those that the plan names, are what
// its cells ask for, and were what both arms were to send.
func (f *Folder) checkSchedules() error {
	for _, ref := range f.Plan.Schedules {
		s, err := f.schedule(ref)
		if err == nil {
			err = f.followed(ref, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", ref.Name(), err)
		}
	}
	return nil
}

func (f *Folder) schedule(ref ScheduleRef) (s schedule, err error) {
	b, err := form.ReadFile(f.Dir, filepath.FromSlash(ref.Name()), MaxSchedule)
	if err != nil {
		return s, err
	}
	if got := form.Sum(b); got != ref.SHA256 {
		return s, form.Unwanted("sha256", got, "%s as in %s", ref.SHA256, PlanFile)
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, err
	}
	c := f.Plan.Cells[ref.Cell]
	switch {
	case s.Schema != scheduleSchema:
		return s, form.Unwanted("schema", s.Schema, "%q", scheduleSchema)
	case s.Seed != ref.Seed:
		return s, form.Unwanted("seed", s.Seed, "%d as in %s", ref.Seed, PlanFile)
	case s.Distribution != c.Kind || s.RPS != c.RPS || s.Seconds != c.Seconds:
		return s, form.Unwanted("load", fmt.Sprintf("%s at %v a second for %v s", s.Distribution, s.RPS, s.Seconds), "%s at %v a second for %v s", c.Kind, c.RPS, c.Seconds)
	case [2]int{s.Shard, s.Shards} != f.Plan.part(ref):
		return s, form.Unwanted("shard", fmt.Sprintf("%d of %d", s.Shard, s.Shards), "%d of %d as in %s", f.Plan.part(ref)[0], f.Plan.part(ref)[1], PlanFile)
	case len(s.At) != ref.Requests || len(s.Request) != ref.Requests:
		return s, form.Unwanted("number of requests", fmt.Sprintf("%d times and %d bodies", len(s.At), len(s.Request)), "%d of both", ref.Requests)
	}
	return s, nil
}

// part is the shard that a schedule is of, and how many there are.
func (p Plan) part(ref ScheduleRef) [2]int {
	switch {
	case ref.Shard != nil:
		return [2]int{*ref.Shard, p.Shards}
	case p.Shard != nil:
		return [2]int{*p.Shard, p.Shards}
	}
	return [2]int{0, 1}
}

// followed: the requests of both arms (of a merged run those of the schedule's shard)
// were intended when the schedule says, with the bodies it says.
func (f *Folder) followed(ref ScheduleRef, s schedule) error {
	for i, t := range f.Trials {
		if t.Round != ref.Round || t.Cell != ref.Cell {
			continue
		}
		k := 0
		for _, r := range f.Requests[i] {
			if ref.Shard != nil && *r.Shard != *ref.Shard {
				continue
			}
			if k == len(s.At) {
				return fmt.Errorf("the %s has more than its %d requests", t.Arm, len(s.At))
			}
			if math.Abs(r.IntendedMS-1000*s.At[k]) > slack || r.Body != s.Request[k] {
				return fmt.Errorf("request %d of the %s is of body %d at %v ms, want body %d at %v ms", k, t.Arm, r.Body, r.IntendedMS, s.Request[k], 1000*s.At[k])
			}
			k++
		}
		if k < len(s.At) {
			return fmt.Errorf("the %s has %d requests of it, want %d", t.Arm, k, len(s.At))
		}
	}
	return nil
}

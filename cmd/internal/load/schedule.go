package load

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// The distributions of the gaps between requests.
const (
	Poisson  = "poisson"  // exponential gaps
	Constant = "constant" // equal gaps
)

// mostRequests bounds a schedule: more would not fit the memory of a sender.
const mostRequests = 20_000_000

// Spec is everything that a schedule follows from.
type Spec struct {
	Seed         uint64  `json:"seed"`
	Distribution string  `json:"distribution"`
	RPS          float64 `json:"rps"`     // of all shards together
	Seconds      float64 `json:"seconds"` // requests are due from 0 until before this
	Unique       int     `json:"unique"`  // how many bodies there are
	Shard        int     `json:"shard"`   // from 0
	Shards       int     `json:"shards"`  // 1 for a load from one machine
}

// Schedule says when each request is due and which body it has. It is made once, and given to
// every arm alike.
type Schedule struct {
	Spec
	At      []float64 `json:"at"`      // seconds from the start, whole nanoseconds, rising
	Request []int     `json:"request"` // the body of each, cyclic
}

// NewSchedule draws the schedule that the spec stands for.
func NewSchedule(spec Spec) (Schedule, error) {
	if err := spec.validate(); err != nil {
		return Schedule{}, err
	}
	s := Schedule{Spec: spec, At: spec.times()}
	if len(s.At) == 0 {
		return Schedule{}, fmt.Errorf("load: %s at %v requests a second from seed %d has no request in %v s; want a longer time or a higher rate",
			spec.Distribution, spec.RPS, spec.Seed, spec.Seconds)
	}
	s.Request = make([]int, len(s.At))
	for i := range s.Request {
		s.Request[i] = (spec.Shard + i*spec.Shards) % spec.Unique
	}
	return s, nil
}

func (s Spec) validate() error {
	switch {
	case s.Distribution != Poisson && s.Distribution != Constant:
		return fmt.Errorf("load: distribution %q, want %s or %s", s.Distribution, Poisson, Constant)
	case !(s.RPS > 0) || math.IsInf(s.RPS, 0): // a NaN is not above 0 either
		return fmt.Errorf("load: rate %v requests a second, want a finite number above 0", s.RPS)
	case !(s.Seconds > 0) || math.IsInf(s.Seconds, 0):
		return fmt.Errorf("load: duration %v s, want a finite number above 0", s.Seconds)
	case !(s.RPS*s.Seconds <= mostRequests):
		return fmt.Errorf("load: %v requests a second for %v s are more than %d requests", s.RPS, s.Seconds, mostRequests)
	case s.Unique < 1:
		return fmt.Errorf("load: %d different requests, want 1 or more", s.Unique)
	case s.Shards < 1:
		return fmt.Errorf("load: %d shards, want 1 or more", s.Shards)
	case s.Shard < 0 || s.Shard >= s.Shards:
		return fmt.Errorf("load: shard %d of %d, want one from 0 to %d", s.Shard, s.Shards, s.Shards-1)
	}
	return nil
}

// times are the shard's arrivals. The clock counts whole nanoseconds and each gap is rounded to
// them before it is added, so that the last digit of a logarithm, which may differ between
// architectures, does not reach the sum.
func (s Spec) times() []float64 {
	var at []float64
	end := int64(math.Ceil(s.Seconds * 1e9))
	if s.Distribution == Constant {
		for k := s.Shard; ; k += s.Shards {
			t := int64(math.Round(float64(k) / s.RPS * 1e9))
			if t >= end {
				return at
			}
			at = append(at, float64(t)/1e9)
		}
	}
	random := rand.New(rand.NewPCG(s.Seed, uint64(s.Shards)<<32|uint64(s.Shard)))
	mean := float64(s.Shards) / s.RPS * 1e9
	for t := int64(0); ; {
		gap := -math.Log(1-random.Float64()) * mean // never the logarithm of 0
		if gap >= float64(end-t) {
			return at
		}
		if t += int64(math.Round(gap)); t >= end {
			return at
		}
		at = append(at, float64(t)/1e9)
	}
}

// Offered is the realised rate of the schedule: its requests over its duration, not the rate that was
// asked for, from which a Poisson schedule of 100 requests lies 10 % off.
func (s Schedule) Offered() float64 { return float64(len(s.At)) / s.Seconds }

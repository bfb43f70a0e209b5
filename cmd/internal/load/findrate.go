package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// RateSearch says how a rate is looked for.
type RateSearch struct {
	From     float64       // requests a second of the first burst
	Factor   float64       // from one burst to the next, above 1
	Most     float64       // no burst is faster
	Least    float64       // none is slower: below it no rate is safe
	Tries    int           // bursts at one rate, all recorded, until one is valid: a rate is invalid when all were
	Refine   int           // bursts between the highest valid rate and the lowest invalid one
	Seconds  float64       // of a burst
	Requests int           // of a burst at least: a slow one is made longer for it
	Fraction float64       // of the highest valid rate is safe
	Budget   time.Duration // no burst begins that would not end within it
	Seed     uint64        // of the first burst's schedule; the next has the next seed
	Limits   Limits
}

// DefaultRateSearch is for a real server. Its limits of lateness are wider than those of a run: the 99th percentile of a
// short burst is its latest request, and one hiccup of the machine says nothing of the rate. A sender that cannot hold a rate
// is later than that. The run itself is judged by DefaultLimits.
//
// From suits a server that answers in a fraction of a second. For another, start from a share of what one request after the
// other gives (Sequential).
func DefaultRateSearch(seed uint64) RateSearch {
	return RateSearch{
		From: 4, Factor: 2, Most: 4096, Least: 0.25, Tries: 2, Refine: 1, Seconds: 1, Requests: 20, Fraction: 0.5,
		Budget: 20 * time.Second, Seed: seed, Limits: Limits{Lateness: 0.02, LatenessShare: 0.5, Late: 0.01},
	}
}

// Burst is one try of a search.
type Burst struct {
	RPS      float64
	Seconds  float64
	Seed     uint64
	Requests int
	Wall     float64 // seconds until its last request had ended
	Validity Validity
}

// held is the rate that a burst was answered at: one of few requests may be valid and yet take far longer than its
// schedule, by what the server is slower. A tenth more is the last answers' own time.
func (b Burst) held() float64 {
	if b.Wall <= 1.1*b.Seconds {
		return b.RPS
	}
	return b.RPS * b.Seconds / b.Wall
}

// Found is what a search found.
type Found struct {
	RPS     float64 // Fraction of Highest: what to load the server with
	Highest float64 // the highest rate at which a valid burst was answered
	Invalid float64 // the lowest rate above it that was not; 0 if none was met
	Bursts  []Burst // in the order in which they were tried
	Stopped string  // why the search ended
}

// Bodies gives those that n requests of a search have in turn, from its first-th on, counted over all bursts: what one
// burst has left in the server's cache must not make the next one faster where a run's own requests would not find it.
type Bodies func(first, n int) ([][]byte, error)

// InTurn has the same bodies over and over, for a server to which it makes no difference.
func InTurn(bodies [][]byte) Bodies {
	return func(first, n int) ([][]byte, error) {
		if len(bodies) == 0 {
			return nil, errors.New("load: no bodies")
		}
		turn := make([][]byte, min(n, len(bodies)))
		for i := range turn {
			turn[i] = bodies[(first+i)%len(bodies)]
		}
		return turn, nil
	}
}

// FindRate looks for a rate that the target and this sender hold: bursts upward, each Factor faster, until one is not valid; if already
// the first is not, downward until one is. It is an error if none is. What check sees has its request's number in the search.
func FindRate(ctx context.Context, r RateSearch, t Target, bodies Bodies, check func(Sent) error) (Found, error) {
	start, first := time.Now(), 0
	return r.find(func() time.Duration { return time.Since(start) }, func(s Schedule) (Validity, float64, error) {
		burst, cancel := context.WithDeadline(ctx, start.Add(r.Budget))
		defer cancel()
		all, err := bodies(first, len(s.At))
		if err != nil {
			return Validity{}, 0, err
		}
		for i := range s.Request {
			s.Request[i] = i % len(all)
		}
		result, err := Run(burst, s, t, all, numberedFrom(first, check))
		first += len(s.At)
		if err != nil && ctx.Err() == nil && burst.Err() != nil {
			err = nil // answers that do not come in the time of the whole search are too slow, which Judge says
		}
		return Judge(s, result, r.Limits), result.Wall, err
	})
}

// numberedFrom tells check the number that a request of a burst has in the search.
func numberedFrom(first int, check func(Sent) error) func(Sent) error {
	if check == nil {
		return nil
	}
	return func(sent Sent) error {
		sent.Request = first + sent.Index
		return check(sent)
	}
}

func (r RateSearch) validate() error {
	switch {
	case !(r.Least > 0 && r.Least <= r.From && r.From <= r.Most) || math.IsInf(r.Most, 0):
		return fmt.Errorf("load: search from %v between %v and %v requests a second, want 0 < least <= from <= most", r.From, r.Least, r.Most)
	case !(r.Factor > 1) || math.IsInf(r.Factor, 0):
		return fmt.Errorf("load: search by a factor of %v, want more than 1", r.Factor)
	case !(r.Fraction > 0 && r.Fraction <= 1):
		return fmt.Errorf("load: %v of the highest rate, want a share above 0 and up to 1", r.Fraction)
	case !(r.Seconds > 0) || r.Requests < 1 || r.Tries < 1 || r.Refine < 0:
		return fmt.Errorf("load: bursts of %v s and %d requests, %d at one rate, %d between; want three above 0, and 0 or more", r.Seconds, r.Requests, r.Tries, r.Refine)
	}
	return nil
}

// search is one under way.
type search struct {
	RateSearch
	Found
	elapsed func() time.Duration
	try     func(Schedule) (v Validity, wall float64, err error)
}

func (r RateSearch) find(elapsed func() time.Duration, try func(Schedule) (Validity, float64, error)) (Found, error) {
	if err := r.validate(); err != nil {
		return Found{}, err
	}
	s := &search{RateSearch: r, elapsed: elapsed, try: try}
	err := s.bracket()
	if err == nil {
		err = s.refine()
	}
	if err == nil && s.Highest == 0 {
		err = fmt.Errorf("load: no rate is safe; the search ended at %s; the last burst, at %v requests a second: %v", s.Stopped, s.last().RPS, s.last().Validity.Reasons)
	}
	s.Found.RPS = s.Fraction * s.Highest
	return s.Found, err
}

func (s *search) last() Burst {
	if len(s.Bursts) == 0 {
		return Burst{}
	}
	return s.Bursts[len(s.Bursts)-1]
}

// bracket tries rates until a valid one stands beside an invalid one.
func (s *search) bracket() error {
	rate := s.From
	for {
		if ok, err := s.rate(rate); !ok || err != nil {
			return err
		}
		switch {
		case s.Highest > 0 && s.Invalid > 0:
			s.Stopped = "a valid rate beside an invalid one"
			return nil
		case s.Highest > 0 && rate >= s.Most:
			s.Stopped = fmt.Sprintf("the highest rate asked for, %.4g", s.Most)
			return nil
		case s.Highest > 0:
			rate = min(rate*s.Factor, s.Most)
		case rate <= s.Least:
			s.Stopped = fmt.Sprintf("the lowest rate asked for, %.4g", s.Least)
			return nil
		default:
			rate = max(rate/s.Factor, s.Least)
		}
	}
}

// refine halves the ratio of the invalid rate and the valid one.
func (s *search) refine() error {
	if s.Highest == 0 || s.Invalid == 0 {
		return nil
	}
	for range s.Refine {
		if ok, err := s.rate(math.Sqrt(s.Highest * s.Invalid)); !ok || err != nil {
			return err
		}
	}
	return nil
}

// rate tries one rate; ok is false when the time is over.
func (s *search) rate(rate float64) (ok bool, err error) {
	for range s.Tries {
		if ok, err := s.burst(rate); !ok || err != nil {
			return false, err
		}
		if s.last().Validity.Valid {
			s.Highest = max(s.Highest, s.last().held())
			return true, nil
		}
	}
	if s.Invalid == 0 || rate < s.Invalid {
		s.Invalid = rate
	}
	return true, nil
}

// burst plays one; ok is false when there is no time for it.
func (s *search) burst(rate float64) (ok bool, err error) {
	seconds := max(s.Seconds, float64(s.Requests)/rate)
	if s.elapsed().Seconds()+seconds > s.Budget.Seconds() {
		s.Stopped = fmt.Sprintf("its time, %v", s.Budget)
		return false, nil
	}
	b := Burst{RPS: rate, Seconds: seconds, Seed: s.Seed + uint64(len(s.Bursts))}
	schedule, err := NewSchedule(Spec{Seed: b.Seed, Distribution: Poisson, RPS: rate, Seconds: seconds, Unique: 1, Shards: 1})
	if err != nil {
		return false, err
	}
	b.Requests = len(schedule.At)
	if b.Validity, b.Wall, err = s.try(schedule); err != nil {
		return false, err
	}
	s.Bursts = append(s.Bursts, b)
	return true, nil
}

package scheduler

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/kvcache"
	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Scheduler is the state of all requests.
type Scheduler struct {
	config Config
	limits model.Limits
	pool   *kvcache.Pool
	tree   *kvcache.Cache // nil: the radix cache is off

	requests map[string]*request // by rid, without the finished ones
	waiting  []*request
	chunked  *request
	running  []*request
	flight   *flight
	full     Close // nothing is admitted until a request leaves the running ones, for this reason

	newTokenRatio float64
	arrivals      uint64
	aborted       abortMemory
	records       records
	out           Output
	stats         Stats
	decodeLog     decodeLog
}

// flight is the batch that is computed.
type flight struct {
	batch    *model.Batch
	requests []*request
	extends  int // how many of requests are extends; decodes follow
}

// New makes a scheduler without requests.
func New(c Config, l model.Limits) (*Scheduler, error) {
	c, err := c.complete(l)
	if err != nil {
		return nil, err
	}
	pool, err := kvcache.NewPool(c.MaxTotalTokens, c.PageSize)
	if err != nil {
		return nil, fmt.Errorf("scheduler: max_total_tokens: %w", err)
	}
	s := &Scheduler{config: c, limits: l, pool: pool, requests: map[string]*request{}, records: newRecords(c.Records)}
	s.stats.Finished = map[string]int{}
	if !c.DisableRadixCache {
		s.tree = kvcache.New(pool)
	}
	s.newTokenRatio = s.initialRatio()
	return s, nil
}

func (s *Scheduler) initialRatio() float64 {
	return min(initNewTokenRatio*s.config.Conservativeness, 1)
}

// Schedule makes the next batch. Nil says that there is nothing to compute until
// something is received.
func (s *Scheduler) Schedule(now float64) *model.Batch {
	if s.flight != nil {
		panic("scheduler: Schedule while a batch is computed")
	}
	if len(s.running) == 0 {
		s.full = open
		if s.chunked == nil {
			s.newTokenRatio = s.initialRatio()
		}
	}
	s.flight = s.prefill(now)
	if s.flight == nil {
		s.flight = s.decode(now)
	}
	if s.flight == nil {
		return nil
	}
	for _, r := range s.flight.requests {
		r.computing = true
	}
	return s.flight.batch
}

// Finish takes the chosen tokens of the batch that Schedule gave, one entry a
// work; those of works without Sample may be zero.
func (s *Scheduler) Finish(now float64, chosen []model.Choice) error {
	f := s.flight
	if f == nil {
		panic("scheduler: Finish without a batch")
	}
	if len(chosen) != len(f.requests) {
		return fmt.Errorf("scheduler: %d choices for a batch of %d works", len(chosen), len(f.requests))
	}
	s.flight = nil
	for i, r := range f.requests {
		r.computing = false
		last := f.batch.Work[i].Sample
		r.takeInput(chosen[i], last)
		if last && r.times.PrefillFinished == 0 {
			r.times.PrefillFinished = now
		}
		switch {
		case r.pending != nil:
			r.finish = r.pending
		case !last:
			s.commit(r)
			r.state = chunked
			s.chunked = r
			continue
		default:
			s.take(r, chosen[i])
		}
		if r.finish != nil {
			s.end(now, r, true)
			continue
		}
		if i < f.extends {
			s.commit(r)
			s.running = append(s.running, r)
		}
		r.state = running
		s.row(r)
	}
	s.dropFinished()
	return nil
}

// take appends a token to the request and sees whether it ends.
func (s *Scheduler) take(r *request, c model.Choice) {
	if c.Err != nil {
		r.finish = serverError("%v", c.Err)
		return
	}
	if token := c.Token; token < 0 || token >= int64(s.limits.VocabSize) {
		r.finish = serverError("the model chose token %d, expected 0 to %d", token, s.limits.VocabSize-1)
		return
	}
	if r.in.ReturnLogprob {
		r.output = append(r.output, c.Step)
	}
	if r.maxNew == 0 {
		r.finish = &FinishReason{Type: FinishLength}
		return
	}
	r.tokens = append(r.tokens, c.Token)
	s.stats.Generated++
	s.decodeLog.generated++
	r.finish = r.check(s.limits.EOS)
}

// Fail ends all requests of the batch that Schedule gave, with status 500.
func (s *Scheduler) Fail(now float64, message string) {
	f := s.flight
	if f == nil {
		panic("scheduler: Fail without a batch")
	}
	s.flight = nil
	for _, r := range f.requests {
		r.computing = false
		r.finish = r.pending
		if r.finish == nil {
			r.finish = serverError("%s", message)
		}
		s.end(now, r, false)
	}
	s.dropFinished()
}

func serverError(format string, args ...any) *FinishReason {
	return &FinishReason{Type: FinishAbort, StatusCode: 500, ErrType: "InternalServerError", Message: fmt.Sprintf(format, args...)}
}

// end frees what the request holds and makes its last row. What it computed is
// kept for others where keep is set.
func (s *Scheduler) end(now float64, r *request, keep bool) {
	s.release(r, keep)
	if s.chunked == r {
		s.chunked = nil
	}
	r.state = finished
	delete(s.requests, r.in.RID)
	s.full = open
	s.row(r)
	s.records.finish(r.record, now, r.finish)
	s.stats.Finished[r.finish.Type]++
}

func (s *Scheduler) dropFinished() {
	s.running = slices.DeleteFunc(s.running, func(r *request) bool { return r.state == finished })
}

// Take hands over what was made since the last call.
func (s *Scheduler) Take() Output {
	out := s.out
	s.out = Output{}
	return out
}

// Idle says whether there is no request left.
func (s *Scheduler) Idle() bool { return len(s.requests) == 0 }

// Flush empties the radix cache. It does nothing and says false while there are
// requests.
func (s *Scheduler) Flush() bool {
	return s.Idle() && (s.tree == nil || s.tree.Reset())
}

// Stats are counts since the beginning, and sizes now.
type Stats struct {
	Received  int            // requests, refused ones too
	Replied   int            // of them answered with a reply
	Finished  map[string]int // rows with a finished reason, by its type
	Rows      int
	Generated int // tokens
	Retracted int
	Prefills  int // batches
	Decodes   int

	Waiting, Running int
	Used, Available  int // slots; Used are those no request could get
	Evictable        int
	Total            int
	NewTokenRatio    float64
	GenThroughput    float64 // tokens a second, of the last line about decodes
	LastRetracted    int     // requests put back in the decodes that this line is about
}

// Stats returns them; the map is a copy.
func (s *Scheduler) Stats() Stats {
	st := s.stats
	st.Finished = map[string]int{}
	for k, v := range s.stats.Finished {
		st.Finished[k] = v
	}
	st.Waiting, st.Running = len(s.waiting), len(s.running)
	st.Available, st.Evictable = s.pool.Available(), s.evictable()
	st.Used, st.Total = s.used(), s.pool.Total()
	st.NewTokenRatio = s.newTokenRatio
	return st
}

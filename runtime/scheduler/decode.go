package scheduler

import (
	"cmp"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// decode makes a batch of all running requests, after putting some back where
// there is no room; nil: none is running.
func (s *Scheduler) decode(now float64) *flight {
	if len(s.running) == 0 {
		return nil
	}
	if s.decodeNeed() > s.room() {
		s.retract()
	} else {
		initial := s.initialRatio()
		least := float64(initial * minNewTokenFactor)
		s.newTokenRatio = max(s.newTokenRatio-(initial-least)/newTokenDecaySteps, least)
	}
	f := &flight{batch: &model.Batch{Mode: model.Decode}}
	used := s.used()
	s.addDecodes(f)
	s.stats.Decodes++
	s.logDecode(now, used)
	return f
}

// decodeNeed is the number of slots that a token of each running request takes.
func (s *Scheduler) decodeNeed() int {
	need := 0
	for _, r := range s.running {
		need += s.pool.Need(len(r.slots), 1)
	}
	return need
}

func (s *Scheduler) addDecodes(f *flight) {
	for _, r := range s.running {
		start := len(r.slots)
		s.grow(r, 1)
		f.requests = append(f.requests, r)
		f.batch.Work = append(f.batch.Work, r.work(start))
	}
}

// retract puts running requests back into the queue until the others have room.
func (s *Scheduler) retract() {
	for len(s.running) > 1 && s.decodeNeed() > s.room() {
		victim := slices.MinFunc(s.running, func(a, b *request) int {
			return cmp.Or(a.generated()-b.generated(), b.prompt-a.prompt, cmp.Compare(b.arrival, a.arrival))
		})
		s.running = slices.DeleteFunc(s.running, func(r *request) bool { return r == victim })
		s.putBack(victim)
	}
	if s.decodeNeed() > s.room() && s.chunked != nil {
		s.putBack(s.chunked)
		s.chunked = nil
	}
	s.full = open
	generated, most := 0, 0
	for _, r := range s.running {
		generated += r.generated()
		most += r.maxNew
	}
	s.newTokenRatio = min(float64(generated+retractDecodeSteps*len(s.running))/float64(most+1), 1)
}

// putBack frees what the request holds and queues it by its arrival.
func (s *Scheduler) putBack(r *request) {
	s.release(r, false)
	r.state = waiting
	r.retractions++
	s.stats.Retracted++
	s.decodeLog.retracted++
	if !r.inputDone {
		r.input = nil
	}
	r.record.Retractions = r.retractions
	i := slices.IndexFunc(s.waiting, func(w *request) bool { return w.arrival > r.arrival })
	if i < 0 {
		i = len(s.waiting)
	}
	s.waiting = slices.Insert(s.waiting, i, r)
}

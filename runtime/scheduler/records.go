package scheduler

import "slices"

// PrefillBatch says what a prefill batch had and why it had no more.
type PrefillBatch struct {
	Number       int      `json:"number"` // from 1
	Time         float64  `json:"time"`
	RIDs         []string `json:"rids"`
	NewTokens    int      `json:"new_tokens"`    // computed, in whole pages
	CachedTokens int      `json:"cached_tokens"` // matched prefixes
	Close        Close    `json:"close"`
	Refused      string   `json:"refused"` // the rid at which it closed; empty: nobody was left
	Policy       Policy   `json:"policy"`  // in force, which may not be the one asked for
	Mixed        int      `json:"mixed"`   // decode tokens counted against its budgets
	Running      int      `json:"running"` // requests, before
	Queue        int      `json:"queue"`   // requests left waiting
	Room         int      `json:"room"`    // free and evictable slots, before the batch takes its own
}

// Admission is a request's part in a prefill batch.
type Admission struct {
	Batch        int     `json:"batch"` // PrefillBatch.Number
	Time         float64 `json:"time"`
	Tokens       int     `json:"tokens"` // computed
	CachedTokens int     `json:"cached_tokens"`
	Chunk        bool    `json:"chunk"` // more of the prompt is to come
}

// Record is what became of a request.
type Record struct {
	RID          string        `json:"rid"`
	Arrived      float64       `json:"arrived"`
	PromptTokens int           `json:"prompt_tokens"`
	Admissions   []Admission   `json:"admissions"`
	Refusals     map[Close]int `json:"refusals"` // batches that closed at this request, and attempts without a batch
	Retractions  int           `json:"retractions"`
	Finished     *FinishReason `json:"finished"` // nil: not yet
	FinishedTime float64       `json:"finished_time"`
}

func (r *Record) refuse(why Close) {
	if r.Refusals == nil {
		r.Refusals = map[Close]int{}
	}
	r.Refusals[why]++
}

// records has the latest requests' and batches', and those of all requests that
// have not finished.
type records struct {
	limit   int
	byRID   map[string]*Record
	ended   []*Record // the oldest first
	batches []PrefillBatch
}

func newRecords(limit int) records { return records{limit: limit, byRID: map[string]*Record{}} }

func (rs *records) begin(rid string, now float64, prompt int) *Record {
	r := &Record{RID: rid, Arrived: now, PromptTokens: prompt}
	rs.byRID[rid] = r
	return r
}

func (rs *records) finish(r *Record, now float64, why *FinishReason) {
	r.Finished, r.FinishedTime = why, now
	rs.ended = append(rs.ended, r)
	if len(rs.ended) > rs.limit {
		if old := rs.ended[0]; rs.byRID[old.RID] == old {
			delete(rs.byRID, old.RID)
		}
		rs.ended = rs.ended[1:]
	}
}

func (rs *records) finished(rid string) bool {
	r := rs.byRID[rid]
	return r != nil && r.Finished != nil
}

func (rs *records) addBatch(b PrefillBatch) {
	if len(rs.batches) == rs.limit {
		rs.batches = rs.batches[1:]
	}
	rs.batches = append(rs.batches, b)
}

// Record returns the record of the latest request with that rid.
func (s *Scheduler) Record(rid string) (Record, bool) {
	r := s.records.byRID[rid]
	if r == nil {
		return Record{}, false
	}
	out := *r
	out.Admissions = slices.Clone(r.Admissions)
	out.Refusals = map[Close]int{}
	for k, v := range r.Refusals {
		out.Refusals[k] = v
	}
	return out, true
}

// PrefillBatches returns the records of the latest prefill batches, oldest first.
func (s *Scheduler) PrefillBatches() []PrefillBatch { return slices.Clone(s.records.batches) }

// admitRecord writes down what was admitted, before its slots are taken.
func (s *Scheduler) admitRecord(now float64, a *adder, reason Close, refused *request) {
	b := PrefillBatch{
		Number: s.stats.Prefills, Time: now,
		NewTokens: a.input, CachedTokens: a.hit,
		Close: reason, Policy: a.policy,
		Mixed: a.mixed, Running: len(s.running), Queue: len(s.waiting), Room: s.room(),
	}
	if refused != nil {
		b.Refused = refused.in.RID
	}
	for _, r := range a.admitted {
		b.RIDs = append(b.RIDs, r.in.RID)
		admission := Admission{Batch: b.Number, Time: now, Tokens: r.extend, Chunk: r == a.cut}
		if r != s.chunked {
			admission.CachedTokens = len(r.slots)
		}
		r.record.Admissions = append(r.record.Admissions, admission)
	}
	s.records.addBatch(b)
	s.logPrefill(&b)
}

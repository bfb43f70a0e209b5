package scoring

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Admission is an item's part in a prefill batch.
type Admission struct {
	Batch        int     `json:"batch"`
	Time         float64 `json:"time"`
	Tokens       int     `json:"tokens"` // computed
	CachedTokens int     `json:"cached_tokens"`
	Chunk        bool    `json:"chunk"` // more of the prompt is to come
}

// Record is what became of an item.
type Record struct {
	RID          string      `json:"rid"`
	Arrived      float64     `json:"arrived"` // seconds of CLOCK_MONOTONIC
	PromptTokens int         `json:"prompt_tokens"`
	Admissions   []Admission `json:"admissions"`
	Retractions  int         `json:"retractions"`
	FinishedTime float64     `json:"finished_time"`
}

// Batch is a prefill batch, with everything that was in it.
type Batch struct {
	Number       int      `json:"number"`
	Time         float64  `json:"time"`
	RIDs         []string `json:"rids"`
	NewTokens    int      `json:"new_tokens"`
	CachedTokens int      `json:"cached_tokens"`
	Close        string   `json:"close"`
	Refused      string   `json:"refused"`
	Policy       string   `json:"policy"`
	Running      int      `json:"running"`
	Queue        int      `json:"queue"`
}

// Admissions of items, and the batches that they were in.
type Admissions struct {
	Records map[string]Record
	Batches map[int]Batch
}

// askRIDs bounds one question: the server's scheduler answers it between two steps.
const askRIDs = 4096

// Admissions asks a server of this module for the records of items, when they are
// done. An item that it does not remember is an error: the server keeps too few.
func (c Client) Admissions(ctx context.Context, rids []string) (Admissions, error) {
	all := Admissions{Records: map[string]Record{}, Batches: map[int]Batch{}}
	for part := range slices.Chunk(rids, askRIDs) {
		var answer struct {
			Records []Record `json:"records"`
			Batches []Batch  `json:"prefill_batches"`
		}
		if err := c.call(ctx, "/admissions", map[string]any{"rids": part}, &answer); err != nil {
			return Admissions{}, err
		}
		for _, r := range answer.Records {
			all.Records[r.RID] = r
		}
		for _, b := range answer.Batches {
			all.Batches[b.Number] = b
		}
	}
	missing := slices.DeleteFunc(slices.Clone(rids), func(rid string) bool { _, known := all.Records[rid]; return known })
	if len(missing) > 0 {
		return Admissions{}, fmt.Errorf("scoring: the server has no record of %d of %d items, the first %q: it remembers too few (--admission-records), or they never came", len(missing), len(rids), missing[0])
	}
	return all, nil
}

// Part of a request that went into one prefill batch.
type Part struct {
	Batch        int
	Time         float64 // when the scheduler made the batch
	Items        int     // of this request; one that is cut into chunks counts in each of its batches
	Tokens       int     // computed for them
	CachedTokens int
	All          int // items in the batch, of whatever request; 0: not known
}

// Spread is how the items of a request went through the scheduler.
type Spread struct {
	Parts        []Part  // in the order of their batches
	First, Last  float64 // arrival at the scheduler, seconds of CLOCK_MONOTONIC
	Finished     float64 // when the last item was done there
	PromptTokens int
	CachedTokens int
	Retractions  int
}

// Spread puts the records of a request's items together.
func (a Admissions) Spread(rids []string) (Spread, error) {
	var s Spread
	parts := map[int]*Part{}
	for i, rid := range rids {
		r, known := a.Records[rid]
		if !known {
			return Spread{}, fmt.Errorf("scoring: no record of item %q", rid)
		}
		if len(r.Admissions) == 0 {
			return Spread{}, fmt.Errorf("scoring: item %q was in no prefill batch", rid)
		}
		if i == 0 {
			s.First, s.Last = r.Arrived, r.Arrived
		}
		s.First, s.Last, s.Finished = min(s.First, r.Arrived), max(s.Last, r.Arrived), max(s.Finished, r.FinishedTime)
		s.PromptTokens += r.PromptTokens
		s.Retractions += r.Retractions
		for _, at := range r.Admissions {
			s.CachedTokens += at.CachedTokens
			p := parts[at.Batch]
			if p == nil {
				p = &Part{Batch: at.Batch, Time: at.Time, All: len(a.Batches[at.Batch].RIDs)}
				parts[at.Batch] = p
			}
			p.Items, p.Tokens, p.CachedTokens = p.Items+1, p.Tokens+at.Tokens, p.CachedTokens+at.CachedTokens
		}
	}
	if len(rids) == 0 {
		return Spread{}, errors.New("scoring: no item, expected at least one")
	}
	for _, p := range parts {
		s.Parts = append(s.Parts, *p)
	}
	slices.SortFunc(s.Parts, func(a, b Part) int { return a.Batch - b.Batch })
	return s, nil
}

package batchrun

import (
	"fmt"
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/results/form"
	"github.com/fanoutbench/fanoutbench/stats"
)

// measured is a trial with its requests, in their order.
type measured struct {
	Trial
	requests []Request
}

// Slot is the trial's place.
func (t Trial) Slot() Slot {
	return Slot{Round: t.Round, Cell: t.Cell, Arm: t.Arm, Position: t.Position}
}

// count fills in what the requests say of the trial.
func (t *Trial) count(requests []Request) {
	t.Requests, t.Failed, t.Unsent, t.Lateness = len(requests), 0, 0, nil
	var late []float64
	for _, r := range requests {
		if r.Error != "" {
			t.Failed++
		}
		if r.SentMS == nil {
			t.Unsent++
			continue
		}
		late = append(late, r.latenessMS())
	}
	if len(late) == 0 {
		return
	}
	slices.Sort(late)
	at := func(q float64) float64 {
		rank, _ := stats.NearestRank(len(late), q) // of at least one value there is one
		return late[rank-1]
	}
	t.Lateness = &Lateness{P50MS: at(0.5), P90MS: at(0.9), P99MS: at(0.99), MaxMS: late[len(late)-1]}
}

// latenessMS is how long after its intended time a request was sent, which was.
func (r Request) latenessMS() float64 { return *r.SentMS - r.IntendedMS }

// check holds a trial and its requests against the plan. next is the number of the
// trial.
func (p Plan) check(next int, t Trial, requests []Request) error {
	if next >= p.Len() {
		return fmt.Errorf("trial %d (%s) is surplus: the plan has %d", next+1, t.Slot(), p.Len())
	}
	if want := p.slot(next); t.Slot() != want {
		return fmt.Errorf("trial %d is %s, want %s", next+1, t.Slot(), want)
	}
	if err := t.check(); err != nil {
		return fmt.Errorf("trial %d (%s): %w", next+1, t.Slot(), err)
	}
	if want := p.RequestsOf(t.Round, t.Cell); len(requests) != want {
		return fmt.Errorf("trial %d (%s) has %d requests, the plan %d", next+1, t.Slot(), len(requests), want)
	}
	before := 0.0
	for i, r := range requests {
		err := p.checkRequest(t, i, r)
		if err == nil && r.IntendedMS < before {
			err = form.Unwanted("intended_ms", r.IntendedMS, "at least %v, that of the request before", before)
		}
		if err != nil {
			return fmt.Errorf("trial %d (%s), request %d: %w", next+1, t.Slot(), i, err)
		}
		before = r.IntendedMS
	}
	if err := p.checkParts(t, requests); err != nil {
		return fmt.Errorf("trial %d (%s): %w", next+1, t.Slot(), err)
	}
	counted := t
	counted.count(requests)
	return sameRecord(t, counted)
}

func (t Trial) check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"wall_ms", t.WallMS}, {"sender.cpu_ms", t.Sender.CPUMS}, {"sender.gc_pause_ms", t.Sender.GCPauseMS}, {"sender.gc_worst_pause_ms", t.Sender.GCWorstMS},
		{"sender.gc_pauses", float64(t.Sender.GCPauses)}, {"sender.max_in_flight", float64(t.Sender.MaxInFlight)}, {"sender.goroutines", float64(t.Sender.Goroutines)},
		{"sender.processors", float64(t.Sender.Processors)}, {"sender.connections", float64(t.Sender.Connections)}, {"sender.redialled", float64(t.Sender.Redialled)},
		{"sender.stood_in", float64(t.Sender.StoodIn)},
	} {
		if !finite(f.value) || f.value < 0 {
			return form.Unwanted(f.name, f.value, "a finite number, 0 or more")
		}
	}
	if err := t.Judged.check(); err != nil {
		return err
	}
	if err := t.Disturbance.Check(); err != nil {
		return err
	}
	switch {
	case t.StartedAt.IsZero():
		return form.Unwanted("started_at", t.StartedAt, "a time")
	case t.Valid != (len(t.Reasons) == 0):
		return form.Unwanted("reasons", t.Reasons, "some exactly where valid is false; it is %v", t.Valid)
	case !slices.Contains([]string{"", EvidenceAdmissions, EvidenceLog}, t.Evidence):
		return form.Unwanted("evidence", t.Evidence, "%q, %q or none", EvidenceAdmissions, EvidenceLog)
	}
	return nil
}

func (j *Judged) check() error {
	if j == nil {
		return nil
	}
	for _, v := range append([]float64{j.OfferedRPS, j.SentRPS, j.AnsweredRPS, j.LatenessLimitMS}, j.InFlight...) {
		if !finite(v) || v < 0 {
			return form.Unwanted("judged", v, "finite numbers, 0 or more")
		}
	}
	return nil
}

func (p Plan) checkRequest(t Trial, index int, r Request) error {
	switch {
	case r.Round != t.Round || r.Cell != t.Cell || r.Arm != t.Arm || r.Index != index:
		return form.Unwanted("place", fmt.Sprintf("round %d, cell %d, arm %s, index %d", r.Round, r.Cell, r.Arm, r.Index),
			"round %d, cell %d, arm %s, index %d", t.Round, t.Cell, t.Arm, index)
	case r.Body < 0 || r.Body >= p.UniqueRequests:
		return form.Unwanted("body", r.Body, "0 to %d", p.UniqueRequests-1)
	case r.Error == "" && (r.SentMS == nil || r.DoneMS == nil || r.Status < 200 || r.Status > 299):
		return fmt.Errorf("error is absent, but the status is %d and sent_ms or done_ms may be missing: want one of an answer, or an error", r.Status)
	case r.Status < 0 || r.Status > 999:
		return form.Unwanted("status", r.Status, "0 to 999")
	case r.PromptTokens < 0:
		return form.Unwanted("prompt_tokens", r.PromptTokens, "0 or more")
	}
	if r.ScoresSHA256 != "" {
		if err := form.CheckHash("scores_sha256", r.ScoresSHA256); err != nil {
			return err
		}
	}
	if len(r.Scores) > 0 && ScoresSHA256(r.Scores) != r.ScoresSHA256 {
		return form.Unwanted("scores_sha256", r.ScoresSHA256, "%s, that of the scores", ScoresSHA256(r.Scores))
	}
	if err := r.checkTimes(); err != nil {
		return err
	}
	return r.checkItems(p.Cells[t.Cell].Items)
}

func (r Request) checkTimes() error {
	zero := 0.0
	for _, f := range []struct {
		name  string
		value *float64
		after *float64 // what must not be later; nil: it must not be there
		what  string
	}{
		{"intended_ms", &r.IntendedMS, &zero, "the start"},
		{"sent_ms", r.SentMS, &r.IntendedMS, "intended_ms"},
		{"first_byte_ms", r.FirstByteMS, r.SentMS, "sent_ms"},
		{"done_ms", r.DoneMS, orElse(r.FirstByteMS, r.SentMS), "first_byte_ms"},
		{"score_difference", r.ScoreDifference, &zero, "none"},
		{"first_item_ms", r.FirstItemMS, &zero, "sent_ms"},
		{"last_item_ms", r.LastItemMS, orElse(r.FirstItemMS, &zero), "first_item_ms"},
		{"leading_ms", r.LeadingMS, orElse(r.FirstItemMS, &zero), "first_item_ms"},
	} {
		switch {
		case f.value == nil:
		case f.after == nil:
			return form.Unwanted(f.name, *f.value, "none without %s", f.what)
		case !finite(*f.value) || *f.value < *f.after:
			return form.Unwanted(f.name, *f.value, "a finite number, at least %v (%s)", *f.after, f.what)
		}
	}
	for name, times := range map[string][]float64{"token_ms": r.TokenMS, "chunk_ms": r.ChunkMS} {
		before := r.IntendedMS
		for _, at := range times {
			if !finite(at) || at < before {
				return form.Unwanted(name, at, "a finite number, at least %v", before)
			}
			before = at
		}
	}
	return nil
}

func (r Request) checkItems(items int) error {
	sum := 0
	for i, s := range r.Prefills {
		if s.Items < 1 || s.Items > items || s.Batch < 0 || i > 0 && s.Batch <= r.Prefills[i-1].Batch {
			return form.Unwanted(fmt.Sprintf("prefills[%d]", i), fmt.Sprintf("%d items in batch %d", s.Items, s.Batch), "1 to %d items, batches with rising numbers", items)
		}
		if at := s.AtMS; at != nil && (!finite(*at) || *at < 0) {
			return form.Unwanted(fmt.Sprintf("prefills[%d].at_ms", i), *at, "a finite number, 0 or more")
		}
		sum += s.Items
	}
	// An item whose prompt is cut into chunks is in several batches.
	if len(r.Prefills) > 0 && sum < items {
		return form.Unwanted("prefills", fmt.Sprintf("%d items", sum), "at least %d", items)
	}
	return nil
}

func orElse(a, b *float64) *float64 {
	if a != nil {
		return a
	}
	return b
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

package scheduler

import (
	"errors"
	"fmt"
	"slices"
)

// Receive takes a *TokenizedGenerateReqInput, a *BatchTokenizedGenerateReqInput
// or an *AbortReq. The message is the scheduler's from then on.
func (s *Scheduler) Receive(now float64, message any) error {
	switch m := message.(type) {
	case *TokenizedGenerateReqInput:
		if m.RID == "" {
			return errors.New("scheduler: a TokenizedGenerateReqInput has an empty rid")
		}
		s.arrive(now, m)
		return nil
	case *BatchTokenizedGenerateReqInput:
		if err := m.check(); err != nil {
			return err
		}
		for i := range m.Batch {
			s.arrive(now, &m.Batch[i])
		}
		return nil
	case *AbortReq:
		return s.abort(now, m)
	}
	return fmt.Errorf("scheduler: got a %T, expected *TokenizedGenerateReqInput, *BatchTokenizedGenerateReqInput or *AbortReq", message)
}

func (m *BatchTokenizedGenerateReqInput) check() error {
	switch {
	case m.RIDs != nil && len(m.RIDs) != len(m.Batch):
		return fmt.Errorf("scheduler: a BatchTokenizedGenerateReqInput has %d rids for %d items", len(m.RIDs), len(m.Batch))
	case m.HTTPWorkerIPCs != nil && len(m.HTTPWorkerIPCs) != len(m.Batch):
		return fmt.Errorf("scheduler: a BatchTokenizedGenerateReqInput has %d http_worker_ipcs for %d items", len(m.HTTPWorkerIPCs), len(m.Batch))
	}
	for i := range m.Batch {
		if m.Batch[i].RID == "" {
			return fmt.Errorf("scheduler: item %d of a BatchTokenizedGenerateReqInput has an empty rid", i)
		}
	}
	return nil
}

// arrive queues a request, or refuses it.
func (s *Scheduler) arrive(now float64, in *TokenizedGenerateReqInput) {
	s.stats.Received++
	if s.requests[in.RID] != nil {
		// A row would end the first request of that rid in its detokenizer.
		s.stats.Replied++
		s.out.Aborts = append(s.out.Aborts, AbortReq{
			RID: in.RID, HTTPWorkerIPC: in.HTTPWorkerIPC,
			FinishedReason: badRequest("rid %q is a request's that has not finished, expected another", in.RID),
		})
		return
	}
	s.arrivals++
	r := newRequest(in, s.arrivals)
	r.times.WaitQueueEntry = now
	r.record = s.records.begin(in.RID, now, r.prompt)
	if r.finish = s.refusal(now, r); r.finish != nil {
		r.refused = true
		s.end(now, r, false)
		return
	}
	r.maxNew = min(r.maxNew, s.maxLength()-r.prompt)
	if len(in.SamplingParams.Stop) > 0 {
		r.stop = newStopper(s.config.Decoder, &in.SamplingParams, slices.Clone(r.promptTail()))
	}
	s.requests[in.RID] = r
	s.waiting = append(s.waiting, r)
}

// maxLength is how many tokens a request can have, so that it fits alone.
func (s *Scheduler) maxLength() int {
	return min(s.limits.ContextLength, s.pool.Total()) - 1
}

// refusal says why the request cannot be served; nil: it can.
func (s *Scheduler) refusal(now float64, r *request) *FinishReason {
	in, p := r.in, &r.in.SamplingParams
	switch {
	case r.prompt == 0:
		return badRequest("input_ids is empty, expected at least one id")
	case p.MaxNewTokens < 0:
		return badRequest("max_new_tokens is %d, expected at least 0", p.MaxNewTokens)
	case r.prompt > s.maxLength()-min(p.MaxNewTokens, 1): // room for one new token, if any
		return badRequest("input_ids has %d ids, expected at most %d", r.prompt, s.maxLength()-min(p.MaxNewTokens, 1))
	case p.StreamInterval < 0:
		return badRequest("stream_interval is %d, expected at least 0", p.StreamInterval)
	case in.LogprobStartLen < -1 || in.LogprobStartLen > r.prompt:
		return badRequest("logprob_start_len is %d, expected -1 to %d", in.LogprobStartLen, r.prompt)
	case in.TopLogprobsNum < 0 || in.TopLogprobsNum > s.limits.VocabSize:
		return badRequest("top_logprobs_num is %d, expected 0 to %d", in.TopLogprobsNum, s.limits.VocabSize)
	}
	if reason := s.config.checkStop(p.Stop); reason != nil {
		return reason
	}
	for _, list := range []struct {
		name string
		ids  []int64
	}{{"input_ids", in.InputIDs}, {"token_ids_logprob", in.TokenIDsLogprob}} {
		for i, id := range list.ids {
			if id < 0 || id >= int64(s.limits.VocabSize) {
				return badRequest("%s[%d] is %d, expected 0 to %d", list.name, i, id, s.limits.VocabSize-1)
			}
		}
	}
	if s.config.Check != nil {
		if err := s.config.Check(in); err != nil {
			return badRequest("%v", err)
		}
	}
	if n := s.config.MaxQueuedRequests; n > 0 && len(s.waiting) >= n {
		return &FinishReason{
			Type: FinishAbort, StatusCode: 503, ErrType: "ServiceUnavailable",
			Message: fmt.Sprintf("the queue is full: %d of max_queued_requests %d", len(s.waiting), n),
		}
	}
	if reason := s.aborted.take(now, in.RID); reason != nil {
		return reason
	}
	return nil
}

func badRequest(format string, args ...any) *FinishReason {
	return &FinishReason{Type: FinishAbort, StatusCode: 400, ErrType: "BadRequestError", Message: fmt.Sprintf(format, args...)}
}

package scheduler

import "github.com/fanoutbench/fanoutbench/runtime/model"

// row appends the request's row to the output, where the step has one.
func (s *Scheduler) row(r *request) {
	if r.finish == nil && !s.due(r) {
		return
	}
	if s.out.Rows == nil {
		s.out.Rows = &BatchTokenIDOutput{}
	}
	s.stats.Rows++
	b, p := s.out.Rows, &r.in.SamplingParams
	end := r.sendable()
	decode, readOffset := r.decodeIDs(end)
	b.RIDs = append(b.RIDs, r.in.RID)
	b.HTTPWorkerIPCs = append(b.HTTPWorkerIPCs, r.in.HTTPWorkerIPC)
	b.FinishedReasons = append(b.FinishedReasons, r.finish)
	b.DecodedTexts = append(b.DecodedTexts, "")
	b.DecodeIDs = append(b.DecodeIDs, decode)
	b.ReadOffsets = append(b.ReadOffsets, readOffset)
	b.OutputIDs = append(b.OutputIDs, r.fresh(end))
	b.SkipSpecialTokens = append(b.SkipSpecialTokens, p.SkipSpecialTokens)
	b.SpacesBetweenSpecialTokens = append(b.SpacesBetweenSpecialTokens, p.SpacesBetweenSpecialTokens)
	b.NoStopTrim = append(b.NoStopTrim, p.NoStopTrim)
	b.PromptTokens = append(b.PromptTokens, r.prompt)
	b.ReasoningTokens = append(b.ReasoningTokens, 0)
	b.CompletionTokens = append(b.CompletionTokens, end-r.prompt)
	b.CachedTokens = append(b.CachedTokens, r.cached)
	b.RetractionCounts = append(b.RetractionCounts, r.retractions)
	b.Row = append(b.Row, r.rows)
	b.TimeStats = append(b.TimeStats, r.times)
	b.addLogprobs(r, end)
	if r.stop != nil {
		r.stop.ends = r.stop.ends[end-max(r.sent, r.prompt):]
	}
	r.sent = end
	r.rows++
}

// sendable is the end of the tokens that a row may have: all, or those that no
// stop string holds back.
func (r *request) sendable() int {
	if r.finish != nil || r.stop == nil {
		return len(r.tokens)
	}
	return max(r.sent, r.prompt) + r.stop.free()
}

// due says whether a request that goes on has a row with its last token.
func (s *Scheduler) due(r *request) bool {
	if r.sendable() == max(r.sent, r.prompt) {
		return false
	}
	n := r.generated()
	if !r.in.Stream {
		return n%forcedOutputInterval == 0
	}
	interval := r.in.SamplingParams.StreamInterval
	if interval == 0 {
		interval = s.config.StreamInterval
	}
	return interval == 1 || n%interval == 1
}

// decodeIDs are the ids for the detokenizer since the last row, in the first row
// with the end of the prompt before them, and how many ids of the prompt a first
// row has. A refused request's prompt is left out: its ids may be any.
func (r *request) decodeIDs(end int) ([]int64, int) {
	if r.refused {
		return nil, 0
	}
	tail := min(promptTail, r.prompt)
	if r.sent == 0 {
		return r.tokens[r.prompt-tail : end : end], tail
	}
	return r.fresh(end), tail
}

// fresh are the generated ids since the last row.
func (r *request) fresh(end int) []int64 { return r.tokens[max(r.sent, r.prompt):end:end] }

// addLogprobs fills the columns of logprobs, which begin with the first row that
// has any.
func (b *BatchTokenIDOutput) addLogprobs(r *request, end int) {
	rows := len(b.RIDs)
	if r.in.ReturnLogprob && b.OutputLogprobs == nil {
		b.InputLogprobs = make([][]model.Position, rows-1, rows)
		b.OutputLogprobs = make([][]model.Position, rows-1, rows)
	}
	if b.OutputLogprobs == nil {
		return
	}
	var in []model.Position
	if r.inputDone && !r.inputSent {
		in, r.inputSent = r.input, true
	}
	b.InputLogprobs = append(b.InputLogprobs, in)
	n := len(r.output)
	if r.finish == nil {
		n = min(n, end-r.prompt) // held back as their tokens are
	}
	b.OutputLogprobs = append(b.OutputLogprobs, r.output[r.outputSent:n:n])
	r.outputSent = n
}

package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func (s *script) receive(message any) error {
	if err := s.s.Receive(s.now, message); err != nil {
		s.say("error: %v", err)
	}
	s.take()
	return nil
}

func (s *script) steps(f []string) error {
	n := 1
	if len(f) > 0 {
		var err error
		if n, err = strconv.Atoi(f[0]); err != nil {
			return err
		}
	}
	for range n {
		s.start()
		if s.batch == nil {
			return nil
		}
		if err := s.finish(); err != nil {
			return err
		}
	}
	return nil
}

// start makes a batch; each takes half a second.
func (s *script) start() {
	s.now += 0.5
	s.batch = s.s.Schedule(s.now)
	if s.batch == nil {
		s.say("nothing to do")
	} else {
		s.say("%s", showBatch(s.batch))
	}
	s.take()
}

func showBatch(b *model.Batch) string {
	text := b.Mode.String()
	for _, w := range b.Work {
		end := ""
		if !w.Sample {
			end = ".."
		}
		text += fmt.Sprintf(" %s[%d+%d%s]", w.RID, w.Start, len(w.IDs), end)
	}
	return text
}

func (s *script) finish() error {
	if s.batch == nil {
		return errors.New("no batch to finish")
	}
	if _, err := s.m.Forward(s.batch); err != nil {
		return err
	}
	chosen := make([]model.Choice, len(s.batch.Work))
	for i, w := range s.batch.Work {
		if w.Sample {
			chosen[i].Token = w.IDs[len(w.IDs)-1] + 1
			chosen[i].Step.Token.ID = chosen[i].Token
		}
		if w.Logprobs.Want {
			chosen[i].Input = inputPositions(w)
		}
	}
	s.batch = nil
	if err := s.s.Finish(s.now, chosen); err != nil {
		return err
	}
	s.take()
	return nil
}

// take shows what there is: log lines, replies, rows.
func (s *script) take() {
	out := s.s.Take()
	for _, line := range out.Log {
		s.say("%s", line)
	}
	for _, a := range out.Aborts {
		s.say("reply %s to %s: %s", a.RID, a.HTTPWorkerIPC, showReason(a.FinishedReason))
	}
	if out.Rows == nil {
		return
	}
	for i := range out.Rows.Len() {
		s.say("%s", showRow(out.Rows, i))
	}
}

func showRow(b *BatchTokenIDOutput, i int) string {
	text := fmt.Sprintf("row %s.%d to %s: output %v, decode %v, read %d, tokens %d+%d, cached %d",
		b.RIDs[i], b.Row[i], b.HTTPWorkerIPCs[i], b.OutputIDs[i], b.DecodeIDs[i], b.ReadOffsets[i], b.PromptTokens[i], b.CompletionTokens[i], b.CachedTokens[i])
	if n := b.RetractionCounts[i]; n > 0 {
		text += fmt.Sprintf(", retracted %d", n)
	}
	if b.OutputLogprobs != nil {
		text += fmt.Sprintf(", logprobs %s and %s", showPositions(b.InputLogprobs[i]), showPositions(b.OutputLogprobs[i]))
	}
	if b.FinishedReasons[i] != nil {
		text += ", " + showReason(b.FinishedReasons[i])
	}
	return text
}

func showPositions(ps []model.Position) string {
	var ids []string
	for _, p := range ps {
		id := strconv.FormatInt(p.Token.ID, 10)
		if p.Null {
			id += "(null)"
		}
		ids = append(ids, id)
	}
	return "[" + strings.Join(ids, " ") + "]"
}

func showReason(r *FinishReason) string {
	switch r.Type {
	case FinishStop:
		if r.MatchedText != "" {
			return fmt.Sprintf("stop %q", r.MatchedText)
		}
		return fmt.Sprintf("stop %d", r.Matched)
	case FinishLength:
		return fmt.Sprintf("length %d", r.Length)
	}
	if r.StatusCode == 0 {
		return fmt.Sprintf("%s: %s", r.Type, r.Message)
	}
	return fmt.Sprintf("%s %d %s: %s", r.Type, r.StatusCode, r.ErrType, r.Message)
}

func (s *script) record(rid string) {
	r, ok := s.s.Record(rid)
	if !ok {
		s.say("no record of %s", rid)
		return
	}
	s.say("arrived %.1f, prompt %d, retracted %d", r.Arrived, r.PromptTokens, r.Retractions)
	for _, a := range r.Admissions {
		s.say("in batch %d at %.1f: %d tokens, %d cached, chunk %t", a.Batch, a.Time, a.Tokens, a.CachedTokens, a.Chunk)
	}
	var refusals []string
	for why, n := range r.Refusals {
		refusals = append(refusals, fmt.Sprintf("refused for %s: %d", why, n))
	}
	slices.Sort(refusals)
	s.said = append(s.said, refusals...)
	if r.Finished != nil {
		s.say("finished at %.1f: %s", r.FinishedTime, showReason(r.Finished))
	}
}

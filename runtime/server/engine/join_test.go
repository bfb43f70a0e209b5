package engine

import (
	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// join takes row i as a detokenizer and an HTTP worker would.
func (s *server) join(b *wire.BatchTokenIDOutput, i int) {
	s.t.Helper()
	rid := b.RIDs[i]
	r := s.got[rid]
	if r == nil {
		r = &result{}
		s.got[rid] = r
	}
	if r.finish != nil {
		s.t.Errorf("rid %s has a row behind its last one", rid)
	}
	if n := s.rowNumber(b, i); n != int64(r.rows) {
		s.t.Errorf("rid %s: row number %d, want %d", rid, n, r.rows)
	}
	r.rows++
	r.finish = b.FinishedReasons[i]
	r.ids = append(r.ids, b.OutputIDs[i].V.Values...)
	r.prompt, r.cached, r.completion = b.PromptTokens[i].V, b.CachedTokens[i].V, b.CompletionTokens[i].V
	r.retractions = b.RetractionCounts[i].V
	if int(r.completion) != len(r.ids) {
		s.t.Errorf("rid %s: completion_tokens %d with %d ids", rid, r.completion, len(r.ids))
	}
	r.in.add(b.InputTokenLogprobsVal, b.InputTokenLogprobsIdx, b.InputTopLogprobsVal, b.InputTopLogprobsIdx, b.InputTokenIDsLogprobsVal, b.InputTokenIDsLogprobsIdx, i)
	r.out.add(b.OutputTokenLogprobsVal, b.OutputTokenLogprobsIdx, b.OutputTopLogprobsVal, b.OutputTopLogprobsIdx, b.OutputTokenIDsLogprobsVal, b.OutputTokenIDsLogprobsIdx, i)
	r.times = s.timesOf(b, i)
	s.detokenize(r, b, i)
}

func (s *server) rowNumber(b *wire.BatchTokenIDOutput, i int) int64 {
	s.t.Helper()
	info, err := b.CustomizedInfo.Open()
	if err != nil || b.CustomizedInfo.Wrapper != wire.MsgpackWrapper {
		s.t.Fatalf("customized_info: %v, wrapper %q", err, b.CustomizedInfo.Wrapper)
	}
	numbers, _ := info.(wire.Map).Get("row")
	return numbers.([]wire.Value)[i].(int64)
}

func (s *server) timesOf(b *wire.BatchTokenIDOutput, i int) wire.Map {
	s.t.Helper()
	stats, err := b.TimeStats.Open()
	if err != nil || b.TimeStats.Wrapper != wire.MsgpackWrapper {
		s.t.Fatalf("time_stats: %v, wrapper %q", err, b.TimeStats.Wrapper)
	}
	return stats.([]wire.Value)[i].(wire.Map)
}

func (s *server) detokenize(r *result, b *wire.BatchTokenIDOutput, i int) {
	s.t.Helper()
	row := detokenizer.Row{
		RID: b.RIDs[i], DecodeIDs: b.DecodeIDs[i].V.Values, ReadOffset: int(b.ReadOffsets[i].V), DecodedText: []byte(b.DecodedTexts[i].V),
		SkipSpecial: b.SkipSpecialTokens[i].V, SpacesBetween: b.SpacesBetweenSpecialTokens[i].V, NoStopTrim: b.NoStopTrim[i].V,
	}
	if r.finish != nil {
		row.Finish.Done = true
		matched, _ := r.finish.Get("matched")
		row.Finish.MatchedText, _ = matched.(string)
		_, row.Finish.MatchedToken = matched.(int64)
	}
	var err error
	if r.text, err = s.detok.Append(r.text, row); err != nil {
		s.t.Error(err)
	}
}

func (c *columns) add(val [][]wire.Opt[float64], idx [][]wire.Opt[int64], topVal [][][]wire.Opt[float64], topIdx [][][]wire.Opt[int64], idsVal [][][]wire.Opt[float64], idsIdx [][][]wire.Opt[int64], i int) {
	if val == nil {
		return
	}
	c.val = append(c.val, val[i]...)
	for _, list := range topVal[i] {
		if list == nil {
			c.nullTops++
		}
	}
	for _, id := range idx[i] {
		c.idx = append(c.idx, id.V)
	}
	c.topVals, c.topIdx = append(c.topVals, plain(topVal[i])...), append(c.topIdx, plain(topIdx[i])...)
	c.idsVals, c.idsIdx = append(c.idsVals, plain(idsVal[i])...), append(c.idsIdx, plain(idsIdx[i])...)
}

// plain takes the values out; null is an empty list.
func plain[T any](in [][]wire.Opt[T]) [][]T {
	var out [][]T
	for _, list := range in {
		var values []T
		for _, v := range list {
			values = append(values, v.V)
		}
		out = append(out, values)
	}
	return out
}

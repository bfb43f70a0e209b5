package engine

import (
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// encodeRows appends the frame of a batch's rows to dst.
func encodeRows(dst []byte, rows *scheduler.BatchTokenIDOutput) ([]byte, error) {
	b, err := toWire(rows)
	if err != nil {
		return dst, err
	}
	return wire.Encode(dst, b)
}

func toWire(rows *scheduler.BatchTokenIDOutput) (*wire.BatchTokenIDOutput, error) {
	b := &wire.BatchTokenIDOutput{
		RIDs:                       rows.RIDs,
		HTTPWorkerIPCs:             column(rows.HTTPWorkerIPCs, orNull),
		FinishedReasons:            column(rows.FinishedReasons, reasonOut),
		DecodedTexts:               wire.Somes(rows.DecodedTexts),
		DecodeIDs:                  column(rows.DecodeIDs, ids),
		ReadOffsets:                column(rows.ReadOffsets, number),
		OutputIDs:                  column(rows.OutputIDs, ids),
		SkipSpecialTokens:          wire.Somes(rows.SkipSpecialTokens),
		SpacesBetweenSpecialTokens: wire.Somes(rows.SpacesBetweenSpecialTokens),
		NoStopTrim:                 wire.Somes(rows.NoStopTrim),
		PromptTokens:               column(rows.PromptTokens, number),
		ReasoningTokens:            column(rows.ReasoningTokens, number),
		CompletionTokens:           column(rows.CompletionTokens, number),
		CachedTokens:               column(rows.CachedTokens, number),
		RetractionCounts:           column(rows.RetractionCounts, number),
	}
	if rows.OutputLogprobs != nil {
		addLogprobs(b, rows)
	}
	var err error
	numbers := column(rows.Row, func(n int) wire.Value { return int64(n) })
	if b.CustomizedInfo, err = wire.Wrap(wire.Map{{Key: "row", Value: numbers}}); err != nil {
		return nil, err
	}
	b.TimeStats, err = wire.Wrap(column(rows.TimeStats, timing))
	return b, err
}

// column makes each value of a column.
func column[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, v := range in {
		out[i] = f(v)
	}
	return out
}

func number(n int) wire.Opt[int64] { return wire.Some(int64(n)) }

func ids(v []int64) wire.Opt[wire.IntArray] { return wire.Some(wire.IntArray{Values: v}) }

func orNull(text string) wire.Opt[string] { return wire.Opt[string]{V: text, OK: text != ""} }

func reasonOut(r *scheduler.FinishReason) wire.Map {
	if r == nil {
		return nil
	}
	m := wire.Map{{Key: "type", Value: r.Type}}
	switch r.Type {
	case scheduler.FinishStop:
		var matched wire.Value = r.Matched
		if r.MatchedText != "" {
			matched = r.MatchedText
		}
		return append(m, wire.Pair{Key: "matched", Value: matched})
	case scheduler.FinishLength:
		return append(m, wire.Pair{Key: "length", Value: int64(r.Length)})
	}
	var status, errType wire.Value
	if r.StatusCode != 0 {
		status = int64(r.StatusCode)
	}
	if r.ErrType != "" {
		errType = r.ErrType
	}
	return append(m, wire.Pair{Key: "message", Value: r.Message}, wire.Pair{Key: "status_code", Value: status}, wire.Pair{Key: "err_type", Value: errType})
}

func timing(t scheduler.TimeStats) wire.Value {
	queued := 0.0
	if t.ForwardEntry != 0 {
		queued = t.ForwardEntry - t.WaitQueueEntry
	}
	return wire.Map{
		{Key: "has_timing_data", Value: t.ForwardEntry != 0},
		{Key: "wait_queue_entry_time", Value: t.WaitQueueEntry},
		{Key: "forward_entry_time", Value: t.ForwardEntry},
		{Key: "prefill_finished_time", Value: t.PrefillFinished},
		{Key: "queue_duration_s", Value: queued},
	}
}

func addLogprobs(b *wire.BatchTokenIDOutput, rows *scheduler.BatchTokenIDOutput) {
	in, out := rows.InputLogprobs, rows.OutputLogprobs
	b.InputTokenLogprobsVal, b.InputTokenLogprobsIdx = column(in, tokenVals), column(in, tokenIDs)
	b.OutputTokenLogprobsVal, b.OutputTokenLogprobsIdx = column(out, tokenVals), column(out, tokenIDs)
	b.InputTopLogprobsVal, b.InputTopLogprobsIdx = nested(in, top)
	b.OutputTopLogprobsVal, b.OutputTopLogprobsIdx = nested(out, top)
	b.InputTokenIDsLogprobsVal, b.InputTokenIDsLogprobsIdx = nested(in, given)
	b.OutputTokenIDsLogprobsVal, b.OutputTokenIDsLogprobsIdx = nested(out, given)
}

func tokenVals(row []model.Position) []wire.Opt[float64] {
	return column(row, func(p model.Position) wire.Opt[float64] { return wire.Opt[float64]{V: p.Token.Val, OK: !p.Null} })
}

func tokenIDs(row []model.Position) []wire.Opt[int64] {
	return column(row, func(p model.Position) wire.Opt[int64] { return wire.Some(p.Token.ID) })
}

func top(p *model.Position) []model.TokenLogprob { return p.Top }

func given(p *model.Position) []model.TokenLogprob { return p.IDs }

// nested makes two columns, of values and of ids, of the tokens that of takes
// from each position.
func nested(rows [][]model.Position, of func(*model.Position) []model.TokenLogprob) (vals [][][]wire.Opt[float64], idx [][][]wire.Opt[int64]) {
	for _, row := range rows {
		rowVals, rowIdx := [][]wire.Opt[float64]{}, [][]wire.Opt[int64]{}
		asked := false
		for i := range row {
			tokens := of(&row[i])
			asked = asked || len(tokens) > 0
			if row[i].Null {
				rowVals, rowIdx = append(rowVals, nil), append(rowIdx, nil)
				continue
			}
			rowVals = append(rowVals, column(tokens, func(t model.TokenLogprob) wire.Opt[float64] { return wire.Some(t.Val) }))
			rowIdx = append(rowIdx, column(tokens, func(t model.TokenLogprob) wire.Opt[int64] { return wire.Some(t.ID) }))
		}
		if !asked {
			rowVals, rowIdx = [][]wire.Opt[float64]{}, [][]wire.Opt[int64]{}
		}
		vals, idx = append(vals, rowVals), append(idx, rowIdx)
	}
	return vals, idx
}

// between are the rows from one number to another, without copies.
func between(rows *scheduler.BatchTokenIDOutput, from, to int) *scheduler.BatchTokenIDOutput {
	some := &scheduler.BatchTokenIDOutput{
		RIDs:                       rows.RIDs[from:to],
		HTTPWorkerIPCs:             rows.HTTPWorkerIPCs[from:to],
		FinishedReasons:            rows.FinishedReasons[from:to],
		DecodedTexts:               rows.DecodedTexts[from:to],
		DecodeIDs:                  rows.DecodeIDs[from:to],
		ReadOffsets:                rows.ReadOffsets[from:to],
		OutputIDs:                  rows.OutputIDs[from:to],
		SkipSpecialTokens:          rows.SkipSpecialTokens[from:to],
		SpacesBetweenSpecialTokens: rows.SpacesBetweenSpecialTokens[from:to],
		NoStopTrim:                 rows.NoStopTrim[from:to],
		PromptTokens:               rows.PromptTokens[from:to],
		ReasoningTokens:            rows.ReasoningTokens[from:to],
		CompletionTokens:           rows.CompletionTokens[from:to],
		CachedTokens:               rows.CachedTokens[from:to],
		RetractionCounts:           rows.RetractionCounts[from:to],
		Row:                        rows.Row[from:to],
		TimeStats:                  rows.TimeStats[from:to],
	}
	if rows.OutputLogprobs != nil {
		some.InputLogprobs, some.OutputLogprobs = rows.InputLogprobs[from:to], rows.OutputLogprobs[from:to]
	}
	return some
}

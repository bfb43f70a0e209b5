package engine

import (
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// kept is a Push that keeps what it is given.
type kept struct {
	transport.Push
	frames [][]byte
}

func (k *kept) Send(frame []byte) error {
	k.frames = append(k.frames, slices.Clone(frame))
	return nil
}

// Rows whose log-probabilities are too large for one message go as several, in order and
// whole: no client's wish ends the server.
func TestLargeRowsAreSeveralMessages(t *testing.T) {
	const n, tokens = 5, 1 << 20
	top := make([]model.TokenLogprob, tokens)
	for i := range top {
		top[i] = model.TokenLogprob{ID: int64(i), Val: -0.1}
	}
	rows := &scheduler.BatchTokenIDOutput{}
	for i := range n {
		rows.RIDs = append(rows.RIDs, string(rune('a'+i)))
		rows.OutputIDs = append(rows.OutputIDs, []int64{int64(i)})
		rows.OutputLogprobs = append(rows.OutputLogprobs, []model.Position{{Top: top}})
	}
	rows.HTTPWorkerIPCs, rows.DecodedTexts = make([]string, n), make([]string, n)
	rows.FinishedReasons, rows.DecodeIDs, rows.TimeStats = make([]*scheduler.FinishReason, n), make([][]int64, n), make([]scheduler.TimeStats, n)
	rows.SkipSpecialTokens, rows.SpacesBetweenSpecialTokens, rows.NoStopTrim = make([]bool, n), make([]bool, n), make([]bool, n)
	rows.ReadOffsets, rows.PromptTokens, rows.ReasoningTokens, rows.CompletionTokens = make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	rows.CachedTokens, rows.RetractionCounts, rows.Row = make([]int, n), make([]int, n), make([]int, n)
	rows.InputLogprobs = make([][]model.Position, n)
	k := &kept{}
	if err := (&engine{rows: k}).sendPart(rows); err != nil {
		t.Fatal(err)
	}
	got, ids := "", 0
	for _, frame := range k.frames {
		if len(frame) > maxRowsFrame {
			t.Errorf("a message of %d bytes, want at most %d", len(frame), maxRowsFrame)
		}
		b, err := wire.Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		batch := b.(*wire.BatchTokenIDOutput)
		for i, rid := range batch.RIDs {
			got += rid
			ids += len(batch.OutputTopLogprobsIdx[i][0])
		}
	}
	if got != "abcde" || ids != n*tokens {
		t.Errorf("rows %s with %d log-probabilities, want abcde and %d", got, ids, n*tokens)
	}
}

package engine

import (
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

// decodeStep is the rows of a step of n requests that stream.
func decodeStep(n int) *scheduler.BatchTokenIDOutput {
	b := &scheduler.BatchTokenIDOutput{}
	for i := range n {
		b.RIDs = append(b.RIDs, fmt.Sprintf("5f0c2a60-7d1b-4b8e-9f5e-%012d", i))
		b.HTTPWorkerIPCs = append(b.HTTPWorkerIPCs, "ipc:///tmp/fanoutserve/worker-0")
		b.FinishedReasons = append(b.FinishedReasons, nil)
		b.DecodedTexts = append(b.DecodedTexts, "")
		b.DecodeIDs, b.OutputIDs = append(b.DecodeIDs, []int64{101}), append(b.OutputIDs, []int64{101})
		b.ReadOffsets = append(b.ReadOffsets, 5)
		b.SkipSpecialTokens, b.SpacesBetweenSpecialTokens, b.NoStopTrim = append(b.SkipSpecialTokens, true), append(b.SpacesBetweenSpecialTokens, true), append(b.NoStopTrim, false)
		b.PromptTokens, b.ReasoningTokens, b.CompletionTokens = append(b.PromptTokens, 100), append(b.ReasoningTokens, 0), append(b.CompletionTokens, 64)
		b.CachedTokens, b.RetractionCounts, b.Row = append(b.CachedTokens, 7), append(b.RetractionCounts, 0), append(b.Row, 63)
		b.TimeStats = append(b.TimeStats, scheduler.TimeStats{WaitQueueEntry: 1000.25, ForwardEntry: 1000.5, PrefillFinished: 1001.125})
	}
	return b
}

// BenchmarkEncodeRows is a decode step of 1,000 streams.
func BenchmarkEncodeRows(b *testing.B) {
	rows := decodeStep(1000)
	var frame []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if frame, err = encodeRows(frame[:0], rows); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(frame)))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

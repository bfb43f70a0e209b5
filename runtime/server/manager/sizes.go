package manager

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// logCuts writes the sizes of a batch's parts.
func (m *Manager) logCuts(tokens, ends []int) {
	if !m.config.Log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	reqs, sums, start := make([]int, len(ends)), make([]int, len(ends)), 0
	for i, end := range ends {
		reqs[i] = end - start
		for _, n := range tokens[start:end] {
			sums[i] += n
		}
		start = end
	}
	m.config.Log.Debug("Batch send", "reqs", reqs, "tokens", sums)
}

func tooLarge(r request.Message, size, limit int) string {
	if b, ok := r.(*request.BatchTokenizedGenerateReqInput); ok {
		return fmt.Sprintf("a batch of %d items is a message of %d bytes, expected at most %d; batch-send-max-tokens cuts batches", len(b.Batch), size, limit)
	}
	return fmt.Sprintf("the request is a message of %d bytes, expected at most %d", size, limit)
}

package cpu

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// answerRows are the positions whose logits are computed at a time.
const answerRows = 64

// answers are what the sampler makes of logits.
type answers struct {
	logits []float32 // [answerRows, VocabSize]
	chosen []model.Choice
}

// begin makes room for so many works' choices.
func (a *answers) begin(n int) {
	a.chosen = slices.Grow(a.chosen[:0], n)[:n]
	clear(a.chosen)
}

// answer computes the logits of the tokens that are left, and hands them to the sampler
// in their order.
func (m *Model) answer(b *model.Batch) error {
	wide, vocabulary := m.config.HiddenSize, m.config.VocabSize
	rows := len(m.logits) / vocabulary
	for from := 0; from < len(m.tokens); from += rows {
		n := min(rows, len(m.tokens)-from)
		m.multiply(n, m.x[from*wide:], product{w: &m.weights.head, out: m.logits, rows: m.config.Tokens})
		for i := range n {
			logits, ask := row(m.logits, i, vocabulary), m.tokens[from+i].Asked
			m.config.HidePadding(logits)
			if err := ask.Take(m.sampler, &m.chosen[ask.Work], &b.Work[ask.Work], logits); err != nil {
				return fmt.Errorf("cpu: rid %q: %w", b.Work[ask.Work].RID, err)
			}
		}
	}
	return nil
}

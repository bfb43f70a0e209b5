package cpu

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// answerRows are the positions whose logits are computed at a time.
const answerRows = 64

// asked is what a token's position is to say: of the input token behind it, or which is
// to be there.
type asked struct {
	work   int // in the batch
	next   int64
	input  bool
	choose bool
}

// asks is what the work, one of the batch, asks at the position of its ith token.
func asks(b *model.Batch, work, i int) asked {
	w := &b.Work[work]
	next, last := w.Next, i == len(w.IDs)-1
	if !last {
		next = w.IDs[i+1]
	}
	return asked{work, next, w.Logprobs.Want && w.Start+i >= w.Logprobs.InputStart && next >= 0, last && w.Sample}
}

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
			logits, ask := row(m.logits, i, vocabulary), m.tokens[from+i].asked
			m.config.HidePadding(logits)
			if err := m.take(&m.chosen[ask.work], &b.Work[ask.work], ask, logits); err != nil {
				return fmt.Errorf("cpu: rid %q: %w", b.Work[ask.work].RID, err)
			}
		}
	}
	return nil
}

// take adds to a choice what a position says.
func (m *Model) take(c *model.Choice, w *model.Work, ask asked, logits []float32) error {
	if ask.input {
		p, err := m.sampler.Logprobs(logits, ask.next, w.Logprobs)
		if err != nil {
			return err
		}
		c.Input = append(c.Input, p)
	}
	if ask.choose {
		chosen, err := m.sampler.Choose(w, logits)
		if err != nil {
			return err
		}
		c.Token, c.Step, c.Err = chosen.Token, chosen.Step, chosen.Err
	}
	return nil
}

package cpu

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// answerRows are the positions whose logits are computed at a time.
const answerRows = 64

// answers are what is asked for of some positions, and the logits there.
type answers struct {
	asked  []asked
	last   []float32 // [answerRows, HiddenSize], what the head is given
	logits []float32 // [answerRows, VocabSize]
	chosen []model.Choice
}

// asked is what a position is to say: of the input token behind it, or which is to be
// there.
type asked struct {
	work   int
	next   int64
	input  bool
	choose bool
}

func newAnswers(c qwen3.Config, m *memory) answers {
	return answers{
		asked: make([]asked, 0, answerRows), last: m.floats(answerRows * c.HiddenSize), logits: m.floats(answerRows * c.VocabSize),
	}
}

// begin makes room for so many works' choices.
func (a *answers) begin(n int) {
	a.chosen = slices.Grow(a.chosen[:0], n)[:n]
	clear(a.chosen)
}

// answer lets the sampler see the logits of the positions that are asked for.
func (m *Model) answer(b *model.Batch) error {
	a, n := &m.answers, m.config.HiddenSize
	a.asked = a.asked[:0]
	for i := range m.tokens {
		ask := asks(b, &m.tokens[i])
		if !ask.input && !ask.choose {
			continue
		}
		copy(row(a.last, len(a.asked), n), row(m.x, i, n))
		a.asked = append(a.asked, ask)
		if len(a.asked) == cap(a.asked) {
			if err := m.sample(b); err != nil {
				return err
			}
		}
	}
	return m.sample(b)
}

func asks(b *model.Batch, t *token) asked {
	w := &b.Work[t.work]
	next, last := w.Next, t.position+1 == len(w.Slots)
	if !last {
		next = w.IDs[t.position+1-w.Start]
	}
	return asked{
		work: t.work, next: next,
		input:  w.Logprobs.Want && t.position >= w.Logprobs.InputStart && next >= 0,
		choose: last && w.Sample,
	}
}

// sample computes the logits at hand, and hands them to the sampler in their order.
func (m *Model) sample(b *model.Batch) error {
	a, n := &m.answers, len(m.answers.asked)
	if n == 0 {
		return nil
	}
	m.multiply(n, a.last, product{w: &m.weights.head, out: a.logits, rows: m.config.Tokens})
	for i, ask := range a.asked {
		logits := row(a.logits, i, m.config.VocabSize)
		m.config.HidePadding(logits)
		if err := m.take(&m.answers.chosen[ask.work], &b.Work[ask.work], ask, logits); err != nil {
			return fmt.Errorf("cpu: rid %q: %w", b.Work[ask.work].RID, err)
		}
	}
	a.asked = a.asked[:0]
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

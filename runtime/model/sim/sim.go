package sim

import (
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
)

// Model is a simulated device. One goroutine at a time may use it.
type Model struct {
	limits model.Limits
	config Config
	kinds  kinds
	scores *sampling.Sampler
	logits []float32
	late   float64 // how much the last step was
	stats  Stats
}

// Stats are of the steps so far; times are in seconds.
type Stats struct {
	Steps     int
	Seconds   float64 // that the steps should have taken
	Late      float64 // how much all were late together; a part of it may have been caught up with
	WorstLate float64
	Missed    int // steps whose deadline had passed before they could sleep
}

// New makes a device.
func New(c Config) (*Model, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	limits := model.Limits{VocabSize: vocabSize, ContextLength: c.ContextLength}
	for id := int64(firstStop); id < firstSpecial; id++ {
		limits.EOS = append(limits.EOS, id)
	}
	scores, err := sampling.New(limits, c.Seed)
	if err != nil {
		return nil, err
	}
	return &Model{limits: limits, config: c, kinds: c.Shares.kinds(), scores: scores, logits: make([]float32, vocabSize)}, nil
}

// Limits of the device.
func (m *Model) Limits() model.Limits { return m.limits }

// Stats returns them.
func (m *Model) Stats() Stats { return m.stats }

// Forward draws the batch's tokens and returns when the step's time is over.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	begin := m.config.Clock.Now() - m.late
	if len(b.Work) == 0 {
		return model.Output{}, errors.New("sim: a batch without work")
	}
	out := model.Output{Chosen: make([]model.Choice, len(b.Work))}
	tokens, context := 0, 0
	for i := range b.Work {
		w := &b.Work[i]
		if err := check(w); err != nil {
			return model.Output{}, err
		}
		tokens += len(w.IDs)
		context += w.Start + len(w.IDs)
		c, err := m.choice(w)
		if err != nil {
			return model.Output{}, err
		}
		out.Chosen[i] = c
	}
	return out, m.wait(begin, m.config.Step.Seconds(tokens, context))
}

func check(w *model.Work) error {
	if end := w.Start + len(w.IDs); len(w.IDs) == 0 || w.Start < 0 || end != len(w.Tokens) {
		return fmt.Errorf("sim: rid %q: %d ids behind %d are the end of %d tokens, expected at least one id, and the sum", w.RID, len(w.IDs), w.Start, len(w.Tokens))
	}
	if w.Sample && (w.Prompt < 0 || w.Prompt > len(w.Tokens)) {
		return fmt.Errorf("sim: rid %q: %d tokens of the prompt, expected 0 to all %d", w.RID, w.Prompt, len(w.Tokens))
	}
	return nil
}

func (m *Model) choice(w *model.Work) (model.Choice, error) {
	key := sampling.Key(seed(w), m.config.Seed, w.RID)
	if seed(w) == nil && w.Sample && w.Logprobs.Want {
		key = m.text(w.Tokens[:w.Prompt]).key()
	}
	var c model.Choice
	var err error
	if w.Sample {
		if c.Token, err = m.choose(w, key); err != nil {
			return c, err
		}
		c.Step.Token.ID = c.Token
	}
	if !w.Logprobs.Want {
		return c, nil
	}
	if w.Sample {
		if c.Step, err = m.step(w, key, c.Token); err != nil {
			return c, err
		}
	}
	c.Input, err = m.input(w, key)
	return c, err
}

// seed is the request's own, if it has one.
func seed(w *model.Work) *int64 {
	if w.Sampling == nil {
		return nil
	}
	return w.Sampling.Seed
}

// wait lets the rest of the step's time pass.
func (m *Model) wait(begin, seconds float64) error {
	deadline := begin + seconds
	missed := m.config.Clock.Now() > deadline
	if !missed {
		if err := m.config.Clock.SleepUntil(deadline); err != nil {
			return fmt.Errorf("sim: a step of %g s: %w", seconds, err)
		}
	}
	woke := m.config.Clock.Now()
	if woke < deadline {
		return fmt.Errorf("sim: the clock woke at %g s, expected not before %g s", woke, deadline)
	}
	m.late = woke - deadline
	m.stats.Steps++
	m.stats.Seconds += seconds
	m.stats.Late += m.late
	m.stats.WorstLate = max(m.stats.WorstLate, m.late)
	if missed {
		m.stats.Missed++
	}
	return nil
}

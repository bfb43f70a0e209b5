package qwen3

import "github.com/fanoutbench/fanoutbench/runtime/model"

// Asked is what a position is to say: of the input token behind it, or which token is to
// be there.
type Asked struct {
	Work   int // in the batch
	Next   int64
	Input  bool
	Choose bool
}

// Asks is what the work, one of the batch, asks at the position of its ith token.
func Asks(b *model.Batch, work, i int) Asked {
	w := &b.Work[work]
	next, last := w.Next, i == len(w.IDs)-1
	if !last {
		next = w.IDs[i+1]
	}
	return Asked{work, next, w.Logprobs.Want && w.Start+i >= w.Logprobs.InputStart && next >= 0, last && w.Sample}
}

// Nothing says that the position's logits are of no use.
func (a Asked) Nothing() bool { return !a.Input && !a.Choose }

// Take adds to a work's choice what the sampler makes of the position's logits.
func (a Asked) Take(s Sampler, c *model.Choice, w *model.Work, logits []float32) error {
	if a.Input {
		p, err := s.Logprobs(logits, a.Next, w.Logprobs)
		if err != nil {
			return err
		}
		c.Input = append(c.Input, p)
	}
	if a.Choose {
		chosen, err := s.Choose(w, logits)
		if err != nil {
			return err
		}
		c.Token, c.Step, c.Err = chosen.Token, chosen.Step, chosen.Err
	}
	return nil
}

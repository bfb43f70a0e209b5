package sim

import (
	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
)

const (
	largestLogit = 10
	chosenLogit  = 11
)

// draw fills in the logits of the token at a position of the sequence.
func (m *Model) draw(key [2]uint64, position int) {
	for id := 0; id < vocabSize; id += 4 {
		words := sampling.Random(key, [4]uint64{uint64(position), forScores, uint64(id / 4)})
		for i, word := range words {
			m.logits[id+i] = float32(sampling.Uniform(word) * largestLogit)
		}
	}
}

// step has the log-probabilities of the token chosen.
func (m *Model) step(w *model.Work, key [2]uint64, token int64) (model.Position, error) {
	m.draw(key, len(w.Tokens))
	m.logits[token] = chosenLogit
	return m.scores.Input(m.logits, token, w.Logprobs)
}

// input has those of the work's input tokens, as [model.Choice] says.
func (m *Model) input(w *model.Work, key [2]uint64) ([]model.Position, error) {
	var out []model.Position
	for at := max(w.Logprobs.InputStart, w.Start); at < w.Start+len(w.IDs); at++ {
		token := w.Next
		if behind := at + 1 - w.Start; behind < len(w.IDs) {
			token = w.IDs[behind]
		}
		if token < 0 { // the one to be chosen
			continue
		}
		m.draw(key, at+1)
		p, err := m.scores.Input(m.logits, token, w.Logprobs)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

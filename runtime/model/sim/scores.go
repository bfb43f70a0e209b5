package sim

import (
	"encoding/binary"
	"hash"
	"hash/fnv"

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

// text is the key of what stands before a position, for a request without a seed:
// what is said of a text does not depend on whose request it is in.
type text struct {
	shared uint64
	hash   hash.Hash64
}

func (m *Model) text(tokens []int64) *text {
	t := &text{shared: m.config.Seed, hash: fnv.New64a()}
	for _, token := range tokens {
		t.add(token)
	}
	return t
}

func (t *text) add(token int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(token))
	_, _ = t.hash.Write(b[:]) // a hash never fails
}

func (t *text) key() [2]uint64 { return [2]uint64{t.shared, t.hash.Sum64()} }

// step has the log-probabilities of the token chosen.
func (m *Model) step(w *model.Work, key [2]uint64, token int64) (model.Position, error) {
	if seed(w) == nil {
		key = m.text(w.Tokens).key()
	}
	m.draw(key, len(w.Tokens))
	m.logits[token] = chosenLogit
	return m.scores.Input(m.logits, token, w.Logprobs)
}

// input has those of the work's input tokens, as [model.Choice] says.
func (m *Model) input(w *model.Work, key [2]uint64) ([]model.Position, error) {
	var out []model.Position
	from := max(w.Logprobs.InputStart, w.Start)
	before := m.text(w.Tokens[:min(from, len(w.Tokens))])
	for at := from; at < w.Start+len(w.IDs); at++ {
		if before.add(w.Tokens[at]); seed(w) == nil {
			key = before.key()
		}
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

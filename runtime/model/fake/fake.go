// Package fake is a model for tests. Its logits depend only on the request's own
// tokens, and it reads what it computed before from the slots it is told to, as
// a real one reads keys and values: a slot that was given away while still in
// use gives other tokens, or an error.
//
// A slot holds a hash of all tokens up to its position (a token's own hash,
// mixed with the hash in the slot of the position before) and the position. The
// logits are drawn from the last position's hash.
package fake

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Model is a fake with a number of slots.
type Model struct {
	limits model.Limits
	memory []cell
	Steps  int // batches computed
	Fail   error
}

type cell struct {
	hash     uint64
	position int
	written  bool
}

// New makes a model with that many slots.
func New(limits model.Limits, slots int) *Model {
	return &Model{limits: limits, memory: make([]cell, slots)}
}

// Limits are those given to New.
func (m *Model) Limits() model.Limits { return m.limits }

// Forward computes the batch, or returns Fail where it is set.
func (m *Model) Forward(b *model.Batch) (model.Output, error) {
	if m.Fail != nil {
		return model.Output{}, m.Fail
	}
	if len(b.Work) == 0 {
		return model.Output{}, errors.New("fake: a batch without work")
	}
	m.Steps++
	// Everything is read before anything is written: a work sees what earlier
	// batches wrote, never another work's.
	hashes := make([]uint64, len(b.Work))
	writes := map[int32]string{}
	for i, w := range b.Work {
		if len(w.IDs) == 0 || len(w.Slots) != w.Start+len(w.IDs) {
			return model.Output{}, fmt.Errorf("fake: rid %q: %d ids behind %d with %d slots", w.RID, len(w.IDs), w.Start, len(w.Slots))
		}
		h, err := m.before(w)
		if err != nil {
			return model.Output{}, err
		}
		hashes[i] = h
		for _, slot := range w.Slots[w.Start:] {
			if other, taken := writes[slot]; taken {
				return model.Output{}, fmt.Errorf("fake: slot %d is written by rid %q and by rid %q", slot, other, w.RID)
			}
			writes[slot] = w.RID
		}
	}
	out := model.Output{Logits: make([][]float32, len(b.Work))}
	for i, w := range b.Work {
		h := hashes[i]
		for j, id := range w.IDs {
			h = mix(h, id)
			m.memory[w.Slots[w.Start+j]] = cell{h, w.Start + j, true}
		}
		if w.Sample {
			out.Logits[i] = m.logits(h)
		}
	}
	return out, nil
}

// before is the hash of the tokens before the work's, after a look at every slot.
func (m *Model) before(w model.Work) (uint64, error) {
	for p, slot := range w.Slots {
		if int(slot) >= len(m.memory) || slot < 0 {
			return 0, fmt.Errorf("fake: rid %q: slot %d of %d", w.RID, slot, len(m.memory))
		}
		if c := m.memory[slot]; p < w.Start && (!c.written || c.position != p) {
			return 0, fmt.Errorf("fake: rid %q: slot %d has position %d (written: %t), want %d", w.RID, slot, c.position, c.written, p)
		}
	}
	if w.Start == 0 {
		return 0, nil
	}
	return m.memory[w.Slots[w.Start-1]].hash, nil
}

func mix(h uint64, id int64) uint64 {
	h ^= uint64(id) + 0x9e3779b97f4a7c15
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 29
	h *= 0x94d049bb133111eb
	return h ^ h>>32
}

func (m *Model) logits(h uint64) []float32 {
	r := rand.New(rand.NewPCG(h, 1))
	logits := make([]float32, m.limits.VocabSize)
	for i := range logits {
		logits[i] = r.Float32()
	}
	return logits
}

// Next is the greedy token behind the tokens, computed without any slot.
func (m *Model) Next(tokens []int64) int64 {
	h := uint64(0)
	for _, id := range tokens {
		h = mix(h, id)
	}
	return model.Greedy(m.logits(h))
}

//go:build cuda

package cuda

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
)

// counted is package sampling's, as a Chooser that counts how it was asked; plain hides that it is one.
type counted struct {
	*sampling.Sampler
	whole, sure, unsure int
}

func (c *counted) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	c.whole++
	return c.Sampler.Choose(w, logits)
}

func (c *counted) ChooseOf(w *model.Work, ids []int64, logits []float32, logSum float64) (model.Choice, bool) {
	choice, ok := c.Sampler.ChooseOf(w, ids, logits, logSum)
	if ok {
		c.sure++
	} else {
		c.unsure++
	}
	return choice, ok
}

func (c *counted) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	return c.Sampler.Input(logits, id, want)
}

type plain struct{ c *counted }

func (p plain) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	return p.c.Choose(w, logits)
}

func (p plain) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	return p.c.Logprobs(logits, id, want)
}

func newCounted(t *testing.T, vocab int) *counted {
	t.Helper()
	s, err := sampling.New(model.Limits{VocabSize: vocab}, 3)
	if err != nil {
		t.Fatal(err)
	}
	return &counted{Sampler: s}
}

// drawnWork asks for a token anyhow.
func drawnWork(r *rand.Rand, i, vocab int) model.Work {
	p := sampling.Default()
	p.Temperature, p.TopK, p.TopP = []float64{0, 0.6, 1}[r.IntN(3)], []int{-1, 1, 5, 20, 254, 258}[r.IntN(6)], []float64{1, 0.9}[r.IntN(2)]
	ids := drawn(2+i, vocab)
	w := model.Work{
		RID: fmt.Sprint(i), IDs: ids, Tokens: ids, Prompt: len(ids) - 1, Slots: modeltest.ShuffledSlots(12, 1)[:len(ids)], Next: -1, Sample: true, Sampling: &p,
	}
	for j := range w.Slots {
		w.Slots[j] += int32(12 * i)
	}
	switch r.IntN(6) {
	case 0:
		p.LogitBias = map[int64]float64{7: 3}
	case 1:
		w.Logprobs = model.Logprobs{Want: true, Top: 3, IDs: []int64{4}}
	case 2:
		w.Sample = false
	}
	return w
}

// Whatever works ask for in one batch, the device's choices are the host's of the same logits, and so are
// log-probabilities; and most tokens are chosen without the logits.
func TestChoicesAreTheHosts(t *testing.T) {
	for _, c := range []struct{ tied bool }{{false}, {true}} {
		config := stored.Small()
		if c.tied {
			config = stored.Tied() // with padding
		}
		from := stored.Checkpoint(t, config, stored.Seeded(t, config, 8), tensor.BF16)
		short, whole := newCounted(t, config.VocabSize), newCounted(t, config.VocabSize)
		m, host := newModel(t, from, Options{Slots: 120, Sampler: short}), newModel(t, from, Options{Slots: 120, Sampler: plain{whole}})
		m.block.room.rows, host.block.room.rows = 4, 3
		r := rand.New(rand.NewPCG(1, 2))
		for range 6 {
			var works []model.Work
			for i := range 1 + r.IntN(9) {
				works = append(works, drawnWork(r, i, config.VocabSize))
			}
			got, want := modeltest.Forward(t, m, works...), modeltest.Forward(t, host, works...)
			if !reflect.DeepEqual(got.Chosen, want.Chosen) {
				t.Fatalf("chosen %+v, of all logits %+v", got.Chosen, want.Chosen)
			}
		}
		if short.sure < 8 || short.whole < 5 || whole.sure+whole.unsure > 0 {
			t.Errorf("%d choices of few logits (%d more were not sure), %d of all: the test shows too little", short.sure, short.unsure, short.whole)
		}
	}
}

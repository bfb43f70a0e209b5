package cpu

import (
	"fmt"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// teller is a sampler that says which positions it was shown, by the token behind.
type teller struct {
	modeltest.Keeper
	told []string
}

func (s *teller) Choose(w *model.Work, logits []float32) (model.Choice, error) {
	s.told = append(s.told, fmt.Sprintf("%s chooses", w.RID))
	return s.Keeper.Choose(w, logits)
}

func (s *teller) Logprobs(logits []float32, id int64, want model.Logprobs) (model.Position, error) {
	s.told = append(s.told, fmt.Sprint(id))
	_, err := s.Keeper.Logprobs(logits, id, want)
	return model.Position{Token: model.TokenLogprob{ID: id}}, err
}

// The sampler is asked for what the works ask for, in their order, and its answers are
// the works': as in package qwen3, whose logits these are.
func TestAsksWhatTheWorksAsk(t *testing.T) {
	c := odd()
	w := seeded(t, c, 3)
	batch := &model.Batch{Work: []model.Work{
		{RID: "a", IDs: []int64{1, 2, 3, 4}, Slots: []int32{9, 8, 7, 6}, Next: -1, Sample: true},
		{RID: "b", IDs: []int64{5, 6, 7, 8}, Slots: []int32{0, 1, 2, 3}, Next: 9, Logprobs: model.Logprobs{Want: true, InputStart: 2}},
		{RID: "c", IDs: []int64{10, 11}, Slots: []int32{4, 5}, Next: 12},
		{RID: "d", IDs: []int64{13, 14}, Slots: []int32{10, 11}, Next: -1, Sample: true, Logprobs: model.Logprobs{Want: true}},
	}}
	seen, want := &teller{}, &teller{}
	m := newModel(t, stored.Checkpoint(t, c, w, tensor.F32), Options{Slots: 12, Sampler: seen})
	m.tokens, m.logits = make([]token, 0, 5), m.logits[:2*c.VocabSize]
	q, err := qwen3.New(c, w, 12, want)
	if err != nil {
		t.Fatal(err)
	}
	got, expected := modeltest.Forward(t, m, batch.Work...), modeltest.Forward(t, q, batch.Work...)
	if fmt.Sprint(seen.told) != "[a chooses 8 9 14 d chooses]" || fmt.Sprint(want.told) != fmt.Sprint(seen.told) {
		t.Errorf("the sampler saw %q, and %q with package qwen3", seen.told, want.told)
	}
	if fmt.Sprint(got) != fmt.Sprint(expected) {
		t.Errorf("the output is %v, package qwen3's is %v", got, expected)
	}
	if off := compare(t, seen.Logits, want.Logits, c.VocabSize); off > 1e-4 {
		t.Errorf("logits are %v off", off)
	}
}

package fake

import (
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func step(t *testing.T, m *Model, works ...model.Work) []int64 {
	t.Helper()
	out, err := m.Forward(&model.Batch{Work: works})
	if err != nil {
		t.Fatal(err)
	}
	var tokens []int64
	for _, l := range out.Logits {
		if l != nil {
			tokens = append(tokens, model.Greedy(l))
		}
	}
	return tokens
}

// However the tokens are cut and wherever they lie, the next is the same.
func TestTokensDependOnOwnTokensOnly(t *testing.T) {
	m := New(model.Limits{VocabSize: 50}, 16)
	want := m.Next([]int64{4, 5, 6})
	whole := step(t, m, model.Work{RID: "whole", IDs: []int64{4, 5, 6}, Slots: []int32{3, 9, 1}, Sample: true})
	step(t, m, model.Work{RID: "cut", IDs: []int64{4, 5}, Slots: []int32{0, 2}})
	cut := step(t, m,
		model.Work{RID: "cut", IDs: []int64{6}, Start: 2, Slots: []int32{0, 2, 4}, Sample: true},
		model.Work{RID: "other", IDs: []int64{7}, Slots: []int32{5}, Sample: true})
	if whole[0] != want || cut[0] != want {
		t.Errorf("tokens %v and %v, want %d first in both", whole, cut, want)
	}
}

// A slot that another request wrote over is seen.
func TestLostSlots(t *testing.T) {
	m := New(model.Limits{VocabSize: 50}, 4)
	step(t, m, model.Work{RID: "a", IDs: []int64{1, 2}, Slots: []int32{0, 1}})
	step(t, m, model.Work{RID: "b", IDs: []int64{8}, Slots: []int32{1}})
	for want, works := range map[string][]model.Work{
		`rid "a": slot 1 has position 0`:         {{RID: "a", IDs: []int64{3}, Start: 2, Slots: []int32{0, 1, 2}}},
		`slot 3 has position 0 (written: false)`: {{RID: "a", IDs: []int64{3}, Start: 1, Slots: []int32{3, 2}}},
		`slot 2 is written by rid "a" and`:       {{RID: "a", IDs: []int64{3}, Slots: []int32{2}}, {RID: "b", IDs: []int64{3}, Slots: []int32{2}}},
		`slot 4 of 4`:                            {{RID: "a", IDs: []int64{3}, Slots: []int32{4}}},
		`1 ids behind 2 with 2 slots`:            {{RID: "a", IDs: []int64{3}, Start: 2, Slots: []int32{0, 1}}},
		`without work`:                           {},
	} {
		if _, err := m.Forward(&model.Batch{Work: works}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

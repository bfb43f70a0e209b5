package modeltest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// TestRefusals hands the model, whose context is to be 512, batches that cannot be, a
// good work before the bad one. The error is to name the package, the rid and the
// value; untouched says of a model that none of its eight slots was written. The next
// batch is computed as if nothing had been.
func (s Subject) TestRefusals(t *testing.T, name string, untouched func(model.Model) bool) {
	t.Helper()
	over, ids := int64(s.VocabSize), fmt.Sprintf("expected 0 to %d", s.VocabSize-1)
	id := func(format string) string { return fmt.Sprintf(format, over, ids) }
	for want, bad := range map[string]model.Work{
		"0 ids behind 0 with 0 slots":      {},
		"1 ids behind 0 with 2 slots":      {IDs: []int64{1}, Slots: []int32{4, 5}},
		"1 ids behind -1 with 0 slots":     {IDs: []int64{1}, Start: -1},
		id("id %d, %s"):                    {IDs: []int64{1, over}, Slots: []int32{4, 5}},
		"id -1, expected":                  {IDs: []int64{-1}, Slots: []int32{4}},
		"slot 8, expected 0 to 7":          {IDs: []int64{1}, Start: 1, Slots: []int32{8, 4}},
		"slot -1, expected":                {IDs: []int64{1}, Slots: []int32{-1}},
		"513 tokens, expected at most 512": {IDs: []int64{1}, Start: 512, Slots: make([]int32, 513)},
		id("log-probability of id %d, %s"): {IDs: []int64{1}, Slots: []int32{4}, Logprobs: model.Logprobs{IDs: []int64{over}}},
		fmt.Sprintf("token behind is %d, expected -1 or 0 to %d", over, over-1): {IDs: []int64{1}, Slots: []int32{4}, Next: over},
	} {
		m := s.New(t, 8, &Keeper{})
		bad.RID = "bad"
		good := model.Work{RID: "good", IDs: []int64{1, 2}, Slots: []int32{0, 1}, Next: -1, Sample: true}
		_, err := m.Forward(&model.Batch{Work: []model.Work{good, bad}})
		if want = name + `: rid "bad": ` + want; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if !untouched(m) {
			t.Errorf("%s: slots were written", want)
		}
		Forward(t, m, good)
	}
	_, err := s.New(t, 8, &Keeper{}).Forward(&model.Batch{})
	if want := name + ": a batch without work"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

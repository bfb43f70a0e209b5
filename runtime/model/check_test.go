package model

import (
	"strings"
	"testing"
)

// What is good passes; of each number one beyond its range is named. The models' own
// tests show what becomes of a batch that is refused.
func TestBatchCheck(t *testing.T) {
	l := Limits{VocabSize: 10, ContextLength: 4}
	good := Work{RID: "r", IDs: []int64{0, 9}, Start: 2, Slots: []int32{0, 6, 3, 1}, Next: -1, Logprobs: Logprobs{IDs: []int64{0, 9}}}
	if err := (&Batch{Work: []Work{good}}).Check(l, 7); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(w *Work){
		`rid "r": 0 ids behind 4 with 4 slots`:    func(w *Work) { w.IDs, w.Start = nil, 4 },
		`2 ids behind 1 with 4 slots, expected`:   func(w *Work) { w.Start = 1 },
		`2 ids behind -2 with 0 slots, expected`:  func(w *Work) { w.Start, w.Slots = -2, nil },
		`5 tokens, expected at most 4`:            func(w *Work) { w.Start, w.Slots = 3, make([]int32, 5) },
		`id 10, expected 0 to 9`:                  func(w *Work) { w.IDs = []int64{0, 10} },
		`id -1, expected`:                         func(w *Work) { w.IDs = []int64{-1, 0} },
		`slot 7, expected 0 to 6`:                 func(w *Work) { w.Slots = []int32{0, 7, 3, 1} },
		`slot -1, expected`:                       func(w *Work) { w.Slots = []int32{0, 5, 3, -1} },
		`token behind is -2, expected -1 or 0 to`: func(w *Work) { w.Next = -2 },
		`token behind is 10, expected`:            func(w *Work) { w.Next = 10 },
		`log-probability of id -1, expected`:      func(w *Work) { w.Logprobs.IDs = []int64{-1} },
		`log-probability of id 10, expected 0 to`: func(w *Work) { w.Logprobs.IDs = []int64{10} },
	} {
		w := good
		change(&w)
		err := (&Batch{Work: []Work{good, w}}).Check(l, 7)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if err := (&Batch{}).Check(l, 7); err == nil || err.Error() != "a batch without work" {
		t.Errorf("error %v of a batch without work", err)
	}
}

package scheduler_test

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/fake"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

// The loop around a scheduler, with a model whose logits are taken greedily.
func Example() {
	limits := model.Limits{VocabSize: 100, ContextLength: 64, EOS: []int64{99}}
	m := fake.New(limits, 256)
	s, err := scheduler.New(scheduler.Config{MaxTotalTokens: 256, MaxRunningRequests: 8, MaxPrefillTokens: 128}, limits)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := &scheduler.TokenizedGenerateReqInput{RID: "a", InputIDs: []int64{1, 2, 3}, Stream: true, LogprobStartLen: -1}
	request.SamplingParams.MaxNewTokens = 3
	if err := s.Receive(0, request); err != nil {
		fmt.Println(err)
		return
	}
	now := 0.0 // the caller's clock
	for batch := s.Schedule(now); batch != nil; batch = s.Schedule(now) {
		out, err := m.Forward(batch)
		now += 0.01
		if err != nil {
			s.Fail(now, err.Error())
			continue
		}
		chosen := make([]model.Choice, len(batch.Work))
		for i, w := range batch.Work {
			if w.Sample {
				chosen[i].Token = model.Greedy(out.Logits[i])
			}
		}
		if err := s.Finish(now, chosen); err != nil {
			fmt.Println(err)
			return
		}
		rows := s.Take().Rows
		for i, rid := range rows.RIDs {
			fmt.Println(batch.Mode, rid, len(rows.DecodeIDs[i]), rows.CompletionTokens[i], rows.FinishedReasons[i] != nil)
		}
	}
	// Output:
	// extend a 4 1 false
	// decode a 1 2 false
	// decode a 1 3 true
}

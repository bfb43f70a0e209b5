package engine

import (
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// alone is what a request gives when nothing but the model and it are there: the
// twin of the engine, with neither scheduler nor cache nor batch.
func alone(t *testing.T, a args.Args, in *request.TokenizedGenerateReqInput) (tokens []int64, steps []model.Choice) {
	t.Helper()
	m, err := backend.NewModel(t.Context(), a, len(in.InputIDs)+in.SamplingParams.MaxNewTokens+1)
	if err != nil {
		t.Fatal(err)
	}
	converted := toScheduler(in)
	all := append([]int64{}, in.InputIDs...)
	var slots []int32
	for done := 0; ; {
		for len(slots) < len(all) {
			slots = append(slots, int32(len(slots)))
		}
		w := model.Work{
			RID: in.RID, IDs: all[done:], Tokens: all, Prompt: len(in.InputIDs), Start: done, Slots: slots, Next: -1, Sample: true,
			Sampling: &converted.SamplingParams.Sampling,
			Logprobs: model.Logprobs{Want: true, InputStart: len(all), Top: in.TopLogprobsNum, IDs: in.TokenIDsLogprob},
		}
		out, err := m.Forward(&model.Batch{Work: []model.Work{w}})
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, out.Chosen[0])
		done = len(all)
		if done-len(in.InputIDs) == in.SamplingParams.MaxNewTokens {
			return all[len(in.InputIDs):], steps
		}
		all = append(all, out.Chosen[0].Token)
		if len(all)-len(in.InputIDs) == in.SamplingParams.MaxNewTokens {
			return all[len(in.InputIDs):], steps
		}
	}
}

package api

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// submitted is what the service got for a body.
func submitted(t *testing.T, path, body string) ([]manager.Item, int) {
	t.Helper()
	f := newFake()
	f.refuse = &manager.Error{Status: 400, Message: "enough"}
	post(t, start(t, f)+path, body)
	items := f.items(t)
	return items, f.copies[0]
}

func defaults(change func(*request.SamplingParams)) request.SamplingParams {
	p := request.NewSamplingParams()
	change(&p)
	return p
}

// All of /generate's fields, for one prompt.
func TestGenerateFields(t *testing.T) {
	items, n := submitted(t, "/generate", `{"text":"x","stream":true,"rid":"mine","return_logprob":true,"logprob_start_len":1,
		"top_logprobs_num":2,"token_ids_logprob":[3,4],"extra_key":"k","cache_salt":"s","sampling_params":{
		"max_new_tokens":5,"min_new_tokens":1,"temperature":0,"top_p":0.5,"top_k":3,"min_p":0.1,"frequency_penalty":-1,
		"presence_penalty":1,"repetition_penalty":1.5,"stop":"S","stop_token_ids":[7],"ignore_eos":true,
		"skip_special_tokens":false,"spaces_between_special_tokens":false,"no_stop_trim":true,"stream_interval":4,
		"logit_bias":{"1":-5},"sampling_seed":9,"n":3}}`)
	want := manager.Item{
		RID: "mine", Text: "x", Stream: true, ReturnLogprob: true, LogprobStartLen: 1, TopLogprobsNum: 2,
		TokenIDsLogprob: []int64{3, 4}, ExtraKey: "k", CacheSalt: "s",
		Params: request.SamplingParams{
			MaxNewTokens: 5, MinNewTokens: 1, TopP: 0.5, TopK: 3, MinP: 0.1, FrequencyPenalty: -1, PresencePenalty: 1,
			RepetitionPenalty: 1.5, Stop: []string{"S"}, StopTokenIDs: []int64{7}, IgnoreEOS: true, NoStopTrim: true,
			StreamInterval: 4, LogitBias: map[int64]float64{1: -5}, SamplingSeed: ptr(int64(9)),
		},
	}
	if n != 3 || len(items) != 1 || !reflect.DeepEqual(items[0], want) {
		t.Errorf("n %d, items\n%+v, want\n%+v", n, items, want)
	}
	// Every field of the parameters was given a value of its own above.
	p := reflect.ValueOf(items[0].Params)
	for i := range p.NumField() {
		name := p.Type().Field(i).Name
		if reflect.DeepEqual(p.Field(i).Interface(), reflect.ValueOf(request.NewSamplingParams()).Field(i).Interface()) {
			t.Errorf("%s is what it is by default: this test does not look at it", name)
		}
	}
}

// A list in a batch has one value an item; a single value is for all.
func TestBatchFields(t *testing.T) {
	items, n := submitted(t, "/generate", `{"input_ids": [ [1, 2] , [ 3 ] ],"rid":["a","b"],"return_logprob":[true,false],"logprob_start_len":[0,-1],
		"top_logprobs_num":[1,0],"token_ids_logprob":[[5],null],"extra_key":["k","l"],"cache_salt":"s",
		"sampling_params":[{"max_new_tokens":1},{"max_new_tokens":2}]}`)
	want := []manager.Item{
		{
			RID: "a", InputIDs: []int64{1, 2}, ReturnLogprob: true, TopLogprobsNum: 1, TokenIDsLogprob: []int64{5}, ExtraKey: "k", CacheSalt: "s",
			Params: defaults(func(p *request.SamplingParams) { p.MaxNewTokens = 1 }),
		},
		{
			RID: "b", InputIDs: []int64{3}, LogprobStartLen: -1, ExtraKey: "l", CacheSalt: "s",
			Params: defaults(func(p *request.SamplingParams) { p.MaxNewTokens = 2 }),
		},
	}
	if n != 1 || !reflect.DeepEqual(items, want) {
		t.Errorf("n %d, items\n%+v, want\n%+v", n, items, want)
	}
	items, _ = submitted(t, "/generate", `{"text":["x","y"],"rid":"r","token_ids_logprob":[5,6],"return_logprob":true,"sampling_params":{"temperature":0.5}}`)
	for i, it := range items {
		if it.RID != fmt.Sprintf("r_%d", i) || !slices.Equal(it.TokenIDsLogprob, []int64{5, 6}) || !it.ReturnLogprob || it.Params.Temperature != 0.5 || it.LogprobStartLen != -1 {
			t.Errorf("item %d is %+v", i, it)
		}
	}
}

func TestCompletionFields(t *testing.T) {
	items, n := submitted(t, "/v1/completions", `{"prompt":["x","y"],"rid":"c","max_tokens":7,"min_tokens":2,"n":2,"seed":5,"logprobs":3,"echo":true,
		"stop":["a","b"],"logit_bias":{"3":1.5},"presence_penalty":0.5,"frequency_penalty":0.25,"top_k":9,"extra_key":"k"}`)
	want := manager.Item{
		RID: "c_0", Text: "x", ReturnLogprob: true, TopLogprobsNum: 3, ExtraKey: "k",
		Params: defaults(func(p *request.SamplingParams) {
			p.MaxNewTokens, p.MinNewTokens, p.SamplingSeed, p.Stop = 7, 2, ptr(int64(5)), []string{"a", "b"}
			p.LogitBias, p.PresencePenalty, p.FrequencyPenalty, p.TopK = map[int64]float64{3: 1.5}, 0.5, 0.25, 9
		}),
	}
	if n != 2 || len(items) != 2 || !reflect.DeepEqual(items[0], want) || items[1].RID != "c_1" || items[1].Text != "y" {
		t.Errorf("n %d, items\n%+v, want\n%+v first", n, items, want)
	}
	for body, want := range map[string]string{
		`{"prompt":"x"}`:                    "[x] [[]]",
		`{"prompt":["x"]}`:                  "[x] [[]]",
		`{"prompt":[1,2]}`:                  "[] [[1 2]]",
		`{"prompt":[ [1,2] ,[3]]}`:          "[ ] [[1 2] [3]]",
		`{"prompt":[72,105],"echo":true}`:   "[Hi] [[72 105]]",
		`{"prompt":"x","logprobs":null}`:    "[x] [[]]",
		`{"prompt":"x","max_tokens":null}`:  "[x] [[]]",
		`{"prompt":"\ud83d\ude00\u0000\n"}`: "[\U0001F600\x00\n] [[]]",
	} {
		items, _ := submitted(t, "/v1/completions", body)
		var texts []string
		var ids [][]int64
		for _, it := range items {
			texts, ids = append(texts, it.Text), append(ids, it.InputIDs)
			if it.Params.MaxNewTokens != 16 || it.LogprobStartLen != -1 || it.ReturnLogprob {
				t.Errorf("%s: %+v", body, it)
			}
		}
		if got := fmt.Sprint(texts, ids); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// The prompt is ChatML; without a limit the answer may fill the context.
func TestChatFields(t *testing.T) {
	items, n := submitted(t, "/v1/chat/completions", `{"messages":[{"role":"System","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null}],"n":2,"logprobs":true,"top_logprobs":4}`)
	const prompt = "<|im_start|>system\ns<|im_end|>\n<|im_start|>user\na b<|im_end|>\n<|im_start|>assistant\n<|im_end|>\n<|im_start|>assistant\n"
	ids, err := letters{}.Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	it := items[0]
	if n != 2 || len(items) != 1 || it.Text != prompt || !slices.Equal(it.InputIDs, ids) || !it.ReturnLogprob || it.TopLogprobsNum != 4 {
		t.Errorf("n %d, items %+v", n, items)
	}
	if !regexp.MustCompile(`^chatcmpl-[0-9a-f]{32}$`).MatchString(it.RID) {
		t.Errorf("rid %q", it.RID)
	}
	for own, want := range map[string]int{
		"":                           100 - len("_user\nx_\n_assistant\n") - 1,
		`,"max_tokens":9`:            9,
		`,"max_completion_tokens":8`: 8,
		`,"max_tokens":9,"max_completion_tokens":8`: 9,    // as SGLang
		`,"max_tokens":1000`:                        1000, // the service refuses or cuts it
	} {
		items, _ := submitted(t, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]`+own+`}`)
		if got := items[0].Params.MaxNewTokens; got != want {
			t.Errorf("%s: max_new_tokens %d, want %d", own, got, want)
		}
	}
}

package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Bodies of one prompt differ in the digits of the send only, and are what an
// encoder makes of the same fields.
func TestBodies(t *testing.T) {
	prompt := Prompt{Query: "q\"\x00<", Items: []string{"é", ""}}
	ids := Prompt{ItemIDs: [][]int64{{1, 2}, {}}}
	chat := Prompt{Messages: []Message{{"user", "hi"}}}
	for _, k := range []struct {
		o    Options
		p    Prompt
		want string
		rids string
	}{
		{Options{API: Score, Run: "r", Labels: []int64{1}}, prompt, `{"query":"q\"\u0000<","items":["é",""],"label_token_ids":[1],"apply_softmax":false,"item_first":false,"model":"default","rid":"r-N"}`, "[r-N_0 r-N_1]"},
		{Options{API: Score, Run: "r", Labels: []int64{1}, Cold: true, Model: "m"}, ids, `{"query":[],"items":[[1,2],[]],"label_token_ids":[1],"apply_softmax":false,"item_first":false,"model":"m","rid":"r-N","cache_salt":["r-N_0","r-N_1"]}`, "[r-N_0 r-N_1]"},
		{Options{API: Completions, Run: "r", OutputTokens: 3, Cold: true}, prompt, `{"model":"default","prompt":["q\"\u0000<é","q\"\u0000<"],"max_tokens":3,"temperature":0,"ignore_eos":true,"stream":false,"rid":"r-N","cache_salt":"r-N"}`, "[r-N_0 r-N_1]"},
		{Options{API: Completions, Run: "r", OutputTokens: 3, Stream: true}, Prompt{QueryIDs: []int64{4}, ItemIDs: [][]int64{{5}}}, `{"model":"default","prompt":[4,5],"max_tokens":3,"temperature":0,"ignore_eos":true,"stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"rid":"r-N"}`, "[r-N]"},
		{Options{API: Chat, Run: "r", OutputTokens: 3}, chat, `{"model":"default","messages":[{"role":"user","content":"hi"}],"max_tokens":3,"temperature":0,"ignore_eos":true,"stream":false,"rid":"r-N"}`, "[r-N]"},
	} {
		set, err := NewSet(k.o, []Prompt{k.p, k.p})
		if err != nil {
			t.Fatal(err)
		}
		for n, body := range set.Bodies(5, 4) {
			number := fmt.Sprintf("%08d", n+5)
			if want := strings.ReplaceAll(k.want, "-N", "-"+number); string(body) != want || !json.Valid(body) {
				t.Errorf("send %d: body %s, want %s", n+5, body, want)
			}
			if want := strings.ReplaceAll(k.rids, "-N", "-"+number); fmt.Sprint(set.RIDs(n+5)) != want {
				t.Errorf("send %d: rids %v, want %s", n+5, set.RIDs(n+5), want)
			}
			if !bytes.Equal(body, set.Body(n+5)) {
				t.Errorf("send %d: another body the second time", n+5)
			}
		}
	}
}

// A prompt of a set comes round again, in its own body.
func TestBodiesComeRound(t *testing.T) {
	set, err := NewSet(Options{API: Score, Run: "r", Labels: []int64{1}}, []Prompt{{Items: []string{"a"}}, {Items: []string{"b"}}, {Items: []string{"c"}}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		if want := fmt.Sprintf(`"items":[%q]`, "abc"[n%3:n%3+1]); !strings.Contains(string(set.Body(n)), want) {
			t.Errorf("send %d: %s, want %s", n, set.Body(n), want)
		}
	}
}

func TestWrongSets(t *testing.T) {
	one := []Prompt{{Items: []string{"a"}}}
	fine := Options{API: Score, Run: "r", Labels: []int64{1}}
	for _, k := range []struct {
		change  func(*Options)
		prompts []Prompt
		want    string
	}{
		{func(o *Options) { o.API = "" }, one, `api is ""`},
		{func(o *Options) { o.Run = "" }, one, `run is ""`},
		{func(o *Options) { o.Run = `a"b` }, one, `run is "a\"b"`},
		{func(*Options) {}, nil, "no prompt"},
		{func(*Options) {}, []Prompt{one[0], {Query: "q"}}, "prompt 1 has no item"},
		{func(o *Options) { o.Labels = nil }, one, "prompt 0 has no label"},
		{func(o *Options) { o.Stream = true }, one, "a score is not streamed"},
		{func(o *Options) { o.API = Chat }, one, "output tokens is 0"},
		{func(o *Options) { o.API, o.OutputTokens = Chat, 1 }, one, "prompt 0 is not one of chat"},
		{func(*Options) {}, []Prompt{{Messages: []Message{{}}}}, "prompt 0 is not one of score"},
	} {
		o := fine
		k.change(&o)
		if _, err := NewSet(o, k.prompts); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%+v: %v, want %q", o, err, k.want)
		}
	}
}

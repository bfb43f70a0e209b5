package api

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// scored is the only row of an item: length 0, the labels' log-probabilities at the last position.
func scored(index int, logprobs map[int64]float64) manager.Update {
	u := manager.Update{Index: index, PromptTokens: 10 + index, Finish: &manager.Finish{Type: "length"}}
	at := manager.Position{}
	for id, v := range logprobs {
		at.IDs = append(at.IDs, manager.TokenLogprob{ID: id, Val: v})
	}
	u.OutputLogprobs = []manager.Position{at}
	return u
}

// Items in their order whatever the order of their rows; labels in theirs, doubled ones too.
func TestScore(t *testing.T) {
	half, quarter := math.Log(0.5), math.Log(0.25)
	rows := []any{scored(1, map[int64]float64{65: quarter, 66: half}), scored(0, map[int64]float64{65: half, 66: quarter})}
	body := `{"query":"q","items":["a","b"],"label_token_ids":[66,65,66],"model":"m"`
	for own, want := range map[string]string{
		``:                       "[[0.25 0.5 0.25] [0.5 0.25 0.5]]",
		`,"apply_softmax":false`: "[[0.25 0.5 0.25] [0.5 0.25 0.5]]",
		`,"apply_softmax":true`:  "[[0.25 0.5 0.25] [0.4 0.2 0.4]]",
	} {
		g := post(t, start(t, newFake(rows...))+"/v1/score", body+own+"}")
		v := unmarshal[map[string]any](t, g.body)
		var scores [][]float64
		for _, item := range v["scores"].([]any) {
			var row []float64
			for _, s := range item.([]any) {
				row = append(row, math.Round(s.(float64)*1e9)/1e9)
			}
			scores = append(scores, row)
		}
		if got := fmt.Sprint(scores); got != want {
			t.Errorf("%s: scores %s, want %s", own, got, want)
		}
		usage := "map[completion_tokens:0 prompt_tokens:21 prompt_tokens_details:<nil> reasoning_tokens:0 total_tokens:21]"
		if v["object"] != "scoring" || v["model"] != "m" || fmt.Sprint(v["usage"]) != usage || len(v) != 4 {
			t.Errorf("answer %s", g.body)
		}
	}
}

// Text is joined before it is made ids, ids are joined as lists.
func TestScorePrompts(t *testing.T) {
	for fields, want := range map[string]string{
		`"query":"q","items":["a","b"]`:                       "[qa qb] [[] []]",
		`"query":"q","items":"a"`:                             "[qa] [[]]",
		`"query":"q","items":["a","b"],"item_first":true`:     "[aq bq] [[] []]",
		`"query":"","items":["a"]`:                            "[a] [[]]",
		`"query":[1,2],"items":[[3],[4,5]]`:                   "[ ] [[1 2 3] [1 2 4 5]]",
		`"query":[1,2],"items":[ [3], [] ],"item_first":true`: "[ ] [[3 1 2] [1 2]]",
		`"query":[],"items":[[3]]`:                            "[] [[3]]",
	} {
		items, n := submitted(t, "/v1/score", `{"label_token_ids":[65],`+fields+`}`)
		var texts []string
		var ids [][]int64
		for _, it := range items {
			texts, ids = append(texts, it.Text), append(ids, it.InputIDs)
			if it.Params.MaxNewTokens != 0 || !it.ReturnLogprob || it.LogprobStartLen != -1 || len(it.TokenIDsLogprob) != 1 || it.Stream || n != 1 {
				t.Errorf("%s: n %d, %+v", fields, n, it)
			}
		}
		if got := fmt.Sprint(texts, ids); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
}

// Items are named and kept apart as those of /generate are.
func TestScoreNames(t *testing.T) {
	for fields, want := range map[string]string{
		`"items":["a","b"]`: "[  ] [  ]",
		`"items":["a","b"],"rid":"r","cache_salt":"s","extra_key":"k"`:             "[r_0 s k] [r_1 s k]",
		`"items":["a","b"],"rid":["x","y"],"cache_salt":["s","t"],"extra_key":"k"`: "[x s k] [y t k]",
		`"items":"a","rid":"r","cache_salt":"s"`:                                   "[r s ]",
	} {
		items, _ := submitted(t, "/v1/score", `{"query":"q","label_token_ids":[65],`+fields+`}`)
		var got []string
		for _, it := range items {
			got = append(got, fmt.Sprintf("[%s %s %s]", it.RID, it.CacheSalt, it.ExtraKey))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", fields, got, want)
		}
	}
	for fields, want := range map[string]string{
		`"rid":["x","x"]`:          `rid[1] is "x", expected each only once`,
		`"rid":["x"]`:              "rid has 1 values, expected 2, one an item",
		`"cache_salt":["s",3]`:     "cache_salt[1] is 3, expected a string",
		`"extra_key":["s","","t"]`: "extra_key has 3 values, expected 2, one an item",
	} {
		g := post(t, start(t, newFake())+"/v1/score", `{"query":"q","items":["a","b"],"label_token_ids":[65],`+fields+`}`)
		if g.status != 400 || g.message(t, "/v1/score") != want {
			t.Errorf("%s: %d %s, want %q", fields, g.status, g.body, want)
		}
	}
}

// One text or a list of them; the marks are one token each.
func TestTokenize(t *testing.T) {
	for body, want := range map[string]string{
		`{"prompt":"ab<|im_end|>"}`:                      `{"tokens":[97,98,257],"count":3,"max_model_len":100}`,
		`{"prompt":""}`:                                  `{"tokens":[],"count":0,"max_model_len":100}`,
		`{"prompt":["a",""],"add_special_tokens":false}`: `{"tokens":[[97],[]],"count":[1,0],"max_model_len":100}`,
		`{"prompt":[]}`:                                  `{"tokens":[],"count":[],"max_model_len":100}`,
		`{}`:                                             "prompt is not there, expected a string or a list of strings",
		`{"prompt":[1]}`:                                 "prompt is [1], expected a string or a list of strings",
		`{"prompt":"a","add_special_tokens":"no"}`: `add_special_tokens is "no", expected true or false`,
	} {
		url := start(t, newFake())
		for _, path := range []string{"/tokenize", "/v1/tokenize"} {
			g := post(t, url+path, body)
			if got := strings.TrimSpace(g.body); g.status == 200 && got != want || g.status != 200 && (g.status != 400 || g.message(t, path) != want) {
				t.Errorf("%s %s: %d %s, want %s", path, body, g.status, g.body, want)
			}
		}
	}
}

// A query is not joined with so many items that the prompts would fill the memory.
func TestScorePromptsAreBounded(t *testing.T) {
	f := newFake()
	url := start(t, f) + "/v1/score" // of 1 MiB
	list := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for want, body := range map[string]string{
		"query makes prompts of 1501500 bytes together with the 1500 items, expected at most 1048576": `{"label_token_ids":[1],"query":"` + strings.Repeat("x", 1000) + `","items":[` + list(`"a"`, 1500) + `]}`,
		"query makes prompts of 601200 ids together with the 600 items, expected at most 524288":      `{"label_token_ids":[1],"query":[` + list("1", 1000) + `],"items":[` + list(`[1,2]`, 600) + `]}`,
		"items has 65537, expected at most 65536":                                                     `{"label_token_ids":[1],"query":"","items":[` + list(`""`, 65537) + `]}`,
	} {
		if g := post(t, url, body); g.status != 400 || g.message(t, "/v1/score") != want {
			t.Errorf("%d %.300s, want %s", g.status, g.body, want)
		}
	}
	if len(f.submitted) != 0 {
		t.Errorf("%d submissions", len(f.submitted))
	}
	// What just fits is taken.
	f.script = []any{errors.New("enough")}
	if g := post(t, url, `{"label_token_ids":[1],"query":"`+strings.Repeat("x", 1023)+`","items":[`+list(`"a"`, 1024)+`]}`); g.status != 500 || len(f.items(t)) != 1024 {
		t.Errorf("%d %.300s", g.status, g.body)
	}
}

func TestDetokenize(t *testing.T) {
	for body, want := range map[string]string{
		`{"tokens":[97,257,98]}`:                              `{"text":"ab"}`,
		`{"tokens":[97,257,195],"skip_special_tokens":false}`: `{"text":"a<|im_end|>\ufffd"}`,
		`{"tokens":[]}`:                                       `{"text":""}`,
		`{"tokens":[[97],[],[98,195,169]]}`:                   `{"text":["a","","bé"]}`,
		`{"tokens":"a"}`:                                      `tokens is "a", expected a list of token ids or a list of such lists`,
		`{"tokens":["a","b"]}`:                                `tokens is ["a","b"], expected a list of token ids or a list of such lists`,
		`{"tokens":[1,-1,2]}`:                                 "tokens[1] is -1, expected 0 to 257",
		`{"tokens":[[1],[258]]}`:                              "tokens[1][0] is 258, expected 0 to 257",
		`{"skip_special_tokens":true}`:                        "tokens is not there, expected a list of token ids or a list of such lists",
		`{"tokens":[1],"skip_special_tokens":1}`:              "skip_special_tokens is 1, expected true or false",
	} {
		url := start(t, newFake())
		for _, path := range []string{"/detokenize", "/v1/detokenize"} {
			g := post(t, url+path, body)
			if got := strings.ReplaceAll(strings.TrimSpace(g.body), "\ufffd", `\ufffd`); g.status == 200 && got != want || g.status != 200 && (g.status != 400 || g.message(t, path) != want) {
				t.Errorf("%s %s: %d %s, want %s", path, body, g.status, g.body, want)
			}
		}
	}
}

// begun is letters with a token before every prompt.
type begun struct{ letters }

func (b begun) EncodePrompt(text string) ([]int64, error) {
	ids, err := b.Encode(text)
	return append([]int64{1}, ids...), err
}

// What stands before a prompt is there unless a client says otherwise; a chat has it
// from its template only.
func TestSpecialTokens(t *testing.T) {
	f := newFake()
	url := start(t, f, func(c *Config) { c.Tokenizer = begun{} })
	for body, want := range map[string]string{
		`{"prompt":"ab"}`: `{"tokens":[1,97,98],"count":3,"max_model_len":100}`,
		`{"prompt":"ab","add_special_tokens":true}`:      `{"tokens":[1,97,98],"count":3,"max_model_len":100}`,
		`{"prompt":["a",""],"add_special_tokens":false}`: `{"tokens":[[97],[]],"count":[1,0],"max_model_len":100}`,
	} {
		if g := post(t, url+"/tokenize", body); g.status != 200 || strings.TrimSpace(g.body) != want {
			t.Errorf("%s: %d %s, want %s", body, g.status, g.body, want)
		}
	}
	post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}]}`)
	if len(f.submitted) != 1 || f.submitted[0][0].InputIDs[0] != 256 {
		t.Errorf("the chat was %+v, want the template's first token, 256, at its beginning", f.submitted)
	}
}

// No item: nothing to do, whatever the query is.
func TestScoreNoItems(t *testing.T) {
	for _, query := range []string{`"q"`, `[1]`, `null`} {
		f := newFake()
		g := post(t, start(t, f)+"/v1/score", `{"query":`+query+`,"items":[],"label_token_ids":[65]}`)
		want := `{"scores":[],"model":"default","usage":{"prompt_tokens":0,"total_tokens":0,"completion_tokens":0,"prompt_tokens_details":null,"reasoning_tokens":0},"object":"scoring"}`
		if g.status != 200 || g.body != want || len(f.submitted) != 0 {
			t.Errorf("query %s: %d %s", query, g.status, g.body)
		}
	}
}

// A label without a log-probability scores 0; a row without any is a fault.
func TestScoreFaults(t *testing.T) {
	empty := manager.Update{Finish: &manager.Finish{Type: "length"}}
	for _, c := range []struct {
		row     manager.Update
		softmax bool
		status  int
		message string
	}{
		{scored(0, nil), false, 200, ""},
		{empty, false, 500, "item 0: no log-probabilities came, expected those of 1 labels"},
		{scored(0, nil), true, 500, "item 0: no label has a probability, expected one above 0 for apply_softmax"},
		{scored(0, map[int64]float64{65: math.NaN()}), false, 500, "item 0: the log-probability of token 65 is NaN, expected a number"},
	} {
		body := fmt.Sprintf(`{"query":"q","items":["a"],"label_token_ids":[65],"apply_softmax":%v}`, c.softmax)
		g := post(t, start(t, newFake(c.row))+"/v1/score", body)
		switch {
		case g.status != c.status:
			t.Errorf("%+v: %d %s", c, g.status, g.body)
		case c.status == 200 && fmt.Sprint(unmarshal[map[string]any](t, g.body)["scores"]) != "[[0]]":
			t.Errorf("%+v: %s, want a score of 0", c, g.body)
		case c.status != 200 && g.message(t, "/v1/score") != c.message:
			t.Errorf("%+v: %s", c, g.body)
		}
	}
}

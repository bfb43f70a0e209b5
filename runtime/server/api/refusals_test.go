package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A message names the field, its value and what is allowed.
func TestRefusals(t *testing.T) {
	long := strings.Repeat("é", 100)
	native := func(name, value, want string) [3]string {
		return [3]string{"/generate", `{"text":"x","sampling_params":{"` + name + `":` + value + `}}`, "sampling_params." + name + " is " + value + ", expected " + want}
	}
	generate := func(body, want string) [3]string { return [3]string{"/generate", body, want} }
	completion := func(fields, want string) [3]string {
		return [3]string{"/v1/completions", `{"prompt":"x",` + fields + `}`, want}
	}
	chat := func(fields, want string) [3]string {
		return [3]string{"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],` + fields + `}`, want}
	}
	messages := func(list, want string) [3]string {
		return [3]string{"/v1/chat/completions", `{"messages":` + list + `}`, want}
	}
	score := func(body, want string) [3]string { return [3]string{"/v1/score", body, want} }
	for _, c := range [][3]string{
		generate(``, "the body is empty, expected a JSON object"),
		generate(` `, "the body is empty, expected a JSON object"),
		generate(`{"text":"x"`, "the body is not JSON: unexpected end of JSON input"),
		generate(`{"text":"x"}}`, "the body is not JSON: invalid character '}' after top-level value"),
		generate(`{"text":"x"} {}`, "the body is not JSON: invalid character '{' after top-level value"),
		generate(`[1]`, "the body is a JSON array, expected an object"),
		generate(`null`, "the body is null, expected a JSON object"),
		generate("{\"text\":\"\xff\"}", "the body is not UTF-8"),
		generate(`{"text":"x","sampling_params":{"temperature":NaN}}`, "the body is not JSON: invalid character 'N' looking for beginning of value"),
		native("temperature", "-0.5", "a number of at least 0"),
		native("temperature", "1e999", "a number of at least 0"),
		native("temperature", `"1"`, "a number of at least 0"),
		native("temperature", `true`, "a number of at least 0"),
		native("top_p", "0", "a number above 0, at most 1"),
		native("top_p", "1.5", "a number above 0, at most 1"),
		native("top_k", "0", "-1 (the whole vocabulary) or at least 1"),
		native("top_k", "-2", "an integer from -1 to 2147483647"),
		native("min_p", "-0.1", "a number from 0 to 1"),
		native("frequency_penalty", "-2.5", "a number from -2 to 2"),
		native("presence_penalty", "2.5", "a number from -2 to 2"),
		native("repetition_penalty", "0", "a number above 0, at most 2"),
		native("max_new_tokens", "-1", "an integer from 0 to 2147483647"),
		native("max_new_tokens", "1.5", "an integer from 0 to 2147483647"),
		native("max_new_tokens", "99999999999999999999", "an integer from 0 to 2147483647"),
		native("min_new_tokens", "129", "at most max_new_tokens, 128"),
		native("stream_interval", "0", "an integer from 1 to 2147483647"),
		native("n", "0", "an integer from 1 to 128"),
		native("n", "1000000", "an integer from 1 to 128"),
		native("sampling_seed", "1e300", "an integer"),
		generate(`{"text":"x","sampling_params":{"max_tokens":5}}`, "sampling_params.max_tokens is unknown, expected one of max_new_tokens, min_new_tokens, temperature, "+
			"top_p, top_k, min_p, frequency_penalty, presence_penalty, repetition_penalty, stop, stop_token_ids, ignore_eos, skip_special_tokens, "+
			"spaces_between_special_tokens, no_stop_trim, logit_bias, stream_interval, sampling_seed, n"),
		native("stop", "5", "a string or a list of strings"),
		native("stop", `["a",null]`, "a string or a list of strings"),
		native("stop_token_ids", `"a"`, "a list of token ids"),
		native("ignore_eos", "1", "true or false"),
		native("regex", `"a*"`, "none: this server does not support it"),
		native("json_schema", `"{}"`, "none: this server does not support it"),
		native("ebnf", `"a"`, "none: this server does not support it"),
		native("logit_bias", `[1]`, "an object"),
		generate(`{"text":"x","sampling_params":{"stop":["a",""]}}`, "sampling_params.stop has an empty string, expected none: it would match at once"),
		generate(`{"text":"x","sampling_params":{"stop_token_ids":[1,258]}}`, "sampling_params.stop_token_ids[1] is 258, expected 0 to 257"),
		generate(`{"text":"x","sampling_params":{"logit_bias":{"258":1}}}`, `sampling_params.logit_bias has the key "258", expected token ids from 0 to 257`),
		generate(`{"text":"x","sampling_params":{"logit_bias":{"1":"a"}}}`, `sampling_params.logit_bias.1 is "a", expected a number`),
		generate(`{"text":"x","sampling_params":[]}`, "sampling_params is [], expected an object"),
		generate(`{"text":["x","y"],"sampling_params":[{}]}`, "sampling_params has 1 values, expected 2, one an item"),
		generate(`{"text":["x","y"],"sampling_params":[{},{"top_p":2}]}`, "sampling_params[1].top_p is 2, expected a number above 0, at most 1"),
		generate(`{"text":["x","y"],"sampling_params":[{},{"n":2}]}`, "sampling_params[1] has n 2, expected 1 as in the first: one request has one n"),
		generate(`{}`, "text and input_ids are both missing, expected one of them"),
		generate(`{"text":null}`, "text and input_ids are both missing, expected one of them"),
		generate(`{"Text":"x"}`, "text and input_ids are both missing, expected one of them"),
		generate(`{"text":"x","input_ids":[1]}`, "text and input_ids are both there, expected one of them"),
		generate(`{"input_embeds":[[0.5]]}`, "input_embeds is [[0.5]], expected none: this server does not support it"),
		generate(`{"text":5}`, "text is 5, expected a string or a list of strings"),
		generate(`{"text":""}`, "text is empty, expected at least one token"),
		generate(`{"text":["a",""]}`, "text[1] is empty, expected at least one token"),
		generate(`{"text":[]}`, "text is [], expected at least one prompt"),
		generate(`{"text":["`+long+`",1]}`, `text is ["`+strings.Repeat("é", 39)+`..., expected a string or a list of strings`),
		generate(`{"input_ids":[]}`, "input_ids is empty, expected at least one token"),
		generate(`{"input_ids":[[1],[]]}`, "input_ids[1] is empty, expected at least one token"),
		generate(`{"input_ids":[1,-1]}`, "input_ids[1] is -1, expected 0 to 257"),
		generate(`{"input_ids":[[1],[2,258]]}`, "input_ids[1][1] is 258, expected 0 to 257"),
		generate(`{"input_ids":[1,null]}`, "input_ids is [1,null], expected a list of token ids or a list of such lists"),
		generate(`{"input_ids":[1,2.5]}`, "input_ids is [1,2.5], expected a list of token ids or a list of such lists"),
		generate(`{"input_ids":[1,[2]]}`, "input_ids is [1,[2]], expected a list of token ids or a list of such lists"),
		generate(`{"input_ids":[[1],2]}`, "input_ids is [[1],2], expected a list of token ids or a list of such lists"),
		generate(`{"input_ids":"12"}`, `input_ids is "12", expected a list of token ids or a list of such lists`),
		generate(`{"text":"x","stream":"yes"}`, `stream is "yes", expected true or false`),
		generate(`{"text":"x","return_logprob":1}`, "return_logprob is 1, expected true or false"),
		generate(`{"text":["x","y"],"return_logprob":[true,1]}`, "return_logprob[1] is 1, expected true or false"),
		generate(`{"text":"x","logprob_start_len":-2}`, "logprob_start_len is -2, expected an integer from -1 to 2147483647"),
		generate(`{"text":"x","top_logprobs_num":259}`, "top_logprobs_num is 259, expected an integer from 0 to 258"),
		generate(`{"text":"x","token_ids_logprob":[258]}`, "token_ids_logprob[0] is 258, expected 0 to 257"),
		generate(`{"text":["x","y"],"token_ids_logprob":[[1],[300]]}`, "token_ids_logprob[1][0] is 300, expected 0 to 257"),
		generate(`{"text":"x","rid":5}`, "rid is 5, expected a string"),
		generate(`{"text":["x","y"],"rid":["a","a"]}`, `rid[1] is "a", expected each only once`),
		generate(`{"text":["x","y"],"rid":["a"]}`, "rid has 1 values, expected 2, one an item"),
		generate(`{"text":"x","image_data":"a.png"}`, `image_data is "a.png", expected none: this server does not support it`),
		generate(`{"text":"x","lora_path":"a"}`, `lora_path is "a", expected none: this server does not support it`),

		generate(`{"text":"\\\ud83d\ude00 \ud83d "}`, `the body has \ud83d, half of a character, expected both halves`),
		generate(`{"text":"\uDE00\ud83d"}`, `the body has \uDE00, half of a character, expected both halves`),
		generate(`{"text":"\ud83dx\ude00"}`, `the body has \ud83d, half of a character, expected both halves`),
		generate(`{"text":"\ud83d\ud83d\ude00"}`, `the body has \ud83d, half of a character, expected both halves`),
		generate(`{"text":"\ud83d\n"}`, `the body has \ud83d, half of a character, expected both halves`),
		generate(`{"text":"x","rid":"`+strings.Repeat("r", 257)+`"}`, "rid has 257 bytes, expected at most 256"),
		generate(`{"text":["x"`+strings.Repeat(`,"x"`, 512)+`],"sampling_params":{"n":128}}`, "n is 128 for 513 prompts, expected at most 65536 answers"),

		completion(`"prompt":null`, "prompt is missing, expected a string, a list of strings, a list of token ids or a list of such lists"),
		completion(`"prompt":""`, "prompt is empty, expected at least one token"),
		completion(`"prompt":["a",""]`, "prompt[1] is empty, expected at least one token"),
		completion(`"prompt":[]`, "prompt is empty, expected at least one token"),
		completion(`"prompt":["a",1]`, `prompt is ["a",1], expected a string or a list of strings`),
		completion(`"prompt":{}`, "prompt is {}, expected a string, a list of strings, a list of token ids or a list of such lists"),
		completion(`"prompt":[999]`, "prompt[0] is 999, expected 0 to 257"),
		completion(`"max_tokens":0`, "max_tokens is 0, expected an integer from 1 to 2147483647"),
		completion(`"max_tokens":4,"min_tokens":5`, "min_tokens is 5, expected at most max_tokens, 4"),
		completion(`"logprobs":true`, "logprobs is true, expected an integer from 0 to 258"),
		completion(`"n":2,"best_of":3`, "best_of is 3, expected n, 2: this server does not choose among more"),
		completion(`"suffix":"a"`, `suffix is "a", expected none: this server does not support it`),
		completion(`"model":"`+strings.Repeat("é", 129)+`"`, "model has 258 bytes, expected at most 256"),
		completion(`"model":5`, "model is 5, expected a string"),
		completion(`"seed":"a"`, `seed is "a", expected an integer`),
		completion(`"stream_options":[]`, "stream_options is [], expected an object"),
		completion(`"stream_options":{"include_usage":1}`, "stream_options.include_usage is 1, expected true or false"),
		completion(`"temperature":-1`, "temperature is -1, expected a number of at least 0"),

		messages(`null`, "messages is missing, expected a list of messages"),
		messages(`[]`, "messages is [], expected at least one message"),
		messages(`"hi"`, `messages is "hi", expected a list of messages`),
		messages(`[{"content":"x"}]`, "messages[0].role is null, expected one of system, developer, user, assistant"),
		messages(`[{"role":"user","content":"x"},{"role":"tool","content":"x"}]`, `messages[1].role is "tool", expected one of system, developer, user, assistant`),
		messages(`[{"role":"user"}]`, "messages[0].content is missing, expected a string or a list of text parts"),
		messages(`[{"role":"user","content":5}]`, "messages[0].content is 5, expected a string or a list of text parts"),
		messages(`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"a"}}]}]`, `messages[0].content[0].type is "image_url", expected "text": this server takes no other parts`),
		messages(`[{"role":"user","content":[{"type":"text"}]}]`, "messages[0].content[0].text is missing, expected a string"),
		messages(`[{"role":"assistant","tool_calls":[{"id":"a"}]}]`, `messages[0].tool_calls is [{"id":"a"}], expected none: the model's chat template does not know it`),
		chat(`"tools":[{"type":"function"}]`, `tools is [{"type":"function"}], expected none: the model's chat template does not know it`),
		chat(`"tools":[{"type":"function"}],"tool_choice":"required"`, `tool_choice is "required", expected "auto" or "none": this server makes no model call a tool`),
		chat(`"tool_choice":{"type":"function"}`, `tool_choice is {"type":"function"}, expected "auto" or "none": this server makes no model call a tool`),
		chat(`"response_format":{"type":"json_object"}`, `response_format.type is "json_object", expected "text": this server has no grammars`),
		chat(`"response_format":{}`, `response_format.type is null, expected "text": this server has no grammars`),
		chat(`"top_logprobs":2`, "top_logprobs is 2, expected none without logprobs"),
		chat(`"logprobs":2`, "logprobs is 2, expected true or false"),
		chat(`"max_completion_tokens":0`, "max_completion_tokens is 0, expected an integer from 1 to 2147483647"),
		chat(`"lora_path":"a"`, `lora_path is "a", expected none: this server does not support it`),

		score(`{"query":"q","items":["i"]}`, "label_token_ids must be provided"),
		score(`{"query":"q","items":["i"],"label_token_ids":[]}`, "label_token_ids is [], expected a list of at least one token id, integers"),
		score(`{"query":"q","items":["i"],"label_token_ids":[1,258]}`, "Token ID 258 is out of vocabulary (vocab size: 258)"),
		score(`{"query":"q","items":["i"],"label_token_ids":[-1]}`, "Token ID -1 is out of vocabulary (vocab size: 258)"),
		score(`{"query":"q","label_token_ids":[1]}`, "items must be provided"),
		score(`{"items":["i"],"label_token_ids":[1]}`, "Invalid combination of query/items types for score_request."),
		score(`{"query":[1],"items":["i"],"label_token_ids":[1]}`, "Invalid combination of query/items types for score_request."),
		score(`{"query":"q","items":[[1]],"label_token_ids":[1]}`, "Invalid combination of query/items types for score_request."),
		score(`{"query":"q","items":[1],"label_token_ids":[1]}`, "Invalid combination of query/items types for score_request."),
		score(`{"query":[1],"items":[1],"label_token_ids":[1]}`, "Invalid combination of query/items types for score_request."),
		score(`{"query":[999],"items":[[1]],"label_token_ids":[1]}`, "query[0] is 999, expected 0 to 257"),
		score(`{"query":[1],"items":[[1],[999]],"label_token_ids":[1]}`, "items[1][0] is 999, expected 0 to 257"),
		score(`{"query":"q","items":["i"],"label_token_ids":[1],"apply_softmax":"a"}`, `apply_softmax is "a", expected true or false`),
	} {
		path, body, want := c[0], c[1], c[2]
		f := newFake()
		g := post(t, start(t, f)+path, body)
		if g.status != 400 || g.message(t, path) != want {
			t.Errorf("%s %s:\n got %d %q\nwant 400 %q", path, body, g.status, g.message(t, path), want)
		}
		if len(f.submitted) != 0 {
			t.Errorf("%s %s was submitted", path, body)
		}
	}
}

// message of an error in the shape of the path's family.
func (g got) message(t *testing.T, path string) string {
	t.Helper()
	v := unmarshal[map[string]any](t, g.body)
	if likeOpenAI(path) || g.status == 429 || g.status >= 500 {
		if v["object"] != "error" || v["code"] != float64(g.status) || len(v) != 5 {
			t.Errorf("%s: error %s, want object, message, type, param, code", path, g.body)
		}
		return fmt.Sprint(v["message"])
	}
	if len(v) != 1 {
		t.Errorf("%s: error %s, want error", path, g.body)
	}
	return fmt.Sprint(at(v, "error", "message"))
}

// What asks for nothing is no request for what is missing; unknown names are not looked at.
func TestHarmlessFields(t *testing.T) {
	for path, more := range map[string]string{
		"/generate":            `"image_data":null,"lora_path":[],"priority":0,"return_hidden_states":false,"unknown":{"a":[1]},"sampling_params":{"regex":"","json_schema":null,"max_new_tokens":16.0}`,
		"/v1/completions":      `"suffix":"","best_of":1,"user":"u","logit_bias":{},"response_format":{"type":"text"},"stop":null,"n":null,"unknown":1`,
		"/v1/chat/completions": ` "tools" : [ ] ,"tool_choice":"none","temperature":null,"top_p":null,"stop":[],"unknown":1,"parallel_tool_calls":true`,
	} {
		f := newFake(says(0, "a", byLength))
		body := strings.TrimSuffix(requests[path], "}") + "," + more + "}"
		for _, contentType := range []string{"application/json", "text/plain", "application/x-www-form-urlencoded"} {
			if g := do(t, "POST", start(t, f)+path, body, "Content-Type", contentType); g.status != 200 {
				t.Errorf("%s as %s: %d %s", path, contentType, g.status, g.body)
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/nowhere", 404, `{"error":{"message":"path is \"/nowhere\", expected one of the endpoints of this server"}}`},
		{"GET", "/v1/nowhere", 404, `{"object":"error","message":"path is \"/v1/nowhere\", expected one of the endpoints of this server","type":"NotFoundError","param":null,"code":404}`},
		{"GET", "/generate", 405, `{"error":{"message":"method is \"GET\", expected POST"}}`},
		{"DELETE", "/flush_cache", 405, `{"error":{"message":"method is \"DELETE\", expected GET or HEAD or POST"}}`},
		{"PUT", "/v1/completions", 405, `{"object":"error","message":"method is \"PUT\", expected POST","type":"MethodNotAllowedError","param":null,"code":405}`},
		{"GET", "/v1/models/small", 200, `{"id":"small","object":"model","created":1700000000,"owned_by":"fanoutbench","root":"small","parent":null,"max_model_len":100}`},
		{"GET", "/v1/models/other", 404, `{"object":"error","message":"model is \"other\", expected \"small\"","type":"NotFoundError","param":"model","code":404}`},
		{"GET", "/metrics", 404, `{"error":{"message":"path is \"/metrics\", expected a server with --enable-metrics"}}`},
	} {
		g := do(t, c.method, start(t, newFake())+c.path, "")
		if g.status != c.status || g.body != c.body || g.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s\nwant %d %s", c.method, c.path, g.status, g.body, c.status, c.body)
		}
	}
}

func TestBodyTooLarge(t *testing.T) {
	url := start(t, newFake(says(0, "a", byLength)), func(c *Config) { c.Args.MaxBodyBytes = 40 })
	fits := `{"text":"` + strings.Repeat("x", 29) + `"}`
	if g := post(t, url+"/generate", fits); g.status != 200 {
		t.Errorf("40 bytes: %d %s", g.status, g.body)
	}
	g := post(t, url+"/generate", fits+" ")
	if want := `{"error":{"message":"the body is too large, expected at most 40 bytes"}}`; g.status != 413 || g.body != want {
		t.Errorf("41 bytes: %d %s", g.status, g.body)
	}
}

// sglang PR 36552: a client that left a session spoilt its next turn. There are no
// sessions here: they are refused, as is whatever else would be left out in silence,
// wherever it is asked for.
func TestWhatIsLackingIsRefused(t *testing.T) {
	for path, names := range map[string][]string{
		"/generate":            unsupported,
		"/v1/completions":      unsupportedOpenAI,
		"/v1/chat/completions": unsupportedOpenAI,
	} {
		url := start(t, newFake(says(0, "a", byLength)))
		for _, name := range names {
			body := strings.TrimSuffix(requests[path], "}") + `,"` + name + `":`
			want := name + ` is "a", expected none`
			if g := post(t, url+path, body+`"a"}`); g.status != 400 || !strings.HasPrefix(g.message(t, path), want) {
				t.Errorf("%s of %s: %d %s, want 400 and %q", name, path, g.status, g.body, want)
			}
			if g := post(t, start(t, newFake(says(0, "a", byLength)))+path, body+`null}`); g.status != 200 {
				t.Errorf("%s null of %s: %d %s", name, path, g.status, g.body)
			}
		}
	}
	if !slices.Contains(unsupported, "session_params") || !slices.Contains(unsupported, "session_id") {
		t.Error("sessions are not refused")
	}
}

// unused is a tokenizer that must not encode.
type unused struct {
	letters
	t *testing.T
}

func (u unused) Encode(text string) ([]int64, error) {
	u.t.Errorf("a text of %d bytes was encoded", len(text))
	return nil, nil
}

// A chat that cannot fit is refused before it is made ids, in the shape of its like.
func TestLongChat(t *testing.T) {
	f := newFake()
	url := start(t, f, func(c *Config) { c.Tokenizer, c.Args.MaxBodyBytes = unused{t: t}, 64<<20 })
	g := post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"`+strings.Repeat("x", 60_000_000)+`"}]}`)
	v := unmarshal[map[string]any](t, g.body)
	message, _ := v["message"].(string)
	if g.status != 400 || v["object"] != "error" || v["type"] != "BadRequestError" || v["code"] != 400.0 || !strings.HasPrefix(message, "the prompt has at least 50000") || len(f.submitted) != 0 {
		t.Errorf("%d %.300s", g.status, g.body)
	}
}

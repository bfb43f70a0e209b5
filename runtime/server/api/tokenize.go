package api

import "net/http"

type tokenizeResponse struct {
	Tokens any `json:"tokens"` // []int64, or one such list a prompt
	Count  any `json:"count"`  // int, or []int
	MaxLen int `json:"max_model_len"`
}

// tokenize answers POST /tokenize and /v1/tokenize: {"prompt": TEXT or [TEXT, ...]},
// as SGLang has it. add_special_tokens, true without being named, puts before each
// what the tokenizer has before a prompt.
func (a *api) tokenize(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	encode := a.Tokenizer.Encode
	if f.flag("add_special_tokens", true) {
		encode = a.Tokenizer.EncodePrompt
	}
	prompts := f.texts("prompt", true)
	raw, has := f.get("prompt")
	if !has {
		f.fail("prompt", "is not there, expected a string or a list of strings")
	}
	if err := f.fault(); err != nil {
		return err
	}
	lists, counts := make([][]int64, len(prompts)), make([]int, len(prompts))
	for i, text := range prompts {
		ids, err := encode(text)
		if err != nil {
			return invalid(element("prompt", i, raw[0] == '['), "cannot be tokenized: %v", err)
		}
		lists[i], counts[i] = append([]int64{}, ids...), len(ids)
	}
	out := tokenizeResponse{Tokens: lists, Count: counts, MaxLen: a.Info.ContextLength}
	if raw[0] != '[' {
		out.Tokens, out.Count = lists[0], counts[0]
	}
	return e.json(http.StatusOK, &out)
}

// detokenize answers POST /detokenize and /v1/detokenize: {"tokens": IDS or [IDS, ...]},
// as SGLang has it. Ids outside the vocabulary are refused with 400 (there: 500).
func (a *api) detokenize(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	skip := f.flag("skip_special_tokens", true)
	raw, has := f.get("tokens")
	const want = "a list of token ids or a list of such lists"
	if !has {
		f.fail("tokens", "is not there, expected "+want)
		return f.fault()
	}
	lists, batch, fine := parsePrompts(raw)
	if !fine {
		f.wrong("tokens", raw, want)
	}
	for i, ids := range lists {
		f.checkIDs(element("tokens", i, batch), ids, a.Info.VocabSize)
	}
	if err := f.fault(); err != nil {
		return err
	}
	texts := make([]string, len(lists))
	for i, ids := range lists {
		texts[i] = string(a.Tokenizer.AppendDecode(nil, ids, skip, true))
	}
	var out struct {
		Text any `json:"text"`
	}
	if out.Text = texts; !batch {
		out.Text = texts[0]
	}
	return e.json(http.StatusOK, out)
}

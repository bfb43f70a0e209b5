package api

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// Both built-in models have ChatML's marks as single tokens, and its end of a turn
// is an EOS: a chat's answer ends there.
func TestChatMLOfBuiltInModels(t *testing.T) {
	for _, device := range []string{backend.CPU, backend.Sim} {
		a := args.Args{Device: device, DType: "auto", ContextLength: 100}
		info, err := backend.Describe(a)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := backend.NewTokenizer(a)
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]int64{}
		for _, mark := range marks {
			one, err := tok.Encode(mark)
			if err != nil || len(one) != 1 {
				t.Fatalf("%s: %s is %v, error %v, want one token", device, mark, one, err)
			}
			ids[mark] = one[0]
		}
		if end := ids["<|im_end|>"]; !slices.Contains(info.EOS, end) {
			t.Errorf("%s: <|im_end|> is %d, want it among the EOS %v", device, end, info.EOS)
		}
		template, err := backend.ChatTemplate(a)
		if err != nil {
			t.Fatal(err)
		}
		text, err := template.Render(chat.Request{Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":"hi"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := tok.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := ids["<|im_start|>"], ids["<|im_end|>"]
		if n := len(prompt); n < 6 || prompt[0] != begin || !slices.Contains(prompt, end) || slices.Index(prompt[1:], begin) < 0 {
			t.Errorf("%s: a chat is %v, want %d around both turns' beginnings and %d after the first", device, prompt, begin, end)
		}
	}
}

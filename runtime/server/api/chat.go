package api

import (
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// chatRequest is a body of /v1/chat/completions.
type chatRequest struct {
	common
	item  manager.Item
	spell speller
}

func (a *api) parseChat(f *fields) (*chatRequest, error) {
	if a.Template == nil {
		return nil, invalid("messages", "messages cannot be made a prompt: the model has no chat template; start the server with --chat-template, or use /v1/completions")
	}
	c := &chatRequest{spell: speller{tokenizer: a.Tokenizer}}
	c.read(f, "chatcmpl-", a.Info.VocabSize)
	c.logprobs = f.flag("logprobs", false)
	c.top = int(f.whole("top_logprobs", 0, 0, int64(a.Info.VocabSize)))
	if c.top > 0 && !c.logprobs {
		f.fail("top_logprobs", "is %d, expected none without logprobs", c.top)
	}
	request := f.conversation(a.Template)
	f.refuse("input_ids", "reasoning", "task", "modalities", "audio")
	if f.err != nil {
		return nil, f.err
	}
	prompt, err := a.Template.Render(request)
	if err != nil {
		return nil, unrendered(err)
	}
	if err := manager.CheckLength(a.Tokenizer, a.Info.ContextLength, prompt, 1); err != nil {
		return nil, err
	}
	ids, err := a.Tokenizer.Encode(prompt) // the template has written what stands before a prompt
	if err != nil {
		return nil, invalid("messages", "messages cannot be made token ids: %s", err)
	}
	// Without a limit an answer may fill the context; SGLang has room for one token less.
	room := int64(max(1, a.Info.ContextLength-len(ids)-1))
	limit := f.whole("max_completion_tokens", room, 1, math.MaxInt32)
	c.limit(f, f.whole("max_tokens", limit, 1, math.MaxInt32))
	c.item = c.common.item()
	if request.Tools != nil {
		c.item.Params.SkipSpecialTokens = false // as SGLang: calls may stand between special tokens
	}
	c.item.RID, c.item.Text, c.item.InputIDs = c.id, prompt, ids
	return c, f.fault()
}

// chat answers POST /v1/chat/completions.
func (a *api) chat(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	c, err := a.parseChat(f)
	if err != nil {
		return err
	}
	call, err := a.Service.Submit(e.ctx(), []manager.Item{c.item}, c.n)
	if err != nil {
		return err
	}
	defer call.Close()
	if c.stream {
		return a.chatStream(e, c, call)
	}
	return a.chatUnary(e, c, call)
}

package api

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// chatRequest is a body of /v1/chat/completions.
type chatRequest struct {
	common
	item  manager.Item
	spell speller
}

func (a *api) parseChat(f *fields) (*chatRequest, error) {
	c := &chatRequest{spell: speller{tokenizer: a.Tokenizer}}
	c.read(f, "chatcmpl-", a.Info.VocabSize)
	c.logprobs = f.flag("logprobs", false)
	c.top = int(f.whole("top_logprobs", 0, 0, int64(a.Info.VocabSize)))
	if c.top > 0 && !c.logprobs {
		f.fail("top_logprobs", "is %d, expected none without logprobs", c.top)
	}
	chat := f.messages(a.Template.Roles())
	f.refuse("input_ids", "continue_final_message", "chat_template_kwargs", "reasoning_effort", "reasoning", "task", "modalities", "audio")
	f.tools()
	if f.err != nil {
		return nil, f.err
	}
	prompt := a.Template.Render(chat)
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
	c.item.RID, c.item.Text, c.item.InputIDs = c.id, prompt, ids
	return c, f.fault()
}

// tools takes tools only where the client says that none is to be called.
func (f *fields) tools() {
	raw, has := f.get("tool_choice")
	switch {
	case !has || string(raw) == `"auto"`:
		f.refuse("tools", "functions")
	case string(raw) == `"none"`:
	default:
		f.fail("tool_choice", `is %s, expected "none": this server calls no tools`, show(raw))
	}
}

// messages reads a chat.
func (f *fields) messages(roles []string) []Message {
	raw, has := f.get("messages")
	if !has {
		f.fail("messages", "is missing, expected a list of messages")
		return nil
	}
	var list []map[string]json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		f.wrong("messages", raw, "a list of messages")
		return nil
	}
	if len(list) == 0 {
		f.wrong("messages", raw, "at least one message")
	}
	chat := make([]Message, 0, len(list))
	for i, one := range list {
		m := &fields{raw: one, prefix: "messages[" + strconv.Itoa(i) + "]."}
		chat = append(chat, m.message(roles))
		f.take(m)
	}
	return chat
}

func (f *fields) message(roles []string) Message {
	role := strings.ToLower(f.text("role", ""))
	if !slices.Contains(roles, role) {
		f.fail("role", "is %s, expected one of %s", show(orNull(f.raw["role"])), strings.Join(roles, ", "))
	}
	f.refuse("tool_calls", "function_call", "tools", "reasoning_content", "audio")
	return Message{role, f.content(role)}
}

// content reads a string or parts that are text; an assistant's may be missing.
func (f *fields) content(role string) string {
	raw, has := f.get("content")
	switch {
	case !has && role != "assistant":
		f.fail("content", "is missing, expected a string or a list of text parts")
		return ""
	case !has || raw[0] == '"':
		return f.text("content", "")
	}
	var parts []map[string]json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		f.wrong("content", raw, "a string or a list of text parts")
		return ""
	}
	var b strings.Builder
	for i, one := range parts {
		p := &fields{raw: one, prefix: f.prefix + "content[" + strconv.Itoa(i) + "]."}
		if kind := p.text("type", ""); kind != "text" {
			p.fail("type", `is %s, expected "text": this server takes no other parts`, show(orNull(one["type"])))
		}
		if _, has := p.get("text"); !has {
			p.fail("text", "is missing, expected a string")
		}
		b.WriteString(p.text("text", ""))
		f.take(p)
	}
	return b.String()
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

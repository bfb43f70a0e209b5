package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// tokenLogprob is the newer of OpenAI's two shapes of logprobs.
type tokenLogprob struct {
	Token   string            `json:"token"`
	Bytes   []int             `json:"bytes"`
	Logprob float64           `json:"logprob"`
	Top     []topTokenLogprob `json:"top_logprobs"`
}

type topTokenLogprob struct {
	Token   string  `json:"token"`
	Bytes   []int   `json:"bytes"`
	Logprob float64 `json:"logprob"`
}

// chatLogprobs has one entry for each token of the content.
type chatLogprobs struct {
	Content []tokenLogprob `json:"content"`
}

func (l *chatLogprobs) add(s *speller, all []manager.Position) {
	for i := range all {
		at := &all[i]
		entry := tokenLogprob{s.text(at.Token.ID), s.bytes(at.Token.ID), finite(at.Token.Val), make([]topTokenLogprob, 0, len(at.Top))}
		for _, t := range at.Top {
			entry.Top = append(entry.Top, topTokenLogprob{s.text(t.ID), s.bytes(t.ID), finite(t.Val)})
		}
		l.Content = append(l.Content, entry)
	}
}

// chatMessage is an answer; the last two are always null here.
type chatMessage struct {
	Role      string    `json:"role"`
	Content   string    `json:"content"`
	Reasoning *string   `json:"reasoning_content"`
	ToolCalls *struct{} `json:"tool_calls"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
	Matched  any           `json:"matched_stop"`
}

type chatResponse struct {
	ID       string       `json:"id"`
	Object   string       `json:"object"`
	Created  int64        `json:"created"`
	Model    string       `json:"model"`
	Choices  []chatChoice `json:"choices"`
	Usage    usage        `json:"usage"`
	Metadata metadata     `json:"metadata"`
}

func (a *api) chatUnary(e *exchange, c *chatRequest, call manager.Call) error {
	t, texts := newTally(c.n, c.n), make([]strings.Builder, c.n)
	out := chatResponse{
		ID: c.id, Object: "chat.completion", Created: a.Now().Unix(), Model: c.model,
		Choices: make([]chatChoice, c.n), Metadata: metadata{weightVersion},
	}
	for i := range out.Choices {
		out.Choices[i].Index = i
		if c.logprobs {
			out.Choices[i].Logprobs = &chatLogprobs{Content: []tokenLogprob{}}
		}
	}
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		t.add(u)
		texts[u.Index].WriteString(u.Text)
		choice := &out.Choices[u.Index]
		if c.logprobs {
			choice.Logprobs.add(&c.spell, u.OutputLogprobs)
		}
		choice.Finish, choice.Matched = finishType(u.Finish), matched(u.Finish)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range out.Choices {
		out.Choices[i].Message = chatMessage{Role: "assistant", Content: texts[i].String()}
	}
	out.Usage = t.usage()
	return e.json(http.StatusOK, &out)
}

// chatStream sends a first chunk with the role for each index, its content, and
// after all indices have finished a last chunk for each.
func (a *api) chatStream(e *exchange, c *chatRequest, call manager.Call) error {
	e.begin()
	t, begun, finished := newTally(c.n, c.n), make([]bool, c.n), make([]*manager.Finish, c.n)
	fixed := head("chat.completion.chunk", &c.common, a.Now().Unix())
	var events []byte
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		t.add(u)
		events = events[:0]
		each := c.each(t, u.Index)
		if !begun[u.Index] {
			begun[u.Index] = true
			events = appendDelta(append(events, fixed...), u.Index, `{"role":"assistant","content":""}`)
			events = appendTail(events, nil, nil, each)
		}
		logprobs, err := c.chunkLogprobs(u)
		if err != nil {
			return err
		}
		if u.Text != "" || logprobs != nil {
			events = appendDelta(append(events, fixed...), u.Index, `{"content":"`)
			events = append(appendEscaped(events, u.Text), `"}`...)
			events = appendTail(events, logprobs, nil, each)
		}
		if u.Finish != nil {
			finished[u.Index] = u.Finish
		}
		if len(events) == 0 {
			return nil
		}
		return e.send(events)
	})
	if err != nil {
		return err
	}
	events = events[:0]
	for i, finish := range finished {
		events = appendDelta(append(events, fixed...), i, "{}")
		events = appendTail(events, nil, finish, c.each(t, i))
	}
	if err := e.send(events); err != nil {
		return err
	}
	return e.endStream(&c.common, fixed, t)
}

// appendDelta begins a choice.
func appendDelta(dst []byte, index int, delta string) []byte {
	dst = appendInt(append(dst, `{"index":`...), index)
	return append(append(dst, `,"delta":`...), delta...)
}

// chunkLogprobs is the JSON of an update's logprobs, nil if there are none. They
// go with the update's text even where that is empty (held back), or the tokens
// of later text would lack theirs.
func (c *chatRequest) chunkLogprobs(u *manager.Update) (json.RawMessage, error) {
	if !c.logprobs || len(u.OutputLogprobs) == 0 {
		return nil, nil
	}
	l := chatLogprobs{}
	l.add(&c.spell, u.OutputLogprobs)
	return marshal(l)
}

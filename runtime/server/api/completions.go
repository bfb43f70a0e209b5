package api

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// completionRequest is a body of /v1/completions.
type completionRequest struct {
	common
	items []manager.Item
	echo  []string // the prompts, if asked for
	spell speller
}

func (a *api) parseCompletion(f *fields) (*completionRequest, error) {
	c := &completionRequest{spell: speller{tokenizer: a.Tokenizer}}
	c.read(f, "cmpl-", a.Info.VocabSize)
	const defaultTokens = 16
	c.limit(f, f.whole("max_tokens", defaultTokens, 1, math.MaxInt32))
	_, c.logprobs = f.get("logprobs")
	c.top = int(f.whole("logprobs", 0, 0, int64(a.Info.VocabSize)))
	c.prompts(f, a.Info.VocabSize)
	f.checkAnswers(len(c.items), c.n)
	f.refuse("suffix")
	if best := f.whole("best_of", int64(c.n), 1, math.MaxInt32); best != int64(c.n) {
		f.fail("best_of", "is %d, expected n, %d: this server does not choose among more", best, c.n)
	}
	if f.flag("echo", false) {
		c.keepPrompts()
	}
	return c, f.fault()
}

// prompts reads a string, strings, ids or lists of ids.
func (c *completionRequest) prompts(f *fields, vocab int) {
	raw, has := f.get("prompt")
	if !has {
		f.fail("prompt", "is missing, expected a string, a list of strings, a list of token ids or a list of such lists")
		return
	}
	if raw[0] == '"' || raw[0] == '[' && bytes.HasPrefix(bytes.TrimSpace(raw[1:]), []byte(`"`)) {
		for i, text := range f.texts("prompt", true) {
			if text == "" {
				f.fail(element("prompt", i, raw[0] == '['), "is empty, expected at least one token")
			}
			it := c.item()
			it.Text = text
			c.items = append(c.items, it)
		}
		c.name()
		return
	}
	lists, batch, fine := parsePrompts(raw)
	if !fine {
		f.wrong("prompt", raw, "a string, a list of strings, a list of token ids or a list of such lists")
		return
	}
	for i, list := range lists {
		name := element("prompt", i, batch)
		if len(list) == 0 {
			f.fail(name, "is empty, expected at least one token")
		}
		f.checkIDs(name, list, vocab)
		it := c.item()
		it.InputIDs = list
		c.items = append(c.items, it)
	}
	c.name()
}

// name gives the items their rids.
func (c *completionRequest) name() {
	for i := range c.items {
		c.items[i].RID = c.id
		if len(c.items) > 1 {
			c.items[i].RID += "_" + strconv.Itoa(i)
		}
	}
}

// keepPrompts is for echo: with logprobs those of the prompt are wanted as well.
func (c *completionRequest) keepPrompts() {
	for i := range c.items {
		it := &c.items[i]
		if it.InputIDs != nil {
			it.Text = string(c.spell.tokenizer.AppendDecode(nil, it.InputIDs, true, true))
		}
		if c.logprobs {
			it.LogprobStartLen = 0
		}
		c.echo = append(c.echo, it.Text)
	}
}

// completionLogprobs is the older of OpenAI's two shapes.
type completionLogprobs struct {
	Offsets []int      `json:"text_offset"` // -1, as SGLang has it
	Values  []*float64 `json:"token_logprobs"`
	Tokens  []string   `json:"tokens"`
	Top     []topList  `json:"top_logprobs"`
}

func newCompletionLogprobs() *completionLogprobs {
	return &completionLogprobs{Offsets: []int{}, Values: []*float64{}, Tokens: []string{}, Top: []topList{}}
}

func (l *completionLogprobs) add(s *speller, all []manager.Position, top bool) {
	for i := range all {
		at := &all[i]
		l.Tokens = append(l.Tokens, s.text(at.Token.ID))
		l.Offsets = append(l.Offsets, -1)
		var value *float64
		if !at.Null {
			v := finite(at.Token.Val)
			value = &v
		}
		l.Values = append(l.Values, value)
		if top {
			l.Top = append(l.Top, newTopList(s, at))
		}
	}
}

// topList is an object from text to log-probability that keeps its order, the
// likeliest first. Of two tokens of one text (parts of characters) the likelier
// stays, as in SGLang. nil is null.
type topList []byte

func newTopList(s *speller, at *manager.Position) topList {
	if at.Null {
		return nil
	}
	b := []byte{'{'}
	seen := map[string]bool{}
	for _, t := range at.Top {
		text := s.text(t.ID)
		if seen[text] {
			continue
		}
		if seen[text] = true; len(b) > 1 {
			b = append(b, ',')
		}
		b = appendFloat(append(appendString(b, text), ':'), finite(t.Val))
	}
	return append(b, '}')
}

func (l topList) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("null"), nil
	}
	return l, nil
}

type completionChoice struct {
	Index    int                 `json:"index"`
	Text     string              `json:"text"`
	Logprobs *completionLogprobs `json:"logprobs"`
	Finish   *string             `json:"finish_reason"`
	Matched  any                 `json:"matched_stop"`
}

type completionResponse struct {
	ID       string             `json:"id"`
	Object   string             `json:"object"`
	Created  int64              `json:"created"`
	Model    string             `json:"model"`
	Choices  []completionChoice `json:"choices"`
	Usage    usage              `json:"usage"`
	Metadata metadata           `json:"metadata"`
}

// completions answers POST /v1/completions.
func (a *api) completions(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	c, err := a.parseCompletion(f)
	if err != nil {
		return err
	}
	call, err := a.Service.Submit(e.ctx(), c.items, c.n)
	if err != nil {
		return err
	}
	defer call.Close()
	if c.stream {
		return a.completionStream(e, c, call)
	}
	return a.completionUnary(e, c, call)
}

func (a *api) completionUnary(e *exchange, c *completionRequest, call manager.Call) error {
	indices := len(c.items) * c.n
	t, texts := newTally(indices, c.n), make([]strings.Builder, indices)
	out := completionResponse{
		ID: c.id, Object: "text_completion", Created: a.Now().Unix(), Model: c.model,
		Choices: make([]completionChoice, indices), Metadata: metadata{weightVersion},
	}
	for i := range out.Choices {
		out.Choices[i].Index = i
		if c.logprobs {
			out.Choices[i].Logprobs = newCompletionLogprobs()
		}
		if c.echo != nil {
			texts[i].WriteString(c.echo[i/c.n])
		}
	}
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		t.add(u)
		texts[u.Index].WriteString(u.Text)
		choice := &out.Choices[u.Index]
		c.addLogprobs(choice.Logprobs, u)
		choice.Finish, choice.Matched = finishType(u.Finish), matched(u.Finish)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range out.Choices {
		out.Choices[i].Text = texts[i].String()
	}
	out.Usage = t.usage()
	return e.json(http.StatusOK, &out)
}

// addLogprobs adds an update's; the prompt's only where it is echoed.
func (c *completionRequest) addLogprobs(l *completionLogprobs, u *manager.Update) {
	if l == nil {
		return
	}
	if c.echo != nil {
		l.add(&c.spell, u.InputLogprobs, c.top > 0)
	}
	l.add(&c.spell, u.OutputLogprobs, c.top > 0)
}

func (a *api) completionStream(e *exchange, c *completionRequest, call manager.Call) error {
	e.begin()
	indices := len(c.items) * c.n
	t, begun := newTally(indices, c.n), make([]bool, indices)
	fixed := head("text_completion", &c.common, a.Now().Unix())
	var chunk []byte
	err := drive(e.ctx(), call, func(u *manager.Update) error {
		t.add(u)
		first := c.echo != nil && !begun[u.Index]
		logprobs, err := c.chunkLogprobs(u)
		if err != nil {
			return err
		}
		if u.Text == "" && logprobs == nil && u.Finish == nil && !first {
			return nil
		}
		begun[u.Index] = true
		chunk = appendInt(append(append(chunk[:0], fixed...), `{"index":`...), u.Index)
		chunk = append(chunk, `,"text":"`...)
		if first {
			chunk = appendEscaped(chunk, c.echo[u.Index/c.n])
		}
		chunk = append(appendEscaped(chunk, u.Text), '"')
		chunk = appendTail(chunk, logprobs, u.Finish, c.each(t, u.Index))
		return e.send(chunk)
	})
	if err != nil {
		return err
	}
	return e.endStream(&c.common, fixed, t)
}

// chunkLogprobs is the JSON of an update's logprobs, nil if there are none.
func (c *completionRequest) chunkLogprobs(u *manager.Update) (json.RawMessage, error) {
	if !c.logprobs {
		return nil, nil
	}
	l := newCompletionLogprobs()
	if c.addLogprobs(l, u); len(l.Tokens) == 0 {
		return nil, nil
	}
	return marshal(l)
}

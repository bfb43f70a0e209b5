package scoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Options of all bodies of a set.
type Options struct {
	API          string
	Run          string // in every rid, so that those of two trials differ: letters, digits, dots and dashes
	Model        string // empty: "default"
	Labels       []int64
	Cold         bool
	OutputTokens int  // completions and chat
	Stream       bool // completions and chat
}

// Set is the bodies of a trial.
type Set struct {
	Options
	Prompts []Prompt
	bodies  []template
}

// template is a body with the digits of the send left open.
type template struct {
	body  []byte
	holes []int // where the digits go
}

// sendDigits are the digits of a send's number.
const sendDigits = 8

// mark stands for the digits in a body that is being made. No text that JSON
// encodes has it: a NUL is an escape there.
const mark = "\x00"

// NewSet makes the bodies of prompts.
func NewSet(o Options, prompts []Prompt) (*Set, error) {
	if err := o.check(prompts); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	s := &Set{Options: o, Prompts: prompts}
	for i, p := range prompts {
		t, err := o.template(p)
		if err != nil {
			return nil, fmt.Errorf("scoring: prompt %d: %w", i, err)
		}
		s.bodies = append(s.bodies, t)
	}
	return s, nil
}

func (o Options) check(prompts []Prompt) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.'
	}
	switch _, known := paths[o.API]; {
	case !known:
		return fmt.Errorf("api is %q, expected score, completions or chat", o.API)
	case o.Run == "" || strings.TrimFunc(o.Run, plain) != "":
		return fmt.Errorf("run is %q, expected letters, digits, dots and dashes", o.Run)
	case len(prompts) == 0:
		return fmt.Errorf("no prompt, expected at least one")
	case o.API != Score && o.OutputTokens < 1:
		return fmt.Errorf("output tokens is %d, expected at least 1 for %s", o.OutputTokens, o.API)
	case o.API == Score && o.Stream:
		return fmt.Errorf("a score is not streamed, expected stream with completions or chat only")
	}
	for i, p := range prompts {
		switch {
		case p.count() == 0:
			return fmt.Errorf("prompt %d has no item, expected at least one", i)
		case o.API == Score && len(o.Labels) == 0 && len(p.Labels) == 0:
			return fmt.Errorf("prompt %d has no label, expected label ids of its own or of the run", i)
		case (o.API == Chat) != (p.Messages != nil):
			return fmt.Errorf("prompt %d is not one of %s", i, o.API)
		}
	}
	return nil
}

// Path of the API.
func (s *Set) Path() string { return paths[s.API] }

// Header that every send has beside the sender's own.
func (s *Set) Header() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// Len is how many prompts there are.
func (s *Set) Len() int { return len(s.bodies) }

// Prompt of a send.
func (s *Set) Prompt(send int) Prompt { return s.Prompts[send%s.Len()] }

// Body of a send.
func (s *Set) Body(send int) []byte {
	t := s.bodies[send%s.Len()]
	body := slices.Clone(t.body)
	number := fmt.Appendf(nil, "%0*d", sendDigits, send)
	for _, at := range t.holes {
		copy(body[at:at+sendDigits], number)
	}
	return body
}

// Bodies of the sends from first on, n of them. Where two sends are never in
// flight at once and nobody asks for their items, the first Len will do.
func (s *Set) Bodies(first, n int) [][]byte {
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = s.Body(first + i)
	}
	return bodies
}

// RIDs of the items of a send, in their order.
func (s *Set) RIDs(send int) []string {
	rid := fmt.Sprintf("%s-%0*d", s.Run, sendDigits, send)
	p := s.Prompt(send)
	n := p.count()
	if n == 1 && s.API != Score {
		return []string{rid}
	}
	rids := make([]string, n)
	for i := range rids {
		rids[i] = rid + "_" + strconv.Itoa(i)
	}
	return rids
}

// labels of a prompt.
func (o Options) labels(p Prompt) []int64 {
	if len(p.Labels) > 0 {
		return p.Labels
	}
	return o.Labels
}

// object is JSON that keeps its order.
type object struct {
	buf bytes.Buffer
	err error
}

func (o *object) add(name string, value any) {
	text, err := marshal(value)
	if o.err == nil {
		o.err = err
	}
	o.addRaw(name, text)
}

func (o *object) addRaw(name string, raw []byte) {
	if o.buf.Len() > 0 {
		o.buf.WriteByte(',')
	}
	fmt.Fprintf(&o.buf, "%q:%s", name, raw)
}

// marshal leaves < and > as they are, as clients do.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// template makes the body of a prompt.
func (o Options) template(p Prompt) (template, error) {
	var b object
	switch o.API {
	case Score:
		o.score(&b, p)
	default:
		o.generation(&b, p)
	}
	rid := o.Run + "-" + mark
	b.addRaw("rid", []byte(`"`+rid+`"`))
	if o.Cold {
		b.addRaw("cache_salt", o.salts(rid, p.count()))
	}
	return b.template()
}

func (o Options) score(b *object, p Prompt) {
	if p.ItemIDs != nil {
		query := p.QueryIDs
		if query == nil {
			query = []int64{}
		}
		b.add("query", query)
		b.add("items", p.ItemIDs)
	} else {
		b.add("query", p.Query)
		b.add("items", p.Items)
	}
	b.add("label_token_ids", o.labels(p))
	b.add("apply_softmax", false)
	b.add("item_first", false)
	b.add("model", o.model())
}

func (o Options) model() string {
	if o.Model == "" {
		return "default"
	}
	return o.Model
}

// generation is a body of completions or chat: greedy, to its full length.
func (o Options) generation(b *object, p Prompt) {
	b.add("model", o.model())
	switch {
	case p.Messages != nil:
		b.add("messages", p.Messages)
	case p.ItemIDs != nil:
		lists := make([][]int64, len(p.ItemIDs))
		for i, item := range p.ItemIDs {
			lists[i] = slices.Concat(p.QueryIDs, item)
		}
		b.add("prompt", one(lists))
	default:
		b.add("prompt", one(p.joined()))
	}
	b.add("max_tokens", o.OutputTokens)
	b.add("temperature", 0)
	b.add("ignore_eos", true)
	b.add("stream", o.Stream)
	if o.Stream {
		b.add("stream_options", map[string]bool{"include_usage": true, "continuous_usage_stats": true})
	}
}

// one is a list's only element, or the list.
func one[T any](list []T) any {
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// salts are one an item for /v1/score. The OpenAI paths take one for the whole
// request.
func (o Options) salts(rid string, n int) []byte {
	if o.API != Score {
		return []byte(`"` + rid + `"`)
	}
	list := make([]string, n)
	for i := range list {
		list[i] = `"` + rid + "_" + strconv.Itoa(i) + `"`
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

// template replaces the marks.
func (o *object) template() (template, error) {
	if o.err != nil {
		return template{}, o.err
	}
	var t template
	pieces := bytes.Split(slices.Concat([]byte("{"), o.buf.Bytes(), []byte("}")), []byte(mark))
	for i, piece := range pieces {
		if i > 0 {
			t.holes = append(t.holes, len(t.body))
			t.body = append(t.body, strings.Repeat("0", sendDigits)...)
		}
		t.body = append(t.body, piece...)
	}
	return t, nil
}

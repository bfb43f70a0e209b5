package jinja

import (
	"errors"
	"strings"
	"time"
)

// Template is a parsed template. It does not change, so any number of calls may render it at once.
type Template struct {
	name  string
	body  []stmt
	words map[string]bool // variables, attributes and texts that stand in it
	over  map[string]bool // last words of what loops run over
}

// mostSource bounds a template's text. The longest known are below 64 KiB.
const mostSource = 1 << 20

// Parse reads a template. name stands in errors, which are *Error.
func Parse(name, source string) (*Template, error) {
	if len(source) > mostSource {
		return nil, &Error{Template: name, Line: 1, Message: "the template is longer than 1 MiB"}
	}
	tokens, err := lex(name, source)
	if err != nil {
		return nil, err
	}
	p := &parser{file: name, tokens: tokens, reads: map[string]bool{}, words: map[string]bool{}, over: map[string]bool{}}
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	return &Template{name, body, p.words, p.over}, nil
}

// Mentions says whether a variable, an attribute or a text of the template is this word.
func (t *Template) Mentions(word string) bool { return t.words[word] }

// Loops says whether a loop of the template runs over a variable, attribute or element of this name.
func (t *Template) Loops(name string) bool { return t.over[name] }

// Limits bound one rendering.
type Limits struct {
	Steps int64 // statements, expressions, elements looked at
	Bytes int64 // of all texts that are made on the way, the result among them
}

// Bounds are enough for any chat that fits a context: Qwen3's template takes some 60 steps a message. They end a
// template that loops after about a second.
var Bounds = Limits{Steps: 2_000_000, Bytes: 256 << 20}

// mostDeep bounds calls and expressions within each other while rendering, and values within each other.
const mostDeep = 1000

// Render gives the template's text. Vars are its variables; now is the clock of strftime_now. A fault is an *Error.
func (t *Template) Render(vars map[string]Value, limits Limits, now func() time.Time) (string, error) {
	root := &scope{vars: map[string]value{}}
	for k, v := range vars {
		root.vars[k] = v.v
	}
	var out strings.Builder
	st := &state{template: t, steps: limits.Steps, bytes: limits.Bytes, now: now, scope: root, out: &out}
	if _, err := st.run(t.body); err != nil {
		return "", locate(t.name, 1, err)
	}
	return out.String(), nil
}

// scope has the names that a body has set; what it does not have is looked for around it.
type scope struct {
	vars   map[string]value
	around *scope
}

func (s *scope) find(name string) (value, bool) {
	for ; s != nil; s = s.around {
		if v, has := s.vars[name]; has {
			return v, true
		}
	}
	f, has := globals[name]
	return f, has
}

// state is a rendering.
type state struct {
	template     *Template
	steps, bytes int64 // left
	depth        int
	now          func() time.Time
	scope        *scope
	out          *strings.Builder
}

var (
	errSteps = errors.New("the template takes too many steps: it may loop without end")
	errBytes = errors.New("the template makes too much text: it may loop without end")
	errDeep  = errors.New("calls, expressions or values within each other too deep: they may have no end")
)

// spend counts n steps.
func (st *state) spend(n int) error {
	if st.steps -= int64(n); st.steps < 0 {
		return errSteps
	}
	return nil
}

// make counts n bytes of text, before they are made.
func (st *state) make(n int) error {
	if st.bytes -= int64(n); st.bytes < 0 {
		return errBytes
	}
	return nil
}

// made counts a text that was made of others no shorter.
func (st *state) made(s string) (value, error) { return s, st.make(len(s)) }

// enter goes one deeper, and leave comes back.
func (st *state) enter() error {
	if st.depth++; st.depth > mostDeep {
		return errDeep
	}
	return st.spend(1)
}

func (st *state) leave() { st.depth-- }

func (st *state) eval(e expr) (value, error) {
	if err := st.enter(); err != nil {
		return nil, locate(st.template.name, e.line(), err)
	}
	v, err := e.eval(st)
	st.leave()
	return v, locate(st.template.name, e.line(), err)
}

func (st *state) evalAll(list []expr) ([]value, error) {
	out := make([]value, len(list))
	for i, e := range list {
		var err error
		if out[i], err = st.eval(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// run does statements up to one that asks for something.
func (st *state) run(body []stmt) (signal, error) {
	for _, s := range body {
		if err := st.enter(); err != nil {
			return proceed, locate(st.template.name, s.line(), err)
		}
		sig, err := s.exec(st)
		st.leave()
		if err != nil || sig != proceed {
			return sig, locate(st.template.name, s.line(), err)
		}
	}
	return proceed, nil
}

// within runs a body in a scope of its own inside another.
func (st *state) within(around *scope, vars map[string]value, body []stmt) (signal, error) {
	was := st.scope
	st.scope = &scope{vars, around}
	sig, err := st.run(body)
	st.scope = was
	return sig, err
}

// capture gives a body's text, of a scope of its own.
func (st *state) capture(around *scope, vars map[string]value, body []stmt) (string, error) {
	was := st.out
	var b strings.Builder
	st.out = &b
	_, err := st.within(around, vars, body)
	st.out = was
	return b.String(), err
}

func (st *state) write(s string) error {
	if err := st.make(len(s)); err != nil {
		return err
	}
	st.out.WriteString(s)
	return nil
}

// unpack gives a value's elements; what has none is an error.
func (st *state) unpack(v value) ([]value, error) {
	var out []value
	switch v := v.(type) {
	case undefined:
	case *list:
		out = v.take()
	case *dict:
		out = v.keyValues()
	case string:
		for i, r := range v {
			out = append(out, v[i:i+len(string(r))])
		}
	default:
		return nil, notIterable(v)
	}
	return out, st.spend(len(out))
}

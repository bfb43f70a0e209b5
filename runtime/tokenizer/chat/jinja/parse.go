package jinja

import (
	"fmt"
	"slices"
	"strings"
)

// mostNested bounds the nesting of source. Python's compiler stops at 100 brackets within each other.
const mostNested = 100

// parser makes a tree of tokens, by Jinja's grammar.
type parser struct {
	file   string
	tokens []token
	at     int
	depth  int
	loops  int // around the place, within the same macro
	tags   []string
	reads  map[string]bool // names that are read within the same macro
	words  map[string]bool // of Template
	over   map[string]bool // of Template
}

func (p *parser) now() token { return p.tokens[p.at] }

func (p *parser) peek() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.now()
	if t.kind != eof {
		p.at++
	}
	return t
}

func (p *parser) take(k kind, text string) bool {
	if !p.now().is(k, text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) word(text string) bool { return p.take(name, text) }

func (p *parser) op(text string) bool { return p.take(operator, text) }

func (p *parser) expect(k kind, text, want string) error {
	if p.take(k, text) {
		return nil
	}
	return p.fail("unexpected %s, expected %s", p.now(), want)
}

func (p *parser) expectOp(text string) error { return p.expect(operator, text, "'"+text+"'") }

func (p *parser) endOfBlock() error { return p.expect(blockEnd, "", "'%}'") }

func (p *parser) fail(format string, a ...any) error { return p.failAt(p.now().line, format, a...) }

func (p *parser) failAt(line int, format string, a ...any) error {
	return &Error{Template: p.file, Line: line, Message: fmt.Sprintf(format, a...)}
}

func (p *parser) identifier() (string, error) {
	if t := p.now(); t.kind == name {
		p.at++
		return t.text, nil
	}
	return "", p.fail("unexpected %s, expected a name", p.now())
}

// nest is called on the way into anything that may hold itself.
func (p *parser) nest() error {
	if p.depth++; p.depth > mostNested {
		return p.fail("nested more than %d deep", mostNested)
	}
	return nil
}

// body reads statements up to one of the ends, which it leaves; no ends: up to the end of all.
func (p *parser) body(ends ...string) ([]stmt, error) {
	var out []stmt
	for {
		t := p.now()
		switch t.kind {
		case eof:
			if len(ends) > 0 {
				return nil, p.fail("the template ends, expected tag %s for %s", strings.Join(ends, " or "), p.tags[len(p.tags)-1])
			}
			return out, nil
		case data:
			p.at++
			out = append(out, &dataStmt{place(t.line), t.text})
		case variableBegin:
			p.at++
			e, err := p.tuple(true, "")
			if err != nil {
				return nil, err
			}
			if err := p.expect(variableEnd, "", "'}}'"); err != nil {
				return nil, err
			}
			out = append(out, &printStmt{place(t.line), e})
		default: // a block begins
			p.at++
			if w := p.now(); w.kind == name && slices.Contains(ends, w.text) {
				return out, nil
			}
			s, err := p.statement()
			if err != nil {
				return nil, err
			}
			if err := p.endOfBlock(); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
}

// block reads "%}", statements, and the word of the end that was met.
func (p *parser) block(ends ...string) ([]stmt, string, error) {
	p.op(":") // Jinja takes Python's colon
	if err := p.endOfBlock(); err != nil {
		return nil, "", err
	}
	out, err := p.body(ends...)
	if err != nil {
		return nil, "", err
	}
	return out, p.next().text, nil
}

// inside is block for tags that have one end.
func (p *parser) inside(end string) ([]stmt, error) {
	out, _, err := p.block(end)
	return out, err
}

func (p *parser) statement() (stmt, error) {
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.now()
	tag, err := p.identifier()
	if err != nil {
		return nil, p.fail("unexpected %s, expected the name of a tag", t)
	}
	at := place(t.line)
	p.tags = append(p.tags, tag)
	defer func() { p.tags = p.tags[:len(p.tags)-1] }()
	switch tag {
	case "if":
		return p.parseIf(at)
	case "for":
		return p.parseFor(at)
	case "set":
		return p.parseSet(at)
	case "macro":
		return p.parseMacro(at)
	case "call":
		return p.parseCallBlock(at)
	case "filter":
		return p.parseFilterBlock(at)
	case "with":
		return p.parseWith(at)
	case "generation":
		body, err := p.apart("endgeneration")
		return &generationStmt{at, body}, err
	case "break", "continue":
		if p.loops == 0 {
			return nil, p.failAt(t.line, "tag %s outside of a loop", tag)
		}
		return &jumpStmt{at, map[string]signal{"break": leave, "continue": again}[tag]}, nil
	case "block", "extends", "include", "import", "from", "autoescape":
		return nil, p.failAt(t.line, "tag %s is not supported: a chat template is one file of plain text", tag)
	}
	return nil, p.failAt(t.line, "unknown tag %s", tag)
}

// apart reads a body that is a function of its own, out of which no break leads.
func (p *parser) apart(end string) ([]stmt, error) {
	loops := p.loops
	p.loops = 0
	body, err := p.inside(end)
	p.loops = loops
	return body, err
}

func (p *parser) parseIf(at place) (stmt, error) {
	out := &ifStmt{place: at}
	for {
		test, err := p.tuple(false, "")
		if err != nil {
			return nil, err
		}
		body, end, err := p.block("elif", "else", "endif")
		if err != nil {
			return nil, err
		}
		out.tests, out.bodies = append(out.tests, test), append(out.bodies, body)
		if end == "endif" {
			return out, nil
		}
		if end == "else" {
			body, err := p.inside("endif")
			out.bodies = append(out.bodies, body)
			return out, err
		}
	}
}

func (p *parser) parseFor(at place) (stmt, error) {
	out := &forStmt{place: at}
	var err error
	if out.into, err = p.target("in", false); err != nil {
		return nil, err
	}
	if err = p.expect(name, "in", "'in'"); err != nil {
		return nil, err
	}
	if out.over, err = p.tuple(false, "recursive"); err != nil {
		return nil, err
	}
	p.noteLoop(out.over)
	if p.word("if") {
		if out.where, err = p.expression(); err != nil {
			return nil, err
		}
	}
	out.recursive = p.word("recursive")
	p.loops++
	body, end, err := p.block("endfor", "else")
	p.loops--
	if err != nil {
		return nil, err
	}
	if out.body = body; end == "else" {
		out.otherwise, err = p.inside("endfor")
	}
	return out, err
}

// noteLoop remembers the last word of what a loop runs over: content of message.content.
func (p *parser) noteLoop(over expr) {
	switch over := over.(type) {
	case *nameExpr:
		p.over[over.name] = true
	case *attrExpr:
		p.over[over.name] = true
	case *itemExpr:
		if key, is := over.key.(*literal); is {
			if s, is := key.v.(string); is {
				p.over[s] = true
			}
		}
	}
}

func (p *parser) parseSet(at place) (stmt, error) {
	into, err := p.target("", true)
	if err != nil {
		return nil, err
	}
	if p.op("=") {
		to, err := p.tuple(true, "")
		return &setStmt{at, into, to}, err
	}
	filter, err := p.filters(nil)
	if err != nil {
		return nil, err
	}
	body, err := p.inside("endset")
	return &setBlockStmt{at, into, filter, body}, err
}

func (p *parser) parseFilterBlock(at place) (stmt, error) {
	f, err := p.oneFilter(nil)
	if err != nil {
		return nil, err
	}
	filter, err := p.filters(f)
	if err != nil {
		return nil, err
	}
	body, err := p.inside("endfilter")
	return &filterStmt{at, filter, body}, err
}

func (p *parser) parseWith(at place) (stmt, error) {
	out := &withStmt{place: at}
	for p.now().kind != blockEnd {
		if len(out.into) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		into, err := p.target("", false)
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		to, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.into, out.to = append(out.into, into), append(out.to, to)
	}
	var err error
	out.body, err = p.inside("endwith")
	return out, err
}

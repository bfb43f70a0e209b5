package jinja

import "slices"

func (p *parser) parseMacro(at place) (stmt, error) {
	m := macro{}
	var err error
	if m.name, err = p.identifier(); err != nil {
		return nil, err
	}
	if err := p.signature(&m); err != nil {
		return nil, err
	}
	err = p.macroBody(&m, "endmacro")
	return &macroStmt{at, m}, err
}

func (p *parser) parseCallBlock(at place) (stmt, error) {
	m := macro{name: "caller"}
	if p.now().is(operator, "(") {
		if err := p.signature(&m); err != nil {
			return nil, err
		}
	}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, is := e.(*callExpr)
	if !is {
		return nil, p.failAt(int(at), "tag call needs a call")
	}
	err = p.macroBody(&m, "endcall")
	return &callStmt{at, m, call}, err
}

// macroBody reads a body and notes which of the names that a macro has without declaring them it reads.
func (p *parser) macroBody(m *macro, end string) error {
	outer := p.reads
	p.reads = map[string]bool{}
	body, err := p.apart(end)
	m.body, m.varargs, m.kwargs, m.callers = body, p.reads["varargs"], p.reads["kwargs"], p.reads["caller"]
	for n := range p.reads {
		outer[n] = true
	}
	p.reads = outer
	return err
}

// signature reads a macro's parameters. Only the last ones may have defaults.
func (p *parser) signature(m *macro) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.op(")") {
		if len(m.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		param, err := p.identifier()
		if err != nil {
			return err
		}
		if slices.Contains(m.params, param) {
			return p.fail("the parameter %s stands twice", param)
		}
		m.params = append(m.params, param)
		if p.op("=") {
			value, err := p.expression()
			if err != nil {
				return err
			}
			m.defaults = append(m.defaults, value)
		} else if len(m.defaults) > 0 {
			return p.fail("the parameter %s without a default follows one with a default", param)
		}
	}
	return nil
}

// constants cannot be assigned to.
var constants = map[string]value{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

// target reads what is assigned to, up to the word end where a tuple may have a comma at its end.
func (p *parser) target(end string, attrs bool) (target, error) {
	at := place(p.now().line)
	var parts []target
	for {
		one, err := p.oneTarget(end, attrs)
		if err != nil {
			return target{}, err
		}
		parts = append(parts, one)
		if !p.op(",") {
			break
		}
		if t := p.now(); t.kind == blockEnd || t.is(name, end) || t.is(operator, "=") || t.is(operator, ")") {
			return target{place: at, parts: parts}, nil
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return target{place: at, parts: parts}, nil
}

func (p *parser) oneTarget(end string, attrs bool) (target, error) {
	if err := p.nest(); err != nil {
		return target{}, err
	}
	defer func() { p.depth-- }()
	at := place(p.now().line)
	if p.op("(") {
		inner, err := p.target(end, attrs)
		if err == nil {
			err = p.expectOp(")")
		}
		return inner, err
	}
	word, err := p.identifier()
	if err != nil {
		return target{}, err
	}
	if _, is := constants[word]; is {
		return target{}, p.failAt(int(at), "cannot assign to %s", word)
	}
	out := target{place: at, name: word}
	if attrs && p.op(".") {
		out.attr, err = p.identifier()
	}
	return out, err
}

package jinja

import "slices"

// expression reads one with "if" and "else".
func (p *parser) expression() (expr, error) {
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	at := place(p.now().line)
	e, err := p.or()
	for err == nil && p.word("if") {
		c := &condExpr{place: at, then: e}
		if c.test, err = p.or(); err != nil {
			return nil, err
		}
		if p.word("else") {
			if c.otherwise, err = p.expression(); err != nil {
				return nil, err
			}
		}
		e = c
	}
	return e, err
}

// tuple reads an expression or, with commas, a tuple. cond: "if" belongs to it. It ends before the word end.
func (p *parser) tuple(cond bool, end string) (expr, error) {
	at := place(p.now().line)
	read := p.or
	if cond {
		read = p.expression
	}
	var items []expr
	comma := false
	for {
		if t := p.now(); len(items) > 0 && (t.kind == variableEnd || t.kind == blockEnd || t.is(operator, ")") || end != "" && t.is(name, end)) {
			break
		}
		e, err := read()
		if err != nil {
			return nil, err
		}
		items = append(items, e)
		if !p.op(",") {
			break
		}
		comma = true
	}
	if !comma {
		return items[0], nil
	}
	return &listExpr{at, tuple, items}, nil
}

// or reads operands of "or". So do the following for what binds closer.
func (p *parser) or() (expr, error) {
	left, err := p.and()
	for at := p.now().line; err == nil && p.word("or"); {
		var right expr
		right, err = p.and()
		left = &logicExpr{place(at), left, right, true}
	}
	return left, err
}

func (p *parser) and() (expr, error) {
	left, err := p.not()
	for at := p.now().line; err == nil && p.word("and"); {
		var right expr
		right, err = p.not()
		left = &logicExpr{place(at), left, right, false}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	at := p.now().line
	if !p.word("not") {
		return p.compare()
	}
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.not()
	return &notExpr{place(at), e}, err
}

// comparison is the operator of one that stands here, "" if none.
func (p *parser) comparison() string {
	t := p.now()
	switch {
	case t.kind == operator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
		p.at++
		return t.text
	case p.word("in"):
		return "in"
	case t.is(name, "not") && p.peek().is(name, "in"):
		p.at += 2
		return "not in"
	}
	return ""
}

func (p *parser) compare() (expr, error) {
	at := p.now().line
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	out := &compareExpr{place: place(at), first: first}
	for op := p.comparison(); op != ""; op = p.comparison() {
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		out.ops, out.rest = append(out.ops, op), append(out.rest, e)
	}
	if len(out.ops) == 0 {
		return first, nil
	}
	return out, nil
}

// chain reads operands that operators join from the left.
func (p *parser) chain(operand func() (expr, error), ops ...string) (expr, error) {
	left, err := operand()
	for err == nil {
		t := p.now()
		if t.kind != operator || !slices.Contains(ops, t.text) {
			break
		}
		p.at++
		var right expr
		right, err = operand()
		left = &mathExpr{place(t.line), t.text, left, right}
	}
	return left, err
}

func (p *parser) sum() (expr, error) { return p.chain(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	at := p.now().line
	first, err := p.product()
	parts := []expr{first}
	for err == nil && p.op("~") {
		var e expr
		e, err = p.product()
		parts = append(parts, e)
	}
	if len(parts) == 1 {
		return first, err
	}
	return &concatExpr{place(at), parts}, err
}

func (p *parser) product() (expr, error) { return p.chain(p.power, "*", "/", "//", "%") }

func (p *parser) power() (expr, error) {
	return p.chain(func() (expr, error) { return p.unary(true) }, "**")
}

// unary reads a sign, or a value with what follows it; of a signed value, filters are the sign's.
func (p *parser) unary(filtered bool) (expr, error) {
	if err := p.nest(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	t := p.now()
	var e expr
	var err error
	if p.op("-") || p.op("+") {
		if e, err = p.unary(false); err == nil {
			e = &signExpr{place(t.line), e, t.text == "-"}
		}
	} else {
		e, err = p.primary()
	}
	if err == nil {
		e, err = p.postfix(e)
	}
	if err == nil && filtered {
		e, err = p.filtered(e)
	}
	return e, err
}

func (p *parser) primary() (expr, error) {
	t := p.now()
	at := place(t.line)
	switch {
	case t.kind == name:
		p.at++
		if v, is := constants[t.text]; is {
			return &literal{at, v}, nil
		}
		p.reads[t.text], p.words[t.text] = true, true
		return &nameExpr{at, t.text}, nil
	case t.kind == number:
		p.at++
		return &literal{at, t.value}, nil
	case t.kind == text:
		s := ""
		for p.now().kind == text {
			s += p.next().value.(string)
		}
		p.words[s] = true
		return &literal{at, s}, nil
	case p.op("("):
		if p.op(")") {
			return &listExpr{at, tuple, nil}, nil
		}
		e, err := p.tuple(true, "")
		if err == nil {
			err = p.expectOp(")")
		}
		return e, err
	case p.op("["):
		items, err := p.items("]")
		return &listExpr{at, plainList, items}, err
	case p.op("{"):
		return p.dict(at)
	}
	return nil, p.fail("unexpected %s, expected a value", t)
}

// items reads expressions between commas and the closing bracket.
func (p *parser) items(closer string) ([]expr, error) {
	var out []expr
	for !p.op(closer) {
		if len(out) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.op(closer) {
				break
			}
		}
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (p *parser) dict(at place) (expr, error) {
	out := &dictExpr{place: at}
	for !p.op("}") {
		if len(out.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
			if p.op("}") {
				break
			}
		}
		key, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		out.keys, out.values = append(out.keys, key), append(out.values, v)
	}
	return out, nil
}

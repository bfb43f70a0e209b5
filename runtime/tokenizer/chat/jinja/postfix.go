package jinja

// postfix reads attributes, elements, slices and calls.
func (p *parser) postfix(e expr) (expr, error) {
	for {
		t := p.now()
		var err error
		switch {
		case p.op("."):
			e, err = p.attribute(place(t.line), e)
		case p.op("["):
			e, err = p.subscript(place(t.line), e)
		case t.is(operator, "("):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) attribute(at place, of expr) (expr, error) {
	t := p.now()
	if t.kind == number {
		if _, is := t.value.(int64); is {
			p.at++
			return &itemExpr{at, of, &literal{at, t.value}}, nil
		}
	}
	word, err := p.identifier()
	p.words[word] = true
	return &attrExpr{at, of, word}, err
}

func (p *parser) subscript(at place, of expr) (expr, error) {
	var parts [3]expr
	colons := 0
	for !p.op("]") {
		t := p.now()
		switch {
		case t.is(operator, ",") || colons == 2 && t.is(operator, ":"):
			return nil, p.fail("unexpected %s, expected ']': one subscript with at most two colons", t)
		case p.op(":"):
			colons++
		case parts[colons] != nil:
			return nil, p.fail("unexpected %s, expected ']' or ':'", t)
		default:
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			parts[colons] = e
		}
	}
	if colons > 0 {
		return &sliceExpr{at, of, parts}, nil
	}
	if parts[0] == nil {
		return nil, p.failAt(int(at), "a subscript is empty")
	}
	return &itemExpr{at, of, parts[0]}, nil
}

func (p *parser) call(fn expr) (expr, error) {
	at := place(p.now().line)
	args, err := p.arguments()
	return &callExpr{at, fn, args}, err
}

// arguments reads those of a call, in the order that Python wants: plain, named, *list, **dict.
func (p *parser) arguments() (argExprs, error) {
	var out argExprs
	line := p.now().line
	if err := p.expectOp("("); err != nil {
		return out, err
	}
	for first := true; !p.op(")"); first = false {
		if !first {
			if err := p.expectOp(","); err != nil {
				return out, err
			}
			if p.op(")") {
				break
			}
		}
		if err := p.argument(&out, line); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (p *parser) argument(out *argExprs, line int) error {
	t, fine := p.now(), true
	var err error
	switch {
	case p.op("*"):
		fine = out.spread == nil && out.pairs == nil
		out.spread, err = p.expression()
	case p.op("**"):
		fine = out.pairs == nil
		out.pairs, err = p.expression()
	case t.kind == name && p.peek().is(operator, "="):
		p.at += 2
		fine = out.pairs == nil
		var e expr
		e, err = p.expression()
		out.names, out.named = append(out.names, t.text), append(out.named, e)
	default:
		fine = out.spread == nil && out.pairs == nil && len(out.names) == 0
		var e expr
		e, err = p.expression()
		out.plain = append(out.plain, e)
	}
	if err == nil && !fine {
		return p.failAt(line, "arguments in an order that a call does not take")
	}
	return err
}

// filtered reads filters, tests, and calls of what they give.
func (p *parser) filtered(e expr) (expr, error) {
	for {
		t := p.now()
		var err error
		switch {
		case p.op("|"):
			e, err = p.oneFilter(e)
		case p.word("is"):
			e, err = p.test(place(t.line), e)
		case t.is(operator, "("):
			e, err = p.call(e)
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// filters reads a chain of filters over e, which may be nil: a block's text.
func (p *parser) filters(e expr) (expr, error) {
	for p.op("|") {
		var err error
		if e, err = p.oneFilter(e); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func (p *parser) oneFilter(of expr) (expr, error) {
	at := p.now().line
	word, err := p.identifier()
	if err != nil {
		return nil, err
	}
	do, known := filters[word]
	if !known {
		return nil, p.failAt(at, "no filter named %s", word)
	}
	out := &filterExpr{place: place(at), of: of, name: word, do: do}
	if p.now().is(operator, "(") {
		out.args, err = p.arguments()
	}
	return out, err
}

// test reads one behind "is", with its arguments in brackets or a single one without.
func (p *parser) test(at place, of expr) (expr, error) {
	negated := p.word("not")
	word, err := p.identifier()
	if err != nil {
		return nil, err
	}
	do, known := tests[word]
	if !known {
		return nil, p.failAt(int(at), "no test named %s", word)
	}
	out := &testExpr{place: at, of: of, name: word, do: do}
	t := p.now()
	switch {
	case t.is(operator, "("):
		out.args, err = p.arguments()
	case t.is(name, "is"):
		return nil, p.fail("a test of a test: two is after each other")
	case t.is(name, "else") || t.is(name, "or") || t.is(name, "and"):
	case t.kind == name || t.kind == text || t.kind == number || t.is(operator, "[") || t.is(operator, "{"):
		var arg expr
		if arg, err = p.primary(); err == nil {
			arg, err = p.postfix(arg)
		}
		out.args.plain = []expr{arg}
	}
	if err == nil && negated {
		return &notExpr{at, out}, nil
	}
	return out, err
}

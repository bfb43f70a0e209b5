package jinja

import "fmt"

func (s *dataStmt) exec(st *state) (signal, error) { return proceed, st.write(s.text) }

func (s *printStmt) exec(st *state) (signal, error) {
	v, err := st.eval(s.of)
	if err != nil {
		return proceed, err
	}
	text, is := v.(string)
	if !is {
		if text, err = st.str(v); err != nil {
			return proceed, err
		}
	}
	return proceed, st.write(text)
}

func (s *ifStmt) exec(st *state) (signal, error) {
	for i, test := range s.tests {
		v, err := st.eval(test)
		if err != nil {
			return proceed, err
		}
		if truth(v) {
			return st.run(s.bodies[i])
		}
	}
	if len(s.bodies) > len(s.tests) {
		return st.run(s.bodies[len(s.tests)])
	}
	return proceed, nil
}

// assign sets a target in a scope.
func (st *state) assign(in *scope, to target, v value) error {
	switch {
	case to.attr != "":
		ns, has := in.find(to.name)
		n, is := ns.(*namespace)
		if !has || !is {
			return fmt.Errorf("cannot assign attribute %s: %s is no namespace", to.attr, to.name)
		}
		n.attrs.set(to.attr, v)
	case to.name != "":
		in.vars[to.name] = v
	default:
		parts, err := st.unpack(v)
		if err != nil {
			return err
		}
		if len(parts) != len(to.parts) {
			return fmt.Errorf("cannot unpack %d values into %d names", len(parts), len(to.parts))
		}
		for i, part := range to.parts {
			if err := st.assign(in, part, parts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *setStmt) exec(st *state) (signal, error) {
	v, err := st.eval(s.to)
	if err != nil {
		return proceed, err
	}
	return proceed, st.assign(st.scope, s.into, v)
}

// filtered is a body's text after a chain of filters.
func (st *state) filtered(body []stmt, chain expr) (value, error) {
	text, err := st.capture(st.scope, map[string]value{}, body)
	if err != nil || chain == nil {
		return text, err
	}
	was := st.scope
	st.scope = &scope{map[string]value{blockText: text}, was}
	v, err := st.eval(chain)
	st.scope = was
	return v, err
}

// blockText is the name of a block's text for its filters; no template can write it.
const blockText = ""

func (s *setBlockStmt) exec(st *state) (signal, error) {
	v, err := st.filtered(s.body, s.filter)
	if err != nil {
		return proceed, err
	}
	return proceed, st.assign(st.scope, s.into, v)
}

func (s *filterStmt) exec(st *state) (signal, error) {
	v, err := st.filtered(s.body, s.filter)
	if err != nil {
		return proceed, err
	}
	return proceed, st.show(v)
}

// show writes a value's text.
func (st *state) show(v value) error {
	text, err := st.str(v)
	if err != nil {
		return err
	}
	return st.write(text)
}

func (s *withStmt) exec(st *state) (signal, error) {
	inner := &scope{map[string]value{}, st.scope}
	for i, to := range s.to {
		v, err := st.eval(to)
		if err != nil {
			return proceed, err
		}
		if err := st.assign(inner, s.into[i], v); err != nil {
			return proceed, err
		}
	}
	return st.within(st.scope, inner.vars, s.body)
}

func (s *generationStmt) exec(st *state) (signal, error) {
	return st.within(st.scope, map[string]value{}, s.body)
}

func (s *jumpStmt) exec(*state) (signal, error) { return s.to, nil }

func (s *macroStmt) exec(st *state) (signal, error) {
	st.scope.vars[s.name] = s.function(st.scope)
	return proceed, nil
}

// caller names the argument that a call block adds.
const caller = "caller"

func (s *callStmt) exec(st *state) (signal, error) {
	fn, a, err := st.prepare(s.call)
	if err != nil {
		return proceed, err
	}
	if !a.has(caller) {
		a.named = append(a.named, named{caller, s.caller.function(st.scope)})
	}
	v, err := fn.call(st, a)
	if err != nil {
		return proceed, err
	}
	return proceed, st.show(v)
}

// function is the macro as it is defined in a scope, whose later changes it sees.
func (m *macro) function(in *scope) *function {
	return &function{m.name, func(st *state, a args) (value, error) {
		vars := map[string]value{}
		inner := &scope{vars, in}
		if err := m.bind(vars, a); err != nil {
			return nil, err
		}
		missing := len(m.params) - len(m.defaults)
		for i, p := range m.params {
			if _, given := vars[p]; given {
				continue
			}
			if i < missing {
				vars[p] = undefined{fmt.Sprintf("parameter '%s' was not provided", p)}
				continue
			}
			was := st.scope
			st.scope = inner
			v, err := st.eval(m.defaults[i-missing])
			st.scope = was
			if err != nil {
				return nil, err
			}
			vars[p] = v
		}
		return st.capture(in, vars, m.body)
	}}
}

// bind gives arguments to the parameters, and those left over to varargs, kwargs and caller where the body reads them.
func (m *macro) bind(vars map[string]value, a args) error {
	plain := min(len(a.plain), len(m.params))
	for i := range plain {
		vars[m.params[i]] = a.plain[i]
	}
	rest := newDict()
	for _, n := range a.named {
		at := -1
		for i, p := range m.params {
			if p == n.name {
				at = i
			}
		}
		switch {
		case at >= 0 && at < plain:
			return fmt.Errorf("macro '%s' got two values for argument '%s'", m.name, n.name)
		case at >= 0:
			vars[n.name] = n.v
		case n.name == caller && m.callers:
			vars[caller] = n.v
		default:
			rest.set(n.name, n.v)
		}
	}
	if _, has := vars[caller]; m.callers && !has {
		vars[caller] = undefined{"No caller defined"}
	}
	if m.kwargs {
		vars["kwargs"] = rest
	} else if len(rest.keys) > 0 {
		return fmt.Errorf("macro '%s' takes no keyword argument '%s'", m.name, rest.keys[0])
	}
	if m.varargs {
		vars["varargs"] = &list{tuple, a.plain[plain:]}
	} else if len(a.plain) > plain {
		return fmt.Errorf("macro '%s' takes not more than %d argument(s)", m.name, len(m.params))
	}
	return nil
}

package jinja

import "fmt"

// loop is what a loop's body knows as loop.
type loop struct {
	items   []value
	at      int
	depth   int // 0: not inside itself
	again   *function
	last    []value // of changed()
	changed bool
}

func (s *forStmt) exec(st *state) (signal, error) {
	v, err := st.eval(s.over)
	if err != nil {
		return proceed, err
	}
	return proceed, s.loop(st, st.scope, v, 0)
}

// loop runs over a value's elements in a scope; each one has a scope of its own.
func (s *forStmt) loop(st *state, around *scope, over value, depth int) error {
	items, err := st.unpack(over)
	if err == nil && s.where != nil {
		items, err = s.chosen(st, around, items)
	}
	if err != nil {
		return err
	}
	l := &loop{items: items, depth: depth}
	if s.recursive {
		l.again = &function{"loop", func(st *state, a args) (value, error) {
			p, err := a.bind("loop", "iterable")
			if err != nil {
				return nil, err
			}
			was, out := st.out, newText()
			st.out = out
			err = s.loop(st, around, p[0], depth+1)
			st.out = was
			return out.String(), err
		}}
	}
	for i, item := range items {
		l.at = i
		inner := &scope{map[string]value{"loop": l}, around}
		if err := st.assign(inner, s.into, item); err != nil {
			return err
		}
		sig, err := st.within(around, inner.vars, s.body)
		if err != nil {
			return err
		}
		if sig == leave {
			break
		}
	}
	if len(items) == 0 {
		_, err = st.within(around, map[string]value{}, s.otherwise)
	}
	return err
}

// chosen are the elements for which the loop's condition holds.
func (s *forStmt) chosen(st *state, around *scope, items []value) ([]value, error) {
	var out []value
	was := st.scope
	defer func() { st.scope = was }()
	for _, item := range items {
		st.scope = &scope{map[string]value{}, around}
		if err := st.assign(st.scope, s.into, item); err != nil {
			return nil, err
		}
		v, err := st.eval(s.where)
		if err != nil {
			return nil, err
		}
		if truth(v) {
			out = append(out, item)
		}
	}
	return out, nil
}

// neighbour is an element before or behind.
func (l *loop) neighbour(by int, what string) value {
	if i := l.at + by; i >= 0 && i < len(l.items) {
		return l.items[i]
	}
	return undefined{"there is no " + what + " item"}
}

// attr gives an attribute of loop.
func (l *loop) attr(name string) (value, bool) {
	n, i := int64(len(l.items)), int64(l.at)
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "depth":
		return int64(l.depth + 1), true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		return l.neighbour(-1, "previous"), true
	case "nextitem":
		return l.neighbour(1, "next"), true
	case "cycle":
		return &function{"cycle", l.cycle}, true
	case "changed":
		return &function{"changed", l.change}, true
	}
	return nil, false
}

func (l *loop) cycle(_ *state, a args) (value, error) {
	if len(a.plain) == 0 {
		return nil, fmt.Errorf("no items for cycling given")
	}
	return a.plain[l.at%len(a.plain)], nil
}

func (l *loop) change(st *state, a args) (value, error) {
	same, err := st.equal(&list{tuple, a.plain}, &list{tuple, l.last})
	if err != nil || l.changed && same {
		return false, err
	}
	l.last, l.changed = a.plain, true
	return true, nil
}

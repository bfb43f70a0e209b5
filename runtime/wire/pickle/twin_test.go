package pickle

import (
	"encoding/binary"
	"fmt"
)

// thing is an object as the dumb twin makes it: what made it, of what, and what
// changed it. Equal programs give equal graphs of things.
type thing struct {
	op    byte
	arg   string   // the argument's bytes
	of    []*thing // what made it
	parts []*thing // what was added to it: items, or keys and values
	state []*thing // of BUILDs
	named bool     // it is in the memo
}

// unpickle runs a whole pickle: a machine with a stack, a memo, and real objects.
// It knows no spans, and copies nothing.
func unpickle(data []byte) (v *thing, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("twin: %v", r)
		}
	}()
	m := &machine{in: data}
	for {
		op := m.take(1)[0]
		if op == '.' {
			if len(m.stack) != 1 || len(m.in) != 0 {
				return nil, fmt.Errorf("twin: %d on the stack, %d bytes left", len(m.stack), len(m.in))
			}
			return m.stack[0], nil
		}
		m.do(op)
	}
}

type machine struct {
	in    []byte
	stack []*thing // a mark is nil
	memo  []*thing
}

func (m *machine) take(n int) []byte {
	b := m.in[:n]
	m.in = m.in[n:]
	return b
}

func (m *machine) pop() *thing {
	t := m.stack[len(m.stack)-1]
	if t == nil {
		panic("a mark")
	}
	m.stack = m.stack[:len(m.stack)-1]
	return t
}

func (m *machine) popAll() (items []*thing) {
	mark := len(m.stack) - 1
	for m.stack[mark] != nil {
		mark--
	}
	items = append(items, m.stack[mark+1:]...)
	m.stack = m.stack[:mark]
	return items
}

func (m *machine) top() *thing {
	t := m.pop()
	m.push(t)
	return t
}

func (m *machine) push(t *thing) { m.stack = append(m.stack, t) }

func (m *machine) make(op byte, n int) {
	t := &thing{op: op}
	for range n {
		t.of = append([]*thing{m.pop()}, t.of...)
	}
	m.push(t)
}

func (m *machine) do(op byte) {
	switch op {
	case 0x80:
		m.take(1)
	case 0x95:
		m.take(8)
	case 'N', 0x88, 0x89, ']', '}', ')', 0x8f:
		m.push(&thing{op: op})
	case 'K':
		m.push(&thing{op: op, arg: string(m.take(1))})
	case 'M':
		m.push(&thing{op: op, arg: string(m.take(2))})
	case 'J':
		m.push(&thing{op: op, arg: string(m.take(4))})
	case 'G':
		m.push(&thing{op: op, arg: string(m.take(8))})
	case 0x8a, 0x8c, 'C':
		m.push(&thing{op: op, arg: string(m.take(int(m.take(1)[0])))})
	case 0x8b, 'X', 'B':
		m.push(&thing{op: op, arg: string(m.take(int(binary.LittleEndian.Uint32(m.take(4)))))})
	case 0x8d, 0x8e, 0x96:
		m.push(&thing{op: op, arg: string(m.take(int(binary.LittleEndian.Uint64(m.take(8)))))})
	case '(':
		m.push(nil)
	case 't', 0x91:
		items := m.popAll()
		m.push(&thing{op: op, of: items})
	case 0x85, 0x86, 0x87:
		m.make('t', int(op)-0x84)
	case 'R', 0x81, 0x93:
		m.make(op, 2)
	case 0x92:
		m.make(op, 3)
	case 'a', 's':
		var parts []*thing
		for range map[byte]int{'a': 1, 's': 2}[op] {
			parts = append([]*thing{m.pop()}, parts...)
		}
		m.top().parts = append(m.top().parts, parts...)
	case 'e', 'u', 0x90:
		parts := m.popAll()
		m.top().parts = append(m.top().parts, parts...)
	case 'b':
		state := m.pop()
		m.top().state = append(m.top().state, state)
	case '0':
		m.pop()
	case 0x94:
		m.top().named = true
		m.memo = append(m.memo, m.top())
	case 'h':
		m.push(m.memo[m.take(1)[0]])
	case 'j':
		m.push(m.memo[binary.LittleEndian.Uint32(m.take(4))])
	default:
		panic(fmt.Sprintf("opcode %q", op))
	}
}

// same says whether two graphs have the same form: the same things, and one
// thing in one exactly where there is one thing in the other. What want has not
// in the memo may be there twice: nothing refers to it but a row that was asked
// for twice, or a list that stands under two keys.
func same(want, got *thing) error {
	type pair struct{ a, b *thing }
	ofA, ofB := map[*thing]*thing{}, map[*thing]*thing{}
	todo := []pair{{want, got}}
	for len(todo) > 0 {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if ofA[p.a] == p.b && ofB[p.b] == p.a && p.a != nil {
			continue
		}
		if p.a.named {
			if ofA[p.a] != nil || ofB[p.b] != nil {
				return fmt.Errorf("%s is one object here and two there", p.a)
			}
			ofA[p.a], ofB[p.b] = p.b, p.a
		} else if ofB[p.b] != nil {
			return fmt.Errorf("%s is an object of its own, the other is not", p.a)
		}
		if p.a.op != p.b.op || p.a.arg != p.b.arg {
			return fmt.Errorf("%s is %s", p.a, p.b)
		}
		for _, l := range [][2][]*thing{{p.a.of, p.b.of}, {p.a.parts, p.b.parts}, {p.a.state, p.b.state}} {
			if len(l[0]) != len(l[1]) {
				return fmt.Errorf("%s has %d, the other %d", p.a, len(l[0]), len(l[1]))
			}
			for i := range l[0] {
				todo = append(todo, pair{l[0][i], l[1][i]})
			}
		}
	}
	return nil
}

func (t *thing) String() string {
	return fmt.Sprintf("%s %.40q (%d, %d, %d)", opName(t.op), t.arg, len(t.of), len(t.parts), len(t.state))
}

// items are the entries of a list or tuple.
func (t *thing) items() []*thing {
	if t.op == 't' {
		return t.of
	}
	return t.parts
}

// cut is what rows of a column must be: nil for null.
func cut(column *thing, rows []int32) *thing {
	switch column.op {
	case 'N':
		return nil
	case ']', 't', ')':
		list := cutList(column, rows)
		for k, i := range rows {
			if int(i) < len(column.items()) {
				break
			} else if k == len(rows)-1 {
				return nil
			}
		}
		return list
	}
	if len(column.parts) == 0 {
		return nil
	}
	out := &thing{op: '}'}
	for i, p := range column.parts {
		if i%2 == 1 && p.op != 'N' {
			p = cutList(p, rows)
		}
		out.parts = append(out.parts, p)
	}
	return out
}

func cutList(list *thing, rows []int32) *thing {
	out := &thing{op: ']'}
	for _, i := range rows {
		if items := list.items(); int(i) < len(items) {
			out.parts = append(out.parts, items[i])
		} else {
			out.parts = append(out.parts, &thing{op: 'N'})
		}
	}
	return out
}

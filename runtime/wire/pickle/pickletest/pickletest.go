// Package pickletest reads pickles the slow way: the dumb twin of package pickle.
// It makes an object of every value, copies nothing, and shares no code with it.
// github.com/kisielk/og-rek (v1.3.0, the last release) was tried in its place: it
// knows no NEWOBJ, EMPTY_SET and FROZENSET, so it cannot read a time_stats column.
// It is for tests, and takes pickles that are right: of a wrong one it may make
// anything but a panic.
package pickletest

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Thing is an object as the dumb twin makes it: what made it, of what, and what
// changed it. Equal programs give equal graphs of things.
type Thing struct {
	op    byte
	arg   string   // the argument's bytes
	of    []*Thing // what made it
	parts []*Thing // what was added to it: items, or keys and values
	state []*Thing // of BUILDs
	named bool     // it is in the memo
}

// Unpickle runs a whole pickle: a machine with a stack, a memo, and real objects.
// It knows no spans, and copies nothing.
func Unpickle(data []byte) (v *Thing, err error) {
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
	stack []*Thing // a mark is nil
	memo  []*Thing
}

func (m *machine) take(n int) []byte {
	b := m.in[:n]
	m.in = m.in[n:]
	return b
}

func (m *machine) pop() *Thing {
	t := m.stack[len(m.stack)-1]
	if t == nil {
		panic("a mark")
	}
	m.stack = m.stack[:len(m.stack)-1]
	return t
}

func (m *machine) popAll() (items []*Thing) {
	mark := len(m.stack) - 1
	for m.stack[mark] != nil {
		mark--
	}
	items = append(items, m.stack[mark+1:]...)
	m.stack = m.stack[:mark]
	return items
}

func (m *machine) top() *Thing {
	t := m.pop()
	m.push(t)
	return t
}

func (m *machine) push(t *Thing) { m.stack = append(m.stack, t) }

func (m *machine) make(op byte, n int) {
	t := &Thing{op: op}
	for range n {
		t.of = append([]*Thing{m.pop()}, t.of...)
	}
	m.push(t)
}

// arguments are the sizes of the arguments of values; negative, of the length
// before one.
var arguments = map[byte]int{
	'N': 0, 0x88: 0, 0x89: 0, ']': 0, '}': 0, ')': 0, 0x8f: 0, 'K': 1, 'M': 2, 'J': 4, 'G': 8,
	0x8a: -1, 0x8c: -1, 'C': -1, 0x8b: -4, 'X': -4, 'B': -4, 0x8d: -8, 0x8e: -8, 0x96: -8,
}

func (m *machine) argument(size int) string {
	if size < 0 {
		var n [8]byte
		copy(n[:], m.take(-size))
		size = int(binary.LittleEndian.Uint64(n[:]))
	}
	return string(m.take(size))
}

func (m *machine) do(op byte) {
	if size, ok := arguments[op]; ok {
		m.push(&Thing{op: op, arg: m.argument(size)})
		return
	}
	switch op {
	case 0x80:
		m.take(1)
	case 0x95:
		m.take(8)
	case '(':
		m.push(nil)
	case 't', 0x91:
		items := m.popAll()
		m.push(&Thing{op: op, of: items})
	case 0x85, 0x86, 0x87:
		m.make('t', int(op)-0x84)
	case 'R', 0x81, 0x93:
		m.make(op, 2)
	case 0x92:
		m.make(op, 3)
	case 'a':
		m.add([]*Thing{m.pop()})
	case 's':
		value := m.pop()
		m.add([]*Thing{m.pop(), value})
	case 'e', 'u', 0x90:
		m.add(m.popAll())
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

func (m *machine) add(parts []*Thing) { m.top().parts = append(m.top().parts, parts...) }

// String is the Thing with all it holds. What is in the memo has a number where
// it is met first, and only that after it: things with the same text have the
// same form, in which one object is one object. What is not in the memo is
// written out wherever it is met.
func (t *Thing) String() string {
	var b strings.Builder
	t.write(&b, map[*Thing]int{})
	return b.String()
}

func (t *Thing) write(b *strings.Builder, seen map[*Thing]int) {
	if n, ok := seen[t]; ok {
		fmt.Fprintf(b, "#%d", n)
		return
	}
	if t.named {
		seen[t] = len(seen)
		fmt.Fprintf(b, "#%d=", seen[t])
	}
	if x := t.float(); x == x && t.op == 'G' {
		b.WriteString("float:" + strconv.FormatFloat(x, 'g', -1, 64))
	} else {
		fmt.Fprintf(b, "%q", string(t.op)+t.arg)
	}
	for _, l := range []struct {
		mark   string
		things []*Thing
	}{{"of", t.of}, {"with", t.parts}, {"state", t.state}} {
		if len(l.things) == 0 {
			continue
		}
		b.WriteString(" " + l.mark + "(")
		for i, x := range l.things {
			if i > 0 {
				b.WriteString(" ")
			}
			x.write(b, seen)
		}
		b.WriteString(")")
	}
}

func (t *Thing) float() float64 {
	if t.op != 'G' {
		return 0
	}
	return math.Float64frombits(binary.BigEndian.Uint64([]byte(t.arg)))
}

// Items are the entries of a list or tuple.
func (t *Thing) Items() []*Thing {
	if t.op == 't' {
		return t.of
	}
	return t.parts
}

// Cut is what rows of a column must be: nil for null.
func Cut(column *Thing, rows []int32) *Thing {
	switch column.op {
	case 'N':
		return nil
	case ']', 't', ')':
		list := cutList(column, rows)
		for k, i := range rows {
			if int(i) < len(column.Items()) {
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
	out := &Thing{op: '}'}
	for i, p := range column.parts {
		if i%2 == 1 && p.op != 'N' {
			p = cutList(p, rows)
		}
		out.parts = append(out.parts, p)
	}
	return out
}

func cutList(list *Thing, rows []int32) *Thing {
	out := &Thing{op: ']'}
	for _, i := range rows {
		if items := list.Items(); int(i) < len(items) {
			out.parts = append(out.parts, items[i])
		} else {
			out.parts = append(out.parts, &Thing{op: 'N'})
		}
	}
	return out
}

// Entry is one entry of a column that is a dict: its list is nil for None.
type Entry struct {
	Key  string
	List []any
}

// Rows reads a column into plain values that can be compared: each row is its
// text. It gives a list or the entries of a dict, and neither for None.
func Rows(data []byte) (list []any, entries []Entry, err error) {
	t, err := Unpickle(data)
	switch {
	case err != nil:
		return nil, nil, err
	case t.op == 'N':
		return nil, nil, nil
	case t.op != '}':
		return t.texts(), nil, nil
	}
	entries = []Entry{}
	for i := 0; i < len(t.parts); i += 2 {
		entries = append(entries, Entry{t.parts[i].arg, t.parts[i+1].texts()})
	}
	return nil, entries, nil
}

// texts are the rows of a list.
func (t *Thing) texts() []any {
	if t.op == 'N' {
		return nil
	}
	list := []any{}
	for _, x := range t.Items() {
		if x.op == 'N' {
			list = append(list, nil)
		} else {
			list = append(list, x.String())
		}
	}
	return list
}

var timeOf = regexp.MustCompile(`_time" float:[0-9.]+`)

// RoundTimes gives the text of a timing object of SGLang with its times rounded to
// five digits. When SGLang's worker unpickles one it adds the sender's clock offset
// and takes its own away; in the recorded frames that is the same one, and some
// 1e-6 s remain.
func RoundTimes(text string) string {
	return timeOf.ReplaceAllStringFunc(text, func(s string) string {
		at := strings.LastIndex(s, ":") + 1
		x, err := strconv.ParseFloat(s[at:], 64)
		if err != nil {
			return s
		}
		return s[:at] + strconv.FormatFloat(x, 'f', 5, 64)
	})
}

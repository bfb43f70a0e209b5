package jinja

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// jsonForm is how json.dumps was asked to write.
type jsonForm struct {
	ascii, sorted bool
	lines         bool   // each element on a line of its own
	indent        string // of one level
	item, key     string // separators
}

// tojson is transformers' filter: json.dumps with ensure_ascii false.
func tojson(st *state, v value, a args) (value, error) {
	p, err := a.bind("tojson", "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	f := jsonForm{item: ", ", key: ": "}
	f.ascii, f.sorted = given(p[0]) && truth(p[0]), given(p[3]) && truth(p[3])
	switch in := p[1].(type) {
	case absent, nil:
	case string:
		f.lines, f.indent, f.item = true, in, ","
	default:
		n, err := intOr("tojson", in, 0)
		if err == nil {
			err = st.make(int(min(max(n, 0), math.MaxInt32)))
		}
		if err != nil {
			return nil, err
		}
		f.lines, f.indent, f.item = true, strings.Repeat(" ", int(max(n, 0))), ","
	}
	if given(p[2]) && p[2] != nil {
		l, is := p[2].(*list)
		if !is || len(l.items) != 2 {
			return nil, fmt.Errorf("tojson() got separators that are no pair")
		}
		item, one := l.items[0].(string)
		key, two := l.items[1].(string)
		if !one || !two {
			return nil, fmt.Errorf("tojson() got separators that are no pair of str")
		}
		f.item, f.key = item, key
	}
	var b strings.Builder
	err = st.writeJSON(&b, v, f, "\n")
	return b.String(), err
}

// writeJSON writes v; line is the new line and the indent that v stands at.
func (st *state) writeJSON(b *strings.Builder, v value, f jsonForm, line string) error {
	if err := st.enter(); err != nil {
		return err
	}
	defer st.leave()
	s := ""
	switch v := v.(type) {
	case nil:
		s = "null"
	case bool:
		s = map[bool]string{true: "true", false: "false"}[v]
	case int64, *big.Int:
		s, _ = scalar(v)
	case float64:
		s = jsonFloat(v)
	case string:
		s = jsonText(v, f.ascii)
	case *list:
		if v.kind == plainList || v.kind == tuple {
			return st.writeAll(b, "[]", len(v.items), f, line, func(i int, inner string) error {
				return st.writeJSON(b, v.items[i], f, inner)
			})
		}
	case *dict:
		keys := v.keys
		if f.sorted {
			keys = slices.Sorted(slices.Values(keys))
		}
		return st.writeAll(b, "{}", len(keys), f, line, func(i int, inner string) error {
			key := jsonText(keys[i], f.ascii) + f.key
			b.WriteString(key)
			if err := st.make(len(key)); err != nil {
				return err
			}
			return st.writeJSON(b, v.at[keys[i]], f, inner)
		})
	}
	if s == "" {
		return pythons("Object of type " + typeName(v) + " is not JSON serializable")
	}
	b.WriteString(s)
	return st.make(len(s))
}

// writeAll writes n elements with brackets and separators.
func (st *state) writeAll(b *strings.Builder, brackets string, n int, f jsonForm, line string, one func(i int, inner string) error) error {
	b.WriteByte(brackets[0])
	inner := line + f.indent
	for i := range n {
		between := ""
		if i > 0 {
			between = f.item
		}
		if f.lines {
			between += inner
		}
		b.WriteString(between)
		if err := st.make(len(between)); err != nil {
			return err
		}
		if err := one(i, inner); err != nil {
			return err
		}
	}
	if f.lines && n > 0 {
		b.WriteString(line)
	}
	b.WriteByte(brackets[1])
	return st.make(2 + len(line))
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return floatText(f)
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\f': `\f`, '\b': `\b`}

func jsonText(s string, ascii bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		escape, has := jsonEscapes[r]
		switch {
		case has:
			b.WriteString(escape)
		case r < ' ' || ascii && r > '~' && r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		case ascii && r >= 0x10000:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// str is Python's str(v); undefined is nothing.
func (st *state) str(v value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case undefined:
		return "", nil
	}
	return st.repr(v)
}

// repr is Python's repr(v).
func (st *state) repr(v value) (string, error) {
	var b strings.Builder
	err := st.writeRepr(&b, v)
	return b.String(), err
}

func (st *state) writeRepr(b *strings.Builder, v value) error {
	if err := st.enter(); err != nil {
		return err
	}
	defer st.leave()
	switch v := v.(type) {
	case string:
		s := quoted(v)
		b.WriteString(s)
		return st.make(len(s))
	case undefined:
		b.WriteString("Undefined")
		return nil
	case *list:
		return st.writeReprList(b, v)
	case *dict:
		return st.writeReprDict(b, v, "{", "}")
	case *namespace:
		return st.writeReprDict(b, v.attrs, "<Namespace {", "}>")
	}
	s, is := scalar(v)
	if !is {
		return fmt.Errorf("a %s cannot be printed", typeName(v))
	}
	b.WriteString(s)
	return st.make(len(s))
}

// scalar is Python's repr of None, a bool or a number.
func scalar(v value) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "None", true
	case bool:
		if v {
			return "True", true
		}
		return "False", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case float64:
		return floatText(v), true
	}
	return "", false
}

func (st *state) writeReprList(b *strings.Builder, l *list) error {
	if l.kind == generator || l.kind == view {
		return fmt.Errorf("a %s cannot be printed: make a list of it with |list", typeName(l))
	}
	open, end := "[", "]"
	if l.kind == tuple {
		open, end = "(", ")"
		if len(l.items) == 1 {
			end = ",)"
		}
	}
	b.WriteString(open)
	for i, item := range l.items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := st.writeRepr(b, item); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return st.make(3 + 2*len(l.items))
}

func (st *state) writeReprDict(b *strings.Builder, d *dict, open, end string) error {
	b.WriteString(open)
	for i, k := range d.keys {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := st.writeRepr(b, k); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := st.writeRepr(b, d.at[k]); err != nil {
			return err
		}
	}
	b.WriteString(end)
	return st.make(len(open) + len(end) + 4*len(d.keys))
}

// floatText is Python's repr of a float: the shortest digits that give it back, and an exponent
// below 1e-4 and from 1e16.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, err := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if err != nil || exponent < -4 || exponent >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quoted is Python's repr of a str.
func quoted(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

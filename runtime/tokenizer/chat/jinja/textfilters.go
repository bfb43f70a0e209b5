package jinja

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

func absFilter(_ *state, v value, a args) (value, error) {
	if _, err := a.bind("abs"); err != nil {
		return nil, err
	}
	if n, is := integer(v); is {
		if n < 0 {
			return intMath("-", 0, n)
		}
		return n, nil
	}
	if f, is := v.(float64); is {
		return math.Abs(f), nil
	}
	return nil, fmt.Errorf("bad operand type for abs(): '%s'", typeName(v))
}

func centerFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("center", "width")
	if err != nil {
		return nil, err
	}
	s, err := st.str(v)
	if err != nil {
		return nil, err
	}
	width, err := intOr("center", p[0], 80)
	if err != nil {
		return nil, err
	}
	left := func(free int) int { return free/2 + free&int(width)&1 } // as CPython rounds
	return justifier("center", left)(st, s, args{plain: []value{width}})
}

// truncated is a float's integer part.
func truncated(f float64) (value, error) {
	if math.IsNaN(f) || f >= 1<<63 || f < -1<<63 {
		return nil, fmt.Errorf("the float %s is no integer of 64 bits", floatText(f))
	}
	return int64(f), nil
}

func intFilter(_ *state, v value, a args) (value, error) {
	p, err := a.bind("int", "default", "base")
	if err != nil {
		return nil, err
	}
	base, err := intOr("int", p[1], 10)
	if err != nil {
		return nil, err
	}
	otherwise := p[0]
	if !given(otherwise) {
		otherwise = int64(0)
	}
	switch v := v.(type) {
	case undefined:
		return nil, v.err()
	case float64:
		if n, err := truncated(v); err == nil {
			return n, nil
		}
		return otherwise, nil
	case string:
		if n, err := intOfText(strings.TrimFunc(v, space), int(base)); err == nil {
			return n, nil
		}
		return otherwise, nil
	}
	if n, is := integer(v); is {
		return n, nil
	}
	if typeName(v) == "int" {
		return v, nil
	}
	return otherwise, nil
}

// prefixes may stand before the digits of a number in these bases.
var prefixes = map[int]string{2: "0b", 8: "0o", 16: "0x"}

// intOfText reads an int; in base 10, of a float its integer part.
func intOfText(s string, base int) (value, error) {
	if base < 2 || base > 36 {
		return nil, fmt.Errorf("the base %d is not supported, expected 2 to 36", base)
	}
	digits, prefixed := strings.CutPrefix(strings.ToLower(s), prefixes[base])
	if prefixes[base] == "" || !prefixed {
		digits = s
	}
	if n, err := parseInt(digits, base); err == nil {
		return n, nil
	}
	f, err := parseFloat(s)
	if err != nil || base != 10 {
		return nil, fmt.Errorf("%q is no number in base %d", s, base)
	}
	return truncated(f)
}

func floatFilter(_ *state, v value, a args) (value, error) {
	p, err := a.bind("float", "default")
	if err != nil {
		return nil, err
	}
	if u, is := v.(undefined); is {
		return nil, u.err()
	}
	if s, is := v.(string); is {
		if f, err := parseFloat(strings.TrimFunc(s, space)); err == nil {
			return f, nil
		}
	} else if f, is := float(v); is {
		return f, nil
	}
	if given(p[0]) {
		return p[0], nil
	}
	return 0.0, nil
}

func roundFilter(_ *state, v value, a args) (value, error) {
	p, err := a.bind("round", "precision", "method")
	if err != nil {
		return nil, err
	}
	precision, err := intOr("round", p[0], 0)
	if err != nil {
		return nil, err
	}
	how, err := textOr("round", p[1], "common")
	if err != nil {
		return nil, err
	}
	f, is := float(v)
	if !is || precision < 0 || precision > 100 {
		return nil, fmt.Errorf("round() got %s to %d digits, expected a number to 0 to 100", typeName(v), precision)
	}
	scale := math.Pow(10, float64(precision))
	switch how {
	case "common":
		if n, whole := integer(v); whole {
			return n, nil // round() of an int is an int
		}
		return strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(precision), 64), 64)
	case "ceil":
		return math.Ceil(f*scale) / scale, nil
	case "floor":
		return math.Floor(f*scale) / scale, nil
	}
	return nil, fmt.Errorf("method must be common, ceil or floor")
}

// indentFilter puts blanks before the lines of a text.
func indentFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("indent", "width", "first", "blank")
	if err != nil {
		return nil, err
	}
	s, err := textOr("indent", v, "")
	if err != nil {
		return nil, err
	}
	with, is := p[0].(string)
	if !is {
		width, err := intOr("indent", p[0], 4)
		if err != nil {
			return nil, err
		}
		if with, err = st.filling(" ", width, ""); err != nil {
			return nil, err
		}
	}
	l, err := splitlines(st, s+"\n", args{})
	if err != nil {
		return nil, err
	}
	lines := l.(*list).items
	if int64(len(lines))*int64(len(with)+1)+int64(len(s)) > st.bytes {
		return nil, errBytes
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && given(p[1]) && truth(p[1]) || i > 0 && (line != "" || given(p[2]) && truth(p[2])) {
			b.WriteString(with)
		}
		b.WriteString(line.(string))
	}
	return st.made(b.String())
}

// wordBegins are the marks after which Jinja's title begins a word.
var wordBegins = regexp.MustCompile(`[-\s({\[<]+|[^-\s({\[<]+`)

func titleWords(s string) string {
	return wordBegins.ReplaceAllStringFunc(s, capitalized)
}

func wordcountFilter(st *state, v value, a args) (value, error) {
	if _, err := a.bind("wordcount"); err != nil {
		return nil, err
	}
	s, err := st.str(v)
	if err != nil {
		return nil, err
	}
	n, inside := int64(0), false
	for _, r := range s {
		is := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if is && !inside {
			n++
		}
		inside = is
	}
	return n, st.spend(len(s) / 16)
}

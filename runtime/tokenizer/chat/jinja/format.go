package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// percent is Python's s % v, as far as chat templates use it: %s, %d, %r and %%.
func (st *state) percent(s string, v value) (value, error) {
	items := []value{v}
	if l, is := v.(*list); is && l.kind == tuple {
		items = l.items
	}
	var b strings.Builder
	next := 0
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		if i+1 == len(s) {
			return nil, fmt.Errorf("incomplete format")
		}
		verb := s[i+1]
		s = s[i+2:]
		if verb == '%' {
			b.WriteByte('%')
			continue
		}
		if next == len(items) {
			return nil, fmt.Errorf("not enough arguments for format string")
		}
		text, err := st.verb(verb, items[next])
		next++
		if err == nil {
			err = st.make(len(text))
		}
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	_, isList := v.(*list)
	_, isDict := v.(*dict)
	if next < len(items) && (!isList && !isDict || typeName(v) == "tuple") { // of what has elements by keys, Python takes none amiss
		return nil, fmt.Errorf("not all arguments converted during string formatting")
	}
	b.WriteString(s)
	return st.made(b.String())
}

func (st *state) verb(verb byte, v value) (string, error) {
	switch verb {
	case 's':
		return st.str(v)
	case 'r':
		return st.repr(v)
	case 'd':
		if f, is := v.(float64); is {
			n, err := truncated(f)
			if err != nil {
				return "", err
			}
			v = n
		}
		if n, is := integer(v); is {
			return strconv.FormatInt(n, 10), nil
		}
		return "", fmt.Errorf("%%d format: a real number is required, not %s", typeName(v))
	}
	return "", fmt.Errorf("the format %%%c is not supported, only %%s, %%d, %%r and %%%%", verb)
}

// formatMethod is str.format with {}, {0} and {name}, and {{ and }} for brackets.
func formatMethod(st *state, s string, a args) (value, error) {
	var b strings.Builder
	next := 0
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if s[i] == '}' || end < 0 {
			return nil, fmt.Errorf("single '%c' encountered in format string", s[i])
		}
		text, err := st.field(s[i+1:i+end], a, &next)
		if err == nil {
			err = st.make(len(text))
		}
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return st.made(b.String())
}

// field is the text of what {field} names.
func (st *state) field(field string, a args, next *int) (string, error) {
	if field == "" {
		field = strconv.Itoa(*next)
		*next++
	}
	if i, err := strconv.Atoi(field); err == nil {
		if i < 0 || i >= len(a.plain) {
			return "", fmt.Errorf("format() has no argument %d", i)
		}
		return st.str(a.plain[i])
	}
	for _, n := range a.named {
		if n.name == field {
			return st.str(n.v)
		}
	}
	return "", fmt.Errorf("format() has no argument '%s': only {}, {0} and {name} are supported", field)
}

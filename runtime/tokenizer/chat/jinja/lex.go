package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	eof kind = iota
	data
	variableBegin
	variableEnd
	blockBegin
	blockEnd
	name
	text
	number
	operator
)

// token is a piece of source. Operators are their text; numbers and texts have a value.
type token struct {
	kind  kind
	text  string
	value value
	line  int
}

func (t token) is(k kind, text string) bool { return t.kind == k && t.text == text }

// String names the token in an error.
func (t token) String() string {
	switch t.kind {
	case eof:
		return "the end of the template"
	case variableEnd:
		return "'}}'"
	case blockEnd:
		return "'%}'"
	case text, data:
		return "a text"
	}
	return "'" + t.text + "'"
}

// lexer cuts source into tokens. trim_blocks: the first new line after a block's end is dropped.
// lstrip_blocks: so are blanks between the beginning of a line and a block.
type lexer struct {
	file   string
	source string
	at     int
	line   int
	lined  int // line is that of this place
	tokens []token
}

func lex(file, source string) ([]token, error) {
	if !utf8.ValidString(source) {
		return nil, &Error{file, 1, "the template is not UTF-8", false}
	}
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	l := &lexer{file: file, source: strings.TrimSuffix(source, "\n"), line: 1}
	for l.at < len(l.source) {
		if err := l.root(); err != nil {
			return nil, locate(file, l.lineAt(l.at), err)
		}
	}
	l.add(eof, "", nil, l.at)
	return l.tokens, nil
}

// lineAt is the line of a place, which must not lie before those asked for already.
func (l *lexer) lineAt(at int) int {
	if at > l.lined {
		l.line += strings.Count(l.source[l.lined:at], "\n")
		l.lined = at
	}
	return l.line
}

func (l *lexer) add(k kind, text string, v value, at int) {
	l.tokens = append(l.tokens, token{k, text, v, l.lineAt(at)})
}

// root reads data and the tag behind it.
func (l *lexer) root() error {
	begin := l.at
	open := begin
	for {
		i := strings.IndexByte(l.source[open:], '{')
		if i < 0 {
			l.at = len(l.source)
			l.data(l.source[begin:], begin)
			return nil
		}
		open += i
		if open+1 < len(l.source) && strings.IndexByte("{%#", l.source[open+1]) >= 0 {
			break
		}
		open++
	}
	mark := l.source[open+1]
	inner := open + 2
	sign := byte(0)
	if inner < len(l.source) && (l.source[inner] == '-' || l.source[inner] == '+') {
		sign = l.source[inner]
		inner++
	}
	l.data(l.before(begin, open, sign, mark != '{'), begin)
	l.at = inner
	switch {
	case mark == '#':
		return l.comment()
	case mark == '{':
		l.add(variableBegin, "", nil, open)
		return l.tag('}')
	}
	if end, is := l.rawBegin(inner); is {
		l.at = end
		return l.raw()
	}
	l.add(blockBegin, "", nil, open)
	return l.tag('%')
}

func (l *lexer) data(s string, at int) {
	if s != "" {
		l.add(data, s, nil, at)
	}
}

// before is the text from begin to a tag at open, after its sign and lstrip_blocks.
func (l *lexer) before(begin, open int, sign byte, block bool) string {
	s := l.source[begin:open]
	if sign == '-' {
		return strings.TrimRightFunc(s, space)
	}
	if sign == '+' || !block {
		return s
	}
	line := strings.LastIndexByte(s, '\n') + 1
	if (line > 0 || begin == 0 || l.source[begin-1] == '\n') && strings.TrimFunc(s[line:], space) == "" {
		return s[:line]
	}
	return s
}

// after moves behind a tag's end: its sign, or trim_blocks.
func (l *lexer) after(at int, sign byte) {
	rest := l.source[at:]
	switch {
	case sign == '-':
		at += len(rest) - len(strings.TrimLeftFunc(rest, space))
	case sign == 0 && strings.HasPrefix(rest, "\n"):
		at++
	}
	l.at = at
}

func (l *lexer) comment() error {
	i := strings.Index(l.source[l.at:], "#}")
	if i < 0 {
		return fmt.Errorf("the comment has no end '#}'")
	}
	end, sign := l.at+i, byte(0)
	if i > 0 && (l.source[end-1] == '-' || l.source[end-1] == '+') {
		sign = l.source[end-1]
	}
	l.after(end+2, sign)
	return nil
}

// word says whether a block's only word is at a place, and where the block's end begins.
func (l *lexer) word(at int, word string) (int, bool) {
	rest := strings.TrimLeftFunc(l.source[at:], space)
	rest, is := strings.CutPrefix(rest, word)
	if !is {
		return 0, false
	}
	return len(l.source) - len(strings.TrimLeftFunc(rest, space)), true
}

func (l *lexer) rawBegin(at int) (int, bool) {
	end, is := l.word(at, "raw")
	if !is {
		return 0, false
	}
	rest := l.source[end:]
	if strings.HasPrefix(rest, "-%}") {
		rest = strings.TrimLeftFunc(rest[3:], space)
		return len(l.source) - len(rest), true
	}
	return end + 2, strings.HasPrefix(rest, "%}")
}

// raw reads data up to endraw.
func (l *lexer) raw() error {
	begin, open := l.at, l.at
	for {
		i := strings.Index(l.source[open:], "{%")
		if i < 0 {
			return fmt.Errorf("tag raw has no end 'endraw'")
		}
		open += i
		inner, sign := open+2, byte(0)
		if inner < len(l.source) && (l.source[inner] == '-' || l.source[inner] == '+') {
			sign = l.source[inner]
			inner++
		}
		if end, is := l.word(inner, "endraw"); is {
			if close, closing, is := l.end(end, '%'); is {
				l.data(l.before(begin, open, sign, true), begin)
				l.after(close, closing)
				return nil
			}
		}
		open += 2
	}
}

// end says whether a tag ends at a place, and gives the place behind and its sign.
func (l *lexer) end(at int, closer byte) (behind int, sign byte, is bool) {
	rest := l.source[at:]
	if rest != "" && (rest[0] == '-' || rest[0] == '+' && closer == '%') {
		sign, rest, at = rest[0], rest[1:], at+1
	}
	return at + 2, sign, len(rest) >= 2 && rest[0] == closer && rest[1] == '}'
}

// tag reads tokens up to the tag's end, which counts only where all brackets are closed.
func (l *lexer) tag(closer byte) error {
	var open []byte
	for {
		if l.at >= len(l.source) {
			return fmt.Errorf("the tag has no end '%c}'", closer)
		}
		if behind, sign, is := l.end(l.at, closer); is && len(open) == 0 {
			if closer == '%' {
				l.add(blockEnd, "", nil, l.at)
				l.after(behind, sign)
			} else {
				l.add(variableEnd, "", nil, l.at)
				if l.at = behind; sign == '-' {
					l.after(behind, sign)
				}
			}
			return nil
		}
		r, size := utf8.DecodeRuneInString(l.source[l.at:])
		switch {
		case space(r):
			l.at += size
		case r >= '0' && r <= '9':
			if err := l.number(); err != nil {
				return err
			}
		case r == '_' || unicode.IsLetter(r):
			l.name()
		case r == '\'' || r == '"':
			if err := l.text(); err != nil {
				return err
			}
		default:
			var err error
			if open, err = l.operator(open); err != nil {
				return err
			}
		}
	}
}

func (l *lexer) name() {
	begin := l.at
	rest := l.source[begin:]
	n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.In(r, unicode.L, unicode.N, unicode.M) })
	if n < 0 {
		n = len(rest)
	}
	l.at += n
	l.add(name, rest[:n], nil, begin)
}

var operators = []string{"**", "//", "==", "!=", ">=", "<="}

const single = "+-/*%~[](){}><=.:|,;"

func (l *lexer) operator(open []byte) ([]byte, error) {
	rest := l.source[l.at:]
	op := ""
	for _, o := range operators {
		if strings.HasPrefix(rest, o) {
			op = o
		}
	}
	if op == "" {
		if strings.IndexByte(single, rest[0]) < 0 {
			r, _ := utf8.DecodeRuneInString(rest)
			return nil, fmt.Errorf("unexpected character %q", r)
		}
		op = rest[:1]
	}
	switch c := op[0]; c {
	case '(':
		open = append(open, ')')
	case '[', '{':
		open = append(open, c+2)
	case ')', ']', '}':
		if len(open) == 0 {
			return nil, fmt.Errorf("unexpected '%c'", c)
		}
		if want := open[len(open)-1]; want != c {
			return nil, fmt.Errorf("unexpected '%c', expected '%c'", c, want)
		}
		open = open[:len(open)-1]
	}
	l.add(operator, op, nil, l.at)
	l.at += len(op)
	return open, nil
}

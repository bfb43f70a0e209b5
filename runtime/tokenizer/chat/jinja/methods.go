package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// strMethod is a method of str.
type strMethod func(st *state, s string, a args) (value, error)

// changing are the methods that Jinja's immutable sandbox refuses.
var changing = map[string]map[string]bool{
	"list": {"append": true, "clear": true, "extend": true, "insert": true, "pop": true, "remove": true, "reverse": true, "sort": true},
	"dict": {"clear": true, "pop": true, "popitem": true, "setdefault": true, "update": true},
}

// method gives a method of a value, nil if it has none of that name.
func method(of value, name string) *function {
	if changing[typeName(of)][name] {
		return &function{name, func(*state, args) (value, error) {
			return nil, fmt.Errorf("access to attribute '%s' of '%s' object is unsafe: it would change it", name, typeName(of))
		}}
	}
	switch of := of.(type) {
	case string:
		if m, has := strMethods[name]; has {
			return &function{name, func(st *state, a args) (value, error) { return m(st, of, a) }}
		}
	case *dict:
		if m, has := dictMethods[name]; has {
			return &function{name, func(st *state, a args) (value, error) { return m(st, of, a) }}
		}
	case *list:
		if m, has := listMethods[name]; has && of.kind <= tuple {
			return &function{name, func(st *state, a args) (value, error) { return m(st, of, a) }}
		}
	}
	return nil
}

var dictMethods = map[string]func(*state, *dict, args) (value, error){
	"get": func(_ *state, d *dict, a args) (value, error) {
		p, err := a.bind("get", "*key", "default")
		if err != nil {
			return nil, err
		}
		if key, is := p[0].(string); is {
			if v, has := d.at[key]; has {
				return v, nil
			}
		}
		if given(p[1]) {
			return p[1], nil
		}
		return nil, nil
	},
	"items":  viewOf("items", (*dict).pairs),
	"keys":   viewOf("keys", (*dict).keyValues),
	"values": viewOf("values", (*dict).values),
	"copy": func(_ *state, d *dict, a args) (value, error) {
		_, err := a.bind("copy")
		return d, err
	},
}

func viewOf(name string, of func(*dict) []value) func(*state, *dict, args) (value, error) {
	return func(st *state, d *dict, a args) (value, error) {
		if _, err := a.bind(name); err != nil {
			return nil, err
		}
		return &list{view, of(d)}, st.spend(len(d.keys))
	}
}

var listMethods = map[string]func(*state, *list, args) (value, error){
	"count": func(st *state, l *list, a args) (value, error) {
		p, err := a.bind("count", "*value")
		if err != nil {
			return nil, err
		}
		n := int64(0)
		for _, item := range l.items {
			same, err := st.equal(item, p[0])
			if err != nil {
				return nil, err
			}
			if same {
				n++
			}
		}
		return n, nil
	},
	"index": func(st *state, l *list, a args) (value, error) {
		p, err := a.bind("index", "*value")
		if err != nil {
			return nil, err
		}
		for i, item := range l.items {
			if same, err := st.equal(item, p[0]); err != nil || same {
				return int64(i), err
			}
		}
		return nil, fmt.Errorf("the value is not in the list")
	},
}

var strMethods map[string]strMethod

func init() {
	strMethods = map[string]strMethod{
		"strip":        stripper("strip", true, true),
		"lstrip":       stripper("lstrip", true, false),
		"rstrip":       stripper("rstrip", false, true),
		"upper":        mapped("upper", strings.ToUpper),
		"lower":        mapped("lower", strings.ToLower),
		"casefold":     mapped("casefold", strings.ToLower),
		"title":        mapped("title", titled),
		"capitalize":   mapped("capitalize", capitalized),
		"swapcase":     mapped("swapcase", swapped),
		"startswith":   affixed("startswith", strings.HasPrefix),
		"endswith":     affixed("endswith", strings.HasSuffix),
		"removeprefix": removed("removeprefix", strings.TrimPrefix),
		"removesuffix": removed("removesuffix", strings.TrimSuffix),
		"isdigit":      allOf("isdigit", unicode.IsDigit),
		"isdecimal":    allOf("isdecimal", unicode.IsDigit),
		"isnumeric":    allOf("isnumeric", unicode.IsNumber),
		"isalpha":      allOf("isalpha", unicode.IsLetter),
		"isalnum":      allOf("isalnum", func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
		"isspace":      allOf("isspace", space),
		"isupper":      cased("isupper", unicode.IsUpper),
		"islower":      cased("islower", unicode.IsLower),
		"find":         finder("find", strings.Index, false),
		"rfind":        finder("rfind", strings.LastIndex, false),
		"index":        finder("index", strings.Index, true),
		"rindex":       finder("rindex", strings.LastIndex, true),
		"split":        splitMethod,
		"rsplit":       rsplitMethod,
		"splitlines":   splitlines,
		"partition":    parter("partition", strings.Index),
		"rpartition":   parter("rpartition", strings.LastIndex),
		"replace":      replaceMethod,
		"count":        countMethod,
		"join":         joinMethod,
		"format":       formatMethod,
		"zfill":        zfill,
		"ljust":        justifier("ljust", func(free int) int { return 0 }),
		"rjust":        justifier("rjust", func(free int) int { return free }),
	}
}

func stripper(name string, left, right bool) strMethod {
	return func(st *state, s string, a args) (value, error) {
		p, err := a.bind(name, "chars")
		if err != nil {
			return nil, err
		}
		cut := space
		if given(p[0]) && p[0] != nil {
			set, err := textOr(name, p[0], "")
			if err != nil {
				return nil, err
			}
			cut = func(r rune) bool { return strings.ContainsRune(set, r) }
			if err := st.spend(len(set) / 16); err != nil {
				return nil, err
			}
		}
		if left {
			s = strings.TrimLeftFunc(s, cut)
		}
		if right {
			s = strings.TrimRightFunc(s, cut)
		}
		return st.made(s)
	}
}

func mapped(name string, do func(string) string) strMethod {
	return func(st *state, s string, a args) (value, error) {
		if _, err := a.bind(name); err != nil {
			return nil, err
		}
		if err := st.make(len(s)); err != nil {
			return nil, err
		}
		return do(s), nil
	}
}

// affixed tests a prefix or suffix, or each of a tuple.
func affixed(name string, has func(s, affix string) bool) strMethod {
	return func(_ *state, s string, a args) (value, error) {
		p, err := a.bind(name, "*affix")
		if err != nil {
			return nil, err
		}
		all := []value{p[0]}
		if l, is := p[0].(*list); is && l.kind == tuple {
			all = l.items
		}
		for _, one := range all {
			affix, err := textOr(name, one, "")
			if err != nil {
				return nil, err
			}
			if has(s, affix) {
				return true, nil
			}
		}
		return false, nil
	}
}

func removed(name string, do func(s, affix string) string) strMethod {
	return func(st *state, s string, a args) (value, error) {
		p, err := a.bind(name, "*affix")
		if err != nil {
			return nil, err
		}
		affix, err := textOr(name, p[0], "")
		if err != nil {
			return nil, err
		}
		return st.made(do(s, affix))
	}
}

func allOf(name string, is func(rune) bool) strMethod {
	return func(st *state, s string, a args) (value, error) {
		if _, err := a.bind(name); err != nil {
			return nil, err
		}
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0, st.spend(len(s) / 16)
	}
}

// cased says whether all letters with a case have this one, and there are some.
func cased(name string, is func(rune) bool) strMethod {
	return func(st *state, s string, a args) (value, error) {
		if _, err := a.bind(name); err != nil {
			return nil, err
		}
		some := false
		for _, r := range s {
			if unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) {
				if !is(r) {
					return false, nil
				}
				some = true
			}
		}
		return some, st.spend(len(s) / 16)
	}
}

// finder gives the place of a text in code points, -1 or an error if it is not there.
func finder(name string, find func(s, part string) int, must bool) strMethod {
	return func(st *state, s string, a args) (value, error) {
		p, err := a.bind(name, "*sub")
		if err != nil {
			return nil, err
		}
		part, err := textOr(name, p[0], "")
		if err != nil {
			return nil, err
		}
		i := find(s, part)
		if i < 0 && must {
			return nil, fmt.Errorf("substring not found")
		}
		if i < 0 {
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])), st.spend(len(s) / 16)
	}
}

func titled(s string) string {
	inside := false
	return strings.Map(func(r rune) rune {
		was := inside
		inside = unicode.IsLetter(r)
		switch {
		case !inside:
			return r
		case was:
			return unicode.ToLower(r)
		}
		return unicode.ToTitle(r)
	}, s)
}

func capitalized(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToTitle(s[:n]) + strings.ToLower(s[n:])
}

func swapped(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

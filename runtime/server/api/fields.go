package api

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// fields are the values of a JSON object. The first fault is kept and ends the
// reading: what is read after it are defaults.
type fields struct {
	raw    map[string]json.RawMessage
	prefix string // of the names in messages: "sampling_params."
	suffix string // "[2]": the value for one item of a batch
	err    *failure
}

// fault returns an error or nil, without the trap of a typed nil.
func (f *fields) fault() error {
	if f.err == nil {
		return nil
	}
	return f.err
}

func (f *fields) fail(name, format string, args ...any) {
	if f.err == nil {
		label := f.label(name)
		f.err = invalid(label, "%s "+format, append([]any{label}, args...)...)
	}
}

// label names a field, or with "ids[3]" an element of it, in the whole body.
func (f *fields) label(name string) string {
	if base, element, is := strings.Cut(name, "["); is {
		return f.prefix + base + f.suffix + "[" + element
	}
	return f.prefix + name + f.suffix
}

// get is a value that is there and not null.
func (f *fields) get(name string) (json.RawMessage, bool) {
	raw, has := f.raw[name]
	if !has || f.err != nil || string(raw) == "null" {
		return nil, false
	}
	return raw, true
}

func (f *fields) wrong(name string, raw json.RawMessage, want string) {
	f.fail(name, "is %s, expected %s", show(raw), want)
}

func (f *fields) text(name, otherwise string) string {
	raw, has := f.get(name)
	if !has {
		return otherwise
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		f.wrong(name, raw, "a string")
		return otherwise
	}
	return s
}

// maxName bounds what is told again with every row or chunk. Ours.
const maxName = 256

// name reads a string that is no longer than a name.
func (f *fields) name(name, otherwise string) string {
	s := f.text(name, otherwise)
	if len(s) > maxName {
		f.fail(name, "has %d bytes, expected at most %d", len(s), maxName)
		return otherwise
	}
	return s
}

func (f *fields) flag(name string, otherwise bool) bool {
	raw, has := f.get(name)
	switch {
	case !has:
		return otherwise
	case string(raw) == "true":
		return true
	case string(raw) == "false":
		return false
	}
	f.wrong(name, raw, "true or false")
	return otherwise
}

// whole reads an integer from least to most.
func (f *fields) whole(name string, otherwise, least, most int64) int64 {
	raw, has := f.get(name)
	if !has {
		return otherwise
	}
	n, err := parseWhole(raw)
	if err != nil || n < least || n > most {
		f.wrong(name, raw, "an integer"+span(least, most))
		return otherwise
	}
	return n
}

func span(least, most int64) string {
	switch {
	case least == math.MinInt64 && most == math.MaxInt64:
		return ""
	case most == math.MaxInt64:
		return " of at least " + itoa(least)
	}
	return " from " + itoa(least) + " to " + itoa(most)
}

// parseWhole takes 16 and 16.0.
func parseWhole(raw []byte) (int64, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, nil
	}
	v, floatErr := strconv.ParseFloat(string(raw), 64)
	if floatErr != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, err
	}
	return int64(v), nil
}

// number reads a finite number that fits; want says which those are.
func (f *fields) number(name string, otherwise float64, want string, fits func(float64) bool) float64 {
	raw, has := f.get(name)
	if !has {
		return otherwise
	}
	v, err := parseNumber(raw)
	if err != nil || !fits(v) {
		f.wrong(name, raw, "a number "+want)
		return otherwise
	}
	return v
}

// parseNumber reads JSON's numbers only: strconv knows NaN and hexadecimals too.
func parseNumber(raw []byte) (float64, error) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(string(raw), 64)
}

// texts reads a list of strings; one is true where a single string stands for it.
func (f *fields) texts(name string, one bool) []string {
	raw, has := f.get(name)
	if !has {
		return nil
	}
	if one && raw[0] == '"' {
		return []string{f.text(name, "")}
	}
	list, fine := parseList[string](raw)
	if !fine && one {
		f.wrong(name, raw, "a string or a list of strings")
	} else if !fine {
		f.wrong(name, raw, "a list of strings")
	}
	return list
}

// parseList reads a list without null elements, which encoding/json takes for zeros.
func parseList[T any](raw []byte) ([]T, bool) {
	var pointers []*T
	if raw[0] != '[' || json.Unmarshal(raw, &pointers) != nil {
		return nil, false
	}
	list := make([]T, len(pointers))
	for i, p := range pointers {
		if p == nil {
			return nil, false
		}
		list[i] = *p
	}
	return list, true
}

// ids reads a list of token ids, each from 0 to below.
func (f *fields) ids(name string, below int) []int64 {
	raw, has := f.get(name)
	if !has {
		return nil
	}
	list, fine := parseIDs(raw)
	if !fine {
		f.wrong(name, raw, "a list of token ids")
		return nil
	}
	f.checkIDs(name, list, below)
	return list
}

func (f *fields) checkIDs(name string, list []int64, below int) {
	for i, id := range list {
		if id < 0 || id >= int64(below) {
			f.fail(name+"["+strconv.Itoa(i)+"]", "is %d, expected 0 to %d", id, below-1)
			return
		}
	}
}

// parseIDs reads a list of integers from valid JSON. Such a list has nothing in
// it but digits, signs, commas and blanks, so it can be cut at the commas.
func parseIDs(raw []byte) ([]int64, bool) {
	if len(raw) < 2 || raw[0] != '[' {
		return nil, false
	}
	inner := bytes.TrimSpace(raw[1 : len(raw)-1])
	list := make([]int64, 0, len(inner)/4)
	for len(inner) > 0 {
		element, rest, more := bytes.Cut(inner, []byte(","))
		n, err := strconv.ParseInt(string(bytes.TrimSpace(element)), 10, 64)
		if err != nil || more && len(rest) == 0 {
			return nil, false
		}
		list = append(list, n)
		inner = rest
	}
	return list, true
}

// object reads a nested object; nil: it is not there.
func (f *fields) object(name string) *fields {
	raw, has := f.get(name)
	if !has {
		return nil
	}
	inner := &fields{prefix: f.prefix + name + f.suffix + "."}
	if raw[0] != '{' || json.Unmarshal(raw, &inner.raw) != nil {
		f.wrong(name, raw, "an object")
		return nil
	}
	return inner
}

// take makes the fault of fields that were read apart one of f.
func (f *fields) take(inner *fields) {
	if f.err == nil {
		f.err = inner.err
	}
}

// refuse names a field that asks for what this server lacks. A value that asks
// for nothing (false, 0, "", [], {}) is fine.
func (f *fields) refuse(names ...string) {
	for _, name := range names {
		raw, has := f.get(name)
		if !has {
			continue
		}
		if !asksNothing(raw) {
			f.fail(name, "is %s, expected none: this server does not support it", show(raw))
		}
	}
}

// asksNothing says whether a value is false, 0, "", [] or {}.
func asksNothing(raw json.RawMessage) bool {
	switch string(bytes.Join(bytes.Fields(raw), nil)) {
	case `false`, `0`, `""`, `[]`, `{}`:
		return true
	}
	return false
}

// each reads a value for each item of a batch: read is called with an item's own
// where the value is a list of them, else with the one for all. Where a single
// value is a list itself, nested says so.
func (f *fields) each(name string, items int, batch, nested bool, read func(*fields, int)) {
	raw, has := f.get(name)
	if !has || !batch || raw[0] != '[' || nested && !listOfLists(raw) {
		for i := range items {
			read(f, i)
		}
		return
	}
	var own []json.RawMessage
	if err := json.Unmarshal(raw, &own); err != nil {
		f.fail(name, "cannot be read: %s", err)
		return
	}
	if len(own) != items {
		f.fail(name, "has %d values, expected %d, one an item", len(own), items)
		return
	}
	for i, value := range own {
		one := &fields{raw: map[string]json.RawMessage{name: value}, prefix: f.prefix, suffix: "[" + strconv.Itoa(i) + "]"}
		read(one, i)
		f.take(one)
	}
}

// listOfLists says whether the first element of a list is null or a list.
func listOfLists(raw []byte) bool {
	inner := bytes.TrimSpace(raw[1:])
	return inner[0] == '[' || inner[0] == 'n'
}

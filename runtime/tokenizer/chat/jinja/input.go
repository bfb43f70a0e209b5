package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
)

// Value is a variable's value. Values do not change.
type Value struct{ v value }

// Text is a str.
func Text(s string) Value { return Value{s} }

// Truth is a bool.
func Truth(b bool) Value { return Value{b} }

// Elements is a list.
func Elements(of []Value) Value {
	out := &list{items: make([]value, len(of))}
	for i, v := range of {
		out.items[i] = v.v
	}
	return Value{out}
}

// AsText is v if it is a str.
func (v Value) AsText() (string, bool) {
	s, is := v.v.(string)
	return s, is
}

// AsElements is v if it is a list.
func (v Value) AsElements() ([]Value, bool) {
	l, is := v.v.(*list)
	if !is {
		return nil, false
	}
	out := make([]Value, len(l.items))
	for i, item := range l.items {
		out[i] = Value{item}
	}
	return out, true
}

// IsNone says whether v is None, JSON's null.
func (v Value) IsNone() bool { return v.v == nil }

// IsDict says whether v is a dict.
func (v Value) IsDict() bool {
	_, is := v.v.(*dict)
	return is
}

// Field is the value of a key if v is a dict that has it.
func (v Value) Field(key string) (Value, bool) {
	d, is := v.v.(*dict)
	if !is {
		return Value{}, false
	}
	f, has := d.at[key]
	return Value{f}, has
}

// With is the dict v with another value of a key, which keeps its place or comes last.
func (v Value) With(key string, field Value) Value {
	out := newDict()
	if d, is := v.v.(*dict); is {
		for _, k := range d.keys {
			out.set(k, d.at[k])
		}
	}
	out.set(key, field.v)
	return Value{out}
}

// mostInside bounds JSON within JSON: half of what a rendering may go deep.
const mostInside = mostDeep / 2

// FromJSON reads JSON as Python's json.loads does: keys in their order, the last of equal ones, 1 and 1.0 apart.
// Half of a character, which Python takes, is refused: no tokenizer takes it.
func FromJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, fmt.Errorf("JSON with something behind it")
	}
	if escape := jsoncheck.HalfCharacter(data); escape != nil {
		return Value{}, fmt.Errorf("JSON with %s, half of a character, expected both halves", escape)
	}
	return Value{v}, nil
}

func decode(d *json.Decoder, depth int) (value, error) {
	if depth > mostInside {
		return nil, fmt.Errorf("JSON nested more than %d deep", mostInside)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		if strings.ContainsAny(string(t), ".eE") {
			return parseFloat(string(t))
		}
		return parseInt(string(t), 10)
	case json.Delim:
		if t == '[' {
			return decodeList(d, depth)
		}
		return decodeDict(d, depth)
	}
	return t, nil // string, bool, nil
}

func decodeList(d *json.Decoder, depth int) (value, error) {
	out := &list{}
	for d.More() {
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, v)
	}
	_, err := d.Token()
	return out, err
}

func decodeDict(d *json.Decoder, depth int) (value, error) {
	out := newDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decode(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.set(key.(string), v)
	}
	_, err := d.Token()
	return out, err
}

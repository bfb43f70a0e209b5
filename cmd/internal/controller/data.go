package controller

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Plain JSON, as package protocol describes it, to wire values and back.

// keys of values that JSON has no form for.
const (
	keyBytes = "$b64"
	keyFloat = "$f"
)

// maxExact is the largest integer that every JSON reader keeps exactly.
const maxExact = 1 << 53

// fromJSON reads one value, keeping the order of an object's keys.
func fromJSON(raw []byte) (wire.Value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

func readValue(d *json.Decoder) (wire.Value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			return readList(d)
		}
		return readObject(d)
	case json.Number:
		return number(string(t))
	}
	return t, nil // nil, bool, string
}

func readList(d *json.Decoder) (wire.Value, error) {
	list := []wire.Value{}
	for d.More() {
		v, err := readValue(d)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func readObject(d *json.Decoder) (wire.Value, error) {
	m := wire.Map{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := readValue(d)
		if err != nil {
			return nil, err
		}
		m = append(m, wire.Pair{Key: key, Value: v})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if len(m) == 1 {
		return special(m)
	}
	return m, nil
}

// special is the value of {"$b64": ...} or {"$f": ...}, or the map itself.
func special(m wire.Map) (wire.Value, error) {
	text, _ := m[0].Value.(string)
	switch m[0].Key {
	case keyBytes:
		return base64.StdEncoding.DecodeString(text)
	case keyFloat:
		switch text {
		case "nan":
			return math.NaN(), nil
		case "inf":
			return math.Inf(1), nil
		case "-inf":
			return math.Inf(-1), nil
		}
		return nil, fmt.Errorf("%q: got %q, want nan, inf or -inf", keyFloat, text)
	}
	return m, nil
}

// number is an integer if it is written as one.
func number(s string) (wire.Value, error) {
	if !strings.ContainsAny(s, ".eE") {
		return strconv.ParseInt(s, 10, 64)
	}
	return strconv.ParseFloat(s, 64)
}

// toJSON appends v as plain JSON.
func toJSON(dst []byte, v wire.Value) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		if v > maxExact || v < -maxExact {
			return strconv.AppendQuote(dst, strconv.FormatInt(v, 10)), nil
		}
		return strconv.AppendInt(dst, v, 10), nil
	case uint64:
		return strconv.AppendQuote(dst, strconv.FormatUint(v, 10)), nil
	case float64:
		return appendFloat(dst, v)
	case wire.Float32:
		return appendFloat(dst, float64(v))
	case string:
		return appendString(dst, v)
	case []byte:
		return appendBytes(dst, v), nil
	case []wire.Value:
		return appendList(dst, v)
	case wire.Map:
		return appendObject(dst, v)
	case wire.Ext:
		return appendObject(dst, wire.Map{{Key: "$ext", Value: int64(v.Type)}, {Key: keyBytes, Value: base64.StdEncoding.EncodeToString(v.Data)}})
	}
	return nil, fmt.Errorf("a value of type %T has no JSON form", v)
}

// appendString refuses what JSON would silently write as U+FFFD.
func appendString(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("text %q is not UTF-8", s)
	}
	b, err := json.Marshal(s)
	return append(dst, b...), err
}

func appendFloat(dst []byte, f float64) ([]byte, error) {
	name := ""
	switch {
	case math.IsNaN(f):
		name = "nan"
	case math.IsInf(f, 1):
		name = "inf"
	case math.IsInf(f, -1):
		name = "-inf"
	default:
		b, err := json.Marshal(f)
		if !bytes.ContainsAny(b, ".e") {
			b = append(b, ".0"...) // read back, it stays a float
		}
		return append(dst, b...), err
	}
	return fmt.Appendf(dst, `{%q:%q}`, keyFloat, name), nil
}

func appendBytes(dst, b []byte) []byte {
	dst = fmt.Appendf(dst, `{%q:"`, keyBytes)
	dst = base64.StdEncoding.AppendEncode(dst, b)
	return append(dst, `"}`...)
}

func appendList(dst []byte, list []wire.Value) ([]byte, error) {
	dst = append(dst, '[')
	var err error
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = toJSON(dst, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, m wire.Map) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '{')
	for i, p := range m {
		key, ok := p.Key.(string)
		if !ok {
			return nil, fmt.Errorf("a map key of type %T has no JSON form", p.Key)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendString(dst, key); err != nil {
			return nil, err
		}
		if dst, err = toJSON(append(dst, ':'), p.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// fields turns a row's values into JSON, leaving out nulls, which are the
// default of every field.
func fields(row map[string]wire.Value) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if row[name] == nil {
			continue
		}
		b, err := toJSON(nil, row[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if string(b) != "null" {
			out[name] = b
		}
	}
	return out, nil
}

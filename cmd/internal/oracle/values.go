package oracle

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
)

// timeTolerance is in seconds: what rebasing a time from one clock to another
// and back may cost in float64.
const timeTolerance = 5e-6

// Same reports whether two JSON texts hold the same value. Numbers are compared
// by value, objects whatever the order of their keys. Numbers under a key that
// ends in "_time" may differ by the tolerance.
func Same(a, b json.RawMessage, tolerance float64) bool {
	if bytes.Equal(a, b) {
		return true
	}
	va, errA := decode(a)
	vb, errB := decode(b)
	return errA == nil && errB == nil && same(va, vb, tolerance, false)
}

func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func same(a, b any, tolerance float64, isTime bool) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y, tolerance, isTime)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !same(x[i], y[i], tolerance, isTime) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !same(v, w, tolerance, strings.HasSuffix(k, "_time")) {
				return false
			}
		}
		return true
	}
	return a == b // nil, bool, string
}

func sameNumber(a, b json.Number, tolerance float64, isTime bool) bool {
	if a == b {
		return true
	}
	if !strings.ContainsAny(string(a)+string(b), ".eE") {
		return false // two integers, written differently
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil {
		return false
	}
	if isTime && tolerance > 0 {
		return math.Abs(x-y) <= tolerance
	}
	return x == y
}

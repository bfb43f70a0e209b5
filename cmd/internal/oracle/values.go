package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"strings"
)

// timeTolerance is in seconds: what rebasing a time from one clock to another
// and back may cost in float64.
const timeTolerance = 5e-6

// Same reports whether two JSON texts hold the same value. Numbers are compared
// by value, objects whatever the order of their keys. The number of a key that
// ends in "_time" may differ by the tolerance, not what lies deeper.
func Same(a, b json.RawMessage, tolerance float64) bool {
	if bytes.Equal(a, b) {
		return true
	}
	va, errA := decode(a)
	vb, errB := decode(b)
	return errA == nil && errB == nil && same(va, vb, tolerance, false)
}

// decode reads exactly one value. An empty text is null: a value left out.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
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
			if !same(x[i], y[i], tolerance, false) {
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

// sameNumber compares by value. Two integers are compared as they are, of any
// size; a number with a fraction or an exponent is the float64 next to it, which
// an integer equals if it is exactly that.
func sameNumber(a, b json.Number, tolerance float64, isTime bool) bool {
	if a == b {
		return true
	}
	x, xFloat, okX := parse(a)
	y, yFloat, okY := parse(b)
	switch {
	case !okX || !okY:
		return false
	case isTime && tolerance > 0:
		return math.Abs(xFloat-yFloat) <= tolerance
	}
	return x.Cmp(y) == 0
}

// parse returns a number exactly and as a float64. Numbers beyond float64 have
// neither: they are equal only if written alike. So no integer read here has more
// than 309 digits.
func parse(n json.Number) (*big.Float, float64, bool) {
	f, err := n.Float64()
	if err != nil {
		return nil, 0, false
	}
	if strings.ContainsAny(string(n), ".eE") {
		return big.NewFloat(f), f, true
	}
	i, ok := new(big.Int).SetString(string(n), 10)
	if !ok {
		return nil, 0, false
	}
	return new(big.Float).SetInt(i), f, true // as many bits as i needs
}

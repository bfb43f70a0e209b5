package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"
)

// math is left op right, as Python computes it.
func (st *state) math(op string, left, right value) (value, error) {
	for _, v := range []value{left, right} {
		if u, is := v.(undefined); is {
			return nil, u.err()
		}
	}
	if v, done, err := st.join(op, left, right); done {
		return v, err
	}
	a, intA := integer(left)
	b, intB := integer(right)
	if intA && intB {
		return intMath(op, a, b)
	}
	x, isA := float(left)
	y, isB := float(right)
	if !isA || !isB {
		return nil, fmt.Errorf("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(left), typeName(right))
	}
	for _, v := range []value{left, right} {
		if _, is := v.(*big.Int); is {
			return nil, errBig
		}
	}
	return floatMath(op, x, y)
}

var errBig = fmt.Errorf("an int does not fit 64 bits: only printing is supported")

// join is the arithmetic of str and list; false: it is none.
func (st *state) join(op string, left, right value) (v value, done bool, err error) {
	if s, is := left.(string); is && op == "%" {
		v, err = st.percent(s, right)
		return v, true, err
	}
	if op == "*" {
		if n, is := integer(left); is {
			return st.repeat(right, n)
		}
		if n, is := integer(right); is {
			return st.repeat(left, n)
		}
		return nil, false, nil
	}
	if op != "+" {
		return nil, false, nil
	}
	switch l := left.(type) {
	case string:
		if r, is := right.(string); is {
			v, err = st.made2(l, r)
			return v, true, err
		}
		return nil, true, fmt.Errorf("can only concatenate str (not \"%s\") to str", typeName(right))
	case *list:
		r, is := right.(*list)
		if !is || r.kind != l.kind || l.kind > tuple {
			return nil, true, fmt.Errorf("cannot add '%s' to '%s'", typeName(right), typeName(left))
		}
		if err = st.spend(len(l.items) + len(r.items)); err != nil {
			return nil, true, err
		}
		items := append(append(make([]value, 0, len(l.items)+len(r.items)), l.items...), r.items...)
		return &list{l.kind, items}, true, nil
	}
	return nil, false, nil
}

func (st *state) made2(a, b string) (value, error) {
	if err := st.make(len(a) + len(b)); err != nil {
		return nil, err
	}
	return a + b, nil
}

// repeat is v n times, counted before it is made.
func (st *state) repeat(v value, n int64) (value, bool, error) {
	n = max(n, 0)
	switch v := v.(type) {
	case string:
		if n > 0 && int64(len(v)) > st.bytes/n {
			return nil, true, errBytes
		}
		s, err := st.repeated(v, int(n))
		return s, true, err
	case *list:
		if v.kind > tuple {
			break
		}
		if n > 0 && int64(len(v.items)) > st.steps/n {
			return nil, true, errSteps
		}
		var items []value
		for range n {
			if len(v.items) == 0 {
				break
			}
			items = append(items, v.items...)
		}
		return &list{v.kind, items}, true, st.spend(len(items))
	}
	return nil, false, nil
}

func (st *state) repeated(s string, n int) (value, error) {
	if s == "" {
		return "", nil
	}
	if err := st.make(len(s) * n); err != nil {
		return nil, err
	}
	return strings.Repeat(s, n), nil
}

func intMath(op string, a, b int64) (value, error) {
	switch op {
	case "/", "//", "%":
		if b == 0 {
			return nil, fmt.Errorf("division by zero")
		}
	}
	x, y := big.NewInt(a), big.NewInt(b)
	out := new(big.Int)
	switch op {
	case "+":
		out.Add(x, y)
	case "-":
		out.Sub(x, y)
	case "*":
		out.Mul(x, y)
	case "/":
		return float64(a) / float64(b), nil
	case "//":
		q, _ := floorDiv(x, y)
		out = q
	case "%":
		_, r := floorDiv(x, y)
		out = r
	case "**":
		return intPower(a, b)
	}
	if !out.IsInt64() {
		return nil, errBig
	}
	return out.Int64(), nil
}

// floorDiv is Python's // and %: the remainder has the divisor's sign.
func floorDiv(x, y *big.Int) (q, r *big.Int) {
	q, r = new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	return q, r
}

func intPower(a, b int64) (value, error) {
	if b < 0 {
		return floatMath("**", float64(a), float64(b))
	}
	if b > 64 && a != 0 && a != 1 && a != -1 {
		return nil, errBig
	}
	if b > 64 {
		b = 64 + b%2 // of 0, 1 and -1 only that matters
	}
	out := new(big.Int).Exp(big.NewInt(a), big.NewInt(b), nil)
	if !out.IsInt64() {
		return nil, errBig
	}
	return out.Int64(), nil
}

func floatMath(op string, x, y float64) (value, error) {
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "**":
		if x == 0 && y < 0 {
			return nil, fmt.Errorf("0.0 cannot be raised to a negative power")
		}
		if x < 0 && y != math.Trunc(y) {
			return nil, fmt.Errorf("a negative number to a power that is no integer is not supported")
		}
		return math.Pow(x, y), nil
	}
	if y == 0 {
		return nil, fmt.Errorf("float division by zero")
	}
	r := math.Mod(x, y)
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	switch op {
	case "//":
		return math.Round((x - r) / y), nil
	case "%":
		return r, nil
	}
	return x / y, nil
}

func (e *signExpr) eval(st *state) (value, error) {
	v, err := st.eval(e.of)
	if err != nil {
		return nil, err
	}
	if u, is := v.(undefined); is {
		return nil, u.err()
	}
	if n, is := integer(v); is {
		if !e.minus {
			return n, nil
		}
		return intMath("-", 0, n)
	}
	if n, is := v.(*big.Int); is && e.minus {
		return new(big.Int).Neg(n), nil
	} else if is {
		return n, nil
	}
	f, is := v.(float64)
	if !is {
		return nil, fmt.Errorf("bad operand type for a sign: '%s'", typeName(v))
	}
	if e.minus {
		f = -f
	}
	return f, nil
}

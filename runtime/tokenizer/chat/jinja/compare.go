package jinja

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
)

func notIterable(v value) error { return fmt.Errorf("'%s' object is not iterable", typeName(v)) }

// compare is left op right, of Python's comparisons.
func (st *state) compare(op string, left, right value) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := st.equal(left, right)
		return same == (op == "=="), err
	case "in", "not in":
		has, err := st.contains(right, left)
		return has == (op == "in"), err
	}
	order, err := st.order(op, left, right)
	if err != nil {
		return false, err
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0 && order != unordered, nil
	}
	return order >= 0 && order != unordered, nil
}

// equal is Python's ==: numbers by what they are, whatever their type.
func (st *state) equal(left, right value) (bool, error) {
	if err := st.enter(); err != nil {
		return false, err
	}
	defer st.leave()
	switch l := left.(type) {
	case nil:
		return right == nil, nil
	case undefined:
		_, is := right.(undefined)
		return is, nil
	case string:
		r, is := right.(string)
		return is && l == r, nil
	case *list:
		r, is := right.(*list)
		if !is || l.kind > tuple || l.kind != r.kind || len(l.items) != len(r.items) {
			return is && l == r, nil
		}
		for i := range l.items {
			if same, err := st.equal(l.items[i], r.items[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case *dict:
		r, is := right.(*dict)
		if !is || len(l.keys) != len(r.keys) {
			return false, nil
		}
		for _, k := range l.keys {
			v, has := r.at[k]
			if !has {
				return false, nil
			}
			if same, err := st.equal(l.at[k], v); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	if order, are := numbers(left, right); are {
		return order == 0, nil
	}
	return left == right, nil // the same object
}

// unordered is the order of NaN and anything.
const unordered = 2

// numbers compares two numbers; false: they are not two.
func numbers(left, right value) (order int, are bool) {
	l, isL := exact(left)
	r, isR := exact(right)
	if isL && isR {
		return l.Cmp(r), true
	}
	x, isX := float(left)
	y, isY := float(right)
	if x != x || y != y {
		return unordered, isX && isY
	}
	return cmp.Compare(x, y), isX && isY
}

// exact is an int of any size.
func exact(v value) (*big.Int, bool) {
	if n, is := v.(*big.Int); is {
		return n, true
	}
	n, is := integer(v)
	return big.NewInt(n), is
}

// order compares two values that have an order: numbers, texts, and lists of them. op stands in the error.
func (st *state) order(op string, left, right value) (int, error) {
	if err := st.enter(); err != nil {
		return 0, err
	}
	defer st.leave()
	for _, v := range []value{left, right} {
		if u, is := v.(undefined); is {
			return 0, u.err()
		}
	}
	if order, are := numbers(left, right); are {
		return order, nil
	}
	switch l := left.(type) {
	case string:
		if r, is := right.(string); is {
			return strings.Compare(l, r), nil
		}
	case *list:
		r, is := right.(*list)
		if !is || l.kind > tuple || l.kind != r.kind {
			break
		}
		for i := range min(len(l.items), len(r.items)) {
			if same, err := st.equal(l.items[i], r.items[i]); err != nil {
				return 0, err
			} else if !same {
				return st.order(op, l.items[i], r.items[i])
			}
		}
		return cmp.Compare(len(l.items), len(r.items)), nil
	}
	return 0, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", op, typeName(left), typeName(right))
}

// hashable says whether a value may be a key or one of a set.
func hashable(v value) error {
	if t := typeName(v); t == "list" || t == "dict" {
		return fmt.Errorf("unhashable type: '%s'", t)
	}
	return nil
}

// contains is Python's "v in of".
func (st *state) contains(of, v value) (bool, error) {
	switch of := of.(type) {
	case undefined:
		return false, nil
	case string:
		s, is := v.(string)
		if !is {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		return strings.Contains(of, s), st.spend(len(of) / 64)
	case *dict:
		s, is := v.(string)
		_, has := of.at[s]
		return is && has, hashable(v)
	case *list:
		for _, item := range of.take() {
			if same, err := st.equal(item, v); err != nil || same {
				return same, err
			}
		}
		return false, nil
	}
	return false, notIterable(of)
}

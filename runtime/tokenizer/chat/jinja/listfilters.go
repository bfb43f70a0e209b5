package jinja

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// path follows a dotted path of attributes and numbers from a value; missing stands for what is not there.
func (st *state) path(v value, at value, missing value) (value, error) {
	if n, is := integer(at); is {
		return st.item(v, n)
	}
	dotted, is := at.(string)
	if !is {
		return nil, fmt.Errorf("an attribute is %s, expected str", typeName(at))
	}
	for part := range strings.SplitSeq(dotted, ".") {
		var key value = part
		if n, err := strconv.ParseInt(part, 10, 64); err == nil {
			key = n
		}
		var err error
		if v, err = st.item(v, key); err != nil {
			return nil, err
		}
		if _, is := v.(undefined); is && missing != nil {
			v = missing
		}
	}
	return v, st.spend(1)
}

// attributes are those of all elements; without a path, the elements themselves.
func (st *state) attributes(items []value, at value, missing value) ([]value, error) {
	if !given(at) || at == nil {
		return items, nil
	}
	out := make([]value, len(items))
	for i, item := range items {
		var err error
		if out[i], err = st.path(item, at, missing); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// unpackTrue is unpack for filters that take whatever is false for an empty list.
func (st *state) unpackTrue(v value) ([]value, error) {
	if !truth(v) {
		return nil, nil
	}
	return st.unpack(v)
}

// mapFilter is map(attribute=...) or map("filter", arguments).
func mapFilter(st *state, v value, a args) (value, error) {
	items, err := st.unpackTrue(v)
	if err != nil {
		return nil, err
	}
	if len(a.plain) == 0 {
		p, err := a.bind("map", "*attribute", "default")
		if err != nil {
			return nil, err
		}
		var missing value
		if given(p[1]) {
			missing = p[1]
		}
		out, err := st.attributes(items, p[0], missing)
		return &list{generator, out}, err
	}
	name, err := textOr("map", a.plain[0], "")
	if err != nil {
		return nil, err
	}
	do, known := filters[name]
	if !known {
		return nil, fmt.Errorf("no filter named %s", name)
	}
	out := make([]value, len(items))
	for i, item := range items {
		if err := st.enter(); err != nil {
			return nil, err
		}
		out[i], err = do(st, item, args{a.plain[1:], a.named})
		st.leave()
		if err != nil {
			return nil, err
		}
	}
	return &list{generator, out}, nil
}

// chooser is select and its like: attr: of an attribute; keep: those for which the test holds.
func chooser(name string, attr, keep bool) filter {
	return func(st *state, v value, a args) (value, error) {
		items, err := st.unpackTrue(v)
		if err != nil {
			return nil, err
		}
		var at value = absent{}
		if attr {
			if len(a.plain) == 0 {
				return nil, fmt.Errorf("%s() lacks the name of an attribute", name)
			}
			at, a.plain = a.plain[0], a.plain[1:]
		}
		of, err := st.attributes(items, at, nil)
		if err != nil {
			return nil, err
		}
		do := func(_ *state, v value, _ args) (value, error) { return truth(v), nil }
		if len(a.plain) > 0 {
			word, err := textOr(name, a.plain[0], "")
			if err != nil {
				return nil, err
			}
			named, known := tests[word]
			if !known {
				return nil, fmt.Errorf("no test named %s", word)
			}
			do, a.plain = named, a.plain[1:]
		}
		out := &list{kind: generator}
		for i, item := range of {
			holds, err := do(st, item, a)
			if err != nil {
				return nil, err
			}
			if truth(holds) == keep {
				out.items = append(out.items, items[i])
			}
		}
		return out, st.spend(len(of))
	}
}

// keys are what elements are ordered by: an attribute, without regard to case unless that is asked for.
func (st *state) keys(items []value, at, sensitive value) ([]value, error) {
	of, err := st.attributes(items, at, nil)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(of)
	for i, v := range out {
		if s, is := v.(string); is && !(given(sensitive) && truth(sensitive)) {
			out[i] = strings.ToLower(s)
			if err := st.make(len(s)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// sorted orders elements by their keys; equal ones stay in their order.
func (st *state) sorted(items, keys []value, reverse bool) ([]value, error) {
	at := make([]int, len(items))
	for i := range at {
		at[i] = i
	}
	var fault error
	slices.SortStableFunc(at, func(i, j int) int {
		if fault != nil {
			return 0
		}
		var order int
		order, fault = st.order("<", keys[i], keys[j])
		if reverse {
			return -order
		}
		return order
	})
	out := make([]value, len(items))
	for i, j := range at {
		out[i] = items[j]
	}
	return out, fault
}

func sortFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("sort", "reverse", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	if err != nil {
		return nil, err
	}
	keys, err := st.keys(items, p[2], p[1])
	if err != nil {
		return nil, err
	}
	out, err := st.sorted(items, keys, given(p[0]) && truth(p[0]))
	return &list{plainList, out}, err
}

func dictsortFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("dictsort", "case_sensitive", "by", "reverse")
	if err != nil {
		return nil, err
	}
	by, err := textOr("dictsort", p[1], "key")
	if err != nil {
		return nil, err
	}
	d, is := v.(*dict)
	at, known := map[string]int64{"key": 0, "value": 1}[by]
	if !is || !known {
		return nil, fmt.Errorf("dictsort() got %s by '%s', expected dict by 'key' or 'value'", typeName(v), by)
	}
	items := d.pairs()
	keys, err := st.keys(items, at, p[0])
	if err != nil {
		return nil, err
	}
	out, err := st.sorted(items, keys, given(p[2]) && truth(p[2]))
	return &list{plainList, out}, err
}

func uniqueFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("unique", "case_sensitive", "attribute")
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	if err != nil {
		return nil, err
	}
	keys, err := st.keys(items, p[1], p[0])
	if err != nil {
		return nil, err
	}
	out, seen := &list{kind: generator}, &list{}
	for i, key := range keys {
		has, err := st.contains(seen, key)
		if err == nil {
			err = hashable(key)
		}
		if err != nil {
			return nil, err
		}
		if !has {
			seen.items = append(seen.items, key)
			out.items = append(out.items, items[i])
		}
	}
	return out, nil
}

// extremeFilter is max (sign 1) and min (-1): the first of equal ones.
func extremeFilter(name string, sign int) filter {
	return func(st *state, v value, a args) (value, error) {
		p, err := a.bind(name, "case_sensitive", "attribute")
		if err != nil {
			return nil, err
		}
		items, err := st.unpack(v)
		if err != nil {
			return nil, err
		}
		keys, err := st.keys(items, p[1], p[0])
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return undefined{"No aggregated item, sequence was empty."}, nil
		}
		best := 0
		for i := range items {
			order, err := st.order("<", keys[i], keys[best])
			if err != nil {
				return nil, err
			}
			if order*sign > 0 {
				best = i
			}
		}
		return items[best], nil
	}
}

func sumFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("sum", "attribute", "start")
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	if err == nil {
		items, err = st.attributes(items, p[0], nil)
	}
	if err != nil {
		return nil, err
	}
	var sum value = int64(0)
	if given(p[1]) {
		sum = p[1]
	}
	for _, item := range items {
		if sum, err = st.math("+", sum, item); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// batchFilter cuts elements into lists of n; the last one is filled up where that is asked for.
func batchFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("batch", "*linecount", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := pieces("batch", p[0])
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	out := &list{kind: generator}
	for part := range slices.Chunk(items, int(n)) {
		part = slices.Clone(part)
		for given(p[1]) && p[1] != nil && len(part) < int(n) {
			part = append(part, p[1])
		}
		out.items = append(out.items, &list{plainList, part})
	}
	return out, err
}

// pieces is a filter's number of elements or of lists.
func pieces(filter string, v value) (int64, error) {
	n, err := intOr(filter, v, 0)
	if err == nil && (n < 1 || n > mostRange) {
		err = fmt.Errorf("%s() got %d, expected 1 to %d", filter, n, mostRange)
	}
	return n, err
}

// sliceFilter cuts elements into n lists, the first ones longer by one where they do not go up.
func sliceFilter(st *state, v value, a args) (value, error) {
	p, err := a.bind("slice", "*slices", "fill_with")
	if err != nil {
		return nil, err
	}
	n, err := pieces("slice", p[0])
	if err == nil {
		err = st.spend(int(n))
	}
	if err != nil {
		return nil, err
	}
	items, err := st.unpack(v)
	each, longer := len(items)/int(n), len(items)%int(n)
	out := &list{kind: generator}
	for i := range int(n) {
		size := each
		if i < longer {
			size++
		}
		part := slices.Clone(items[:size])
		if items = items[size:]; given(p[1]) && p[1] != nil && i >= longer {
			part = append(part, p[1])
		}
		out.items = append(out.items, &list{plainList, part})
	}
	return out, err
}

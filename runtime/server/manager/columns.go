package manager

import (
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// maxRowNumber keeps a hostile number away from the end of the range.
const maxRowNumber = 1 << 53

// columns is a batch with what is opened once for all of its rows.
type columns struct {
	*wire.BatchStrOutput
	numbers       []wire.Value
	input, output logprobs
}

func newColumns(b *wire.BatchStrOutput) (columns, error) {
	c := columns{BatchStrOutput: b}
	info, err := b.CustomizedInfo.Open()
	if err != nil {
		return c, fmt.Errorf("customized_info: %w", err)
	}
	if m, ok := info.(wire.Map); ok {
		numbers, _ := m.Get("row")
		c.numbers, _ = numbers.([]wire.Value) // none: number says so
	}
	c.input = logprobs{
		"input", b.InputTokenLogprobsVal, b.InputTokenLogprobsIdx, b.InputTopLogprobsVal, b.InputTopLogprobsIdx,
		b.InputTokenIDsLogprobsVal, b.InputTokenIDsLogprobsIdx,
	}
	c.output = logprobs{
		"output", b.OutputTokenLogprobsVal, b.OutputTokenLogprobsIdx, b.OutputTopLogprobsVal, b.OutputTopLogprobsIdx,
		b.OutputTokenIDsLogprobsVal, b.OutputTokenIDsLogprobsIdx,
	}
	return c, nil
}

// number is a row's number within its request.
func (c *columns) number(i int) (int64, error) {
	n, ok := at(c.numbers, i).(int64)
	if !ok {
		return 0, errors.New("customized_info has no row number for it")
	}
	if n < 0 || n >= maxRowNumber {
		return 0, fmt.Errorf("its number is %d, expected 0 to %d", n, int64(maxRowNumber-1))
	}
	return n, nil
}

// last says whether row i is its request's last.
func (c *columns) last(i int) bool { return at(c.FinishedReasons, i) != nil }

// finish is row i's; nil: more is to come.
func (c *columns) finish(i int) (*Finish, error) {
	m := at(c.FinishedReasons, i)
	if m == nil {
		return nil, nil
	}
	f := &Finish{
		Type: get[string](m, "type"), Length: int(get[int64](m, "length")), Message: get[string](m, "message"),
		StatusCode: int(get[int64](m, "status_code")), ErrType: get[string](m, "err_type"),
	}
	switch f.Type {
	case "stop":
		f.MatchedText = get[string](m, "matched")
		if v, _ := m.Get("matched"); v != nil {
			if id, ok := v.(int64); ok {
				f.MatchedToken = &id
			}
		}
	case "length", "abort":
	default:
		return nil, fmt.Errorf("finished_reason has the type %.100q, expected stop, length or abort", f.Type)
	}
	return f, nil
}

// get is a map's value, or the zero T where it has none or one of another type:
// SGLang leaves keys out, and writes null.
func get[T any](m wire.Map, key string) T {
	v, _ := m.Get(key)
	t, _ := v.(T)
	return t
}

// at is entry i of a column, or the zero T beyond its end: a short column's rows
// are null.
func at[T any](column []T, i int) T {
	if i < len(column) {
		return column[i]
	}
	var none T
	return none
}

func newest(to *int, v wire.Opt[int64]) {
	if v.OK {
		*to = int(v.V)
	}
}

// logprobs are the six columns of input or output.
type logprobs struct {
	name   string
	val    [][]wire.Opt[float64]
	idx    [][]wire.Opt[int64]
	topVal [][][]wire.Opt[float64]
	topIdx [][][]wire.Opt[int64]
	idsVal [][][]wire.Opt[float64]
	idsIdx [][][]wire.Opt[int64]
}

// row makes positions of row i.
func (l *logprobs) row(i int) ([]Position, error) {
	val, idx := at(l.val, i), at(l.idx, i)
	topVal, topIdx := at(l.topVal, i), at(l.topIdx, i)
	idsVal, idsIdx := at(l.idsVal, i), at(l.idsIdx, i)
	for _, other := range []struct {
		name     string
		n        int
		optional bool
	}{
		{"token_logprobs_idx", len(idx), false},
		{"top_logprobs_val", len(topVal), true}, {"top_logprobs_idx", len(topIdx), true},
		{"token_ids_logprobs_val", len(idsVal), true}, {"token_ids_logprobs_idx", len(idsIdx), true},
	} {
		if other.n != len(val) && !(other.optional && other.n == 0) {
			return nil, fmt.Errorf("%s_%s has %d positions, expected %d as in %s_token_logprobs_val", l.name, other.name, other.n, len(val), l.name)
		}
	}
	if len(val) == 0 {
		return nil, nil
	}
	all := make([]Position, len(val))
	for k := range all {
		p := &all[k]
		p.Token, p.Null = TokenLogprob{idx[k].V, val[k].V}, !val[k].OK
		var err error
		if p.Top, err = candidates(at(topVal, k), at(topIdx, k)); err != nil {
			return nil, fmt.Errorf("%s_top_logprobs of position %d: %w", l.name, k, err)
		}
		if p.IDs, err = candidates(at(idsVal, k), at(idsIdx, k)); err != nil {
			return nil, fmt.Errorf("%s_token_ids_logprobs of position %d: %w", l.name, k, err)
		}
	}
	return all, nil
}

// candidates are several tokens at one position.
func candidates(val []wire.Opt[float64], idx []wire.Opt[int64]) ([]TokenLogprob, error) {
	if len(val) != len(idx) {
		return nil, fmt.Errorf("%d values for %d ids", len(val), len(idx))
	}
	if len(val) == 0 {
		return nil, nil
	}
	all := make([]TokenLogprob, len(val))
	for i := range all {
		all[i] = TokenLogprob{idx[i].V, val[i].V}
	}
	return all, nil
}

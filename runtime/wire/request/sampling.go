package request

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// everything is how SGLang writes a limit that is none: its top_k of the whole
// vocabulary, and what its scheduler takes for a max_new_tokens of null.
const everything = 1 << 30

var (
	// abortRID: SGLang makes "" of null here, and compares by prefix.
	abortRID = plain[string]{putText, nullText.dec}

	maxNewTokens = plain[int]{putInt, func(r wire.Reader) (int, error) {
		if null, err := r.Null(); null || err != nil {
			return everything, err
		}
		return takeInt(r)
	}}

	topK = plain[int]{
		func(w wire.Writer, v int) error {
			if v == -1 {
				v = everything
			}
			return putInt(w, v)
		},
		func(r wire.Reader) (int, error) {
			v, err := takeInt(r)
			if v == everything {
				v = -1
			}
			return v, err
		},
	}

	nullSeed = plain[*int64]{
		func(w wire.Writer, v *int64) error {
			if v == nil {
				return w.Value(nil)
			}
			return w.Value(*v)
		},
		func(r wire.Reader) (*int64, error) {
			if null, err := r.Null(); null || err != nil {
				return nil, err
			}
			v, err := r.Int()
			return &v, err
		},
	}

	// stop is a list, or one string.
	stop = plain[[]string]{list(text).enc, takeStop}

	logitBias = plain[map[int64]float64]{putBias, takeBias}

	finishReason = plain[*FinishReason]{putReason, takeReason}
)

func takeStop(r wire.Reader) ([]string, error) {
	if null, err := r.Null(); null || err != nil {
		return nil, err
	}
	if r.IsArray() {
		return takeAll(r, text)
	}
	s, err := r.Text()
	return []string{s}, err
}

// stopStrs is where SGLang's HTTP workers put the stop strings when they normalise
// the parameters (stop is then null); before that it repeats stop.
type stopStrs struct{}

func (stopStrs) of() reflect.Type { return reflect.TypeFor[[]string]() }

func (stopStrs) encode(w wire.Writer, _ any) error { return w.Value(nil) }

func (stopStrs) decode(r wire.Reader, p any) error {
	o, to := r.Offset(), p.(*[]string)
	v, err := takeStop(r)
	if err != nil || v == nil {
		return err
	}
	if *to != nil && !slices.Equal(*to, v) {
		return &wire.Error{Offset: o, Err: errors.New("got other strings than in stop, want the same, or one of the two null")}
	}
	*to = v
	return nil
}

// noList is a list that must be null or empty, as normalised parameters have it.
type noList struct{}

func (noList) of() reflect.Type { return nil }

func (noList) encode(w wire.Writer, _ any) error { return w.Value(nil) }

func (noList) decode(r wire.Reader, _ any) error {
	o := r.Offset()
	if null, err := r.Null(); null || err != nil {
		return err
	}
	n, err := r.ArrayLen()
	if err == nil && n > 0 {
		err = &wire.Error{Offset: o, Err: fmt.Errorf("got an array of %d, want null or an empty one: nothing here heeds another value", n)}
	}
	return err
}

// putBias writes a map in the order of the ids.
func putBias(w wire.Writer, v map[int64]float64) error {
	if v == nil {
		return w.Value(nil)
	}
	ids := make([]int64, 0, len(v))
	for id := range v {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	m := make(wire.Map, len(ids))
	for i, id := range ids {
		m[i] = wire.Pair{Key: strconv.FormatInt(id, 10), Value: v[id]}
	}
	return w.Value(m)
}

func takeBias(r wire.Reader) (map[int64]float64, error) {
	if null, err := r.Null(); null || err != nil {
		return nil, err
	}
	n, err := r.MapLen()
	if err != nil {
		return nil, err
	}
	m := make(map[int64]float64)
	for range n {
		o := r.Offset()
		key, err := r.Text()
		if err != nil {
			return nil, err
		}
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil || strconv.FormatInt(id, 10) != key {
			return nil, &wire.Error{Offset: o, Err: fmt.Errorf("got key %s, want a token id in decimal", shown(key))}
		}
		if _, twice := m[id]; twice {
			return nil, &wire.Error{Offset: o, Err: fmt.Errorf("got token id %d twice, want each once", id)}
		}
		if m[id], err = r.Float(); err != nil {
			return nil, wire.Inside(err, "["+key+"]", r.Offset())
		}
	}
	return m, nil
}

func putReason(w wire.Writer, v *FinishReason) error {
	if v == nil {
		return w.Value(nil)
	}
	m := wire.Map{{Key: "type", Value: v.Type}, {Key: "message", Value: v.Message}, {Key: "status_code"}, {Key: "err_type"}}
	if v.StatusCode != 0 {
		m[2].Value = int64(v.StatusCode)
	}
	if v.ErrType != "" {
		m[3].Value = v.ErrType
	}
	return w.Value(m)
}

func takeReason(r wire.Reader) (*FinishReason, error) {
	if null, err := r.Null(); null || err != nil {
		return nil, err
	}
	start := r.Offset()
	n, err := r.MapLen()
	if err != nil {
		return nil, err
	}
	v, seen := &FinishReason{}, map[string]bool{}
	for range n {
		o := r.Offset()
		key, err := r.Text()
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, &wire.Error{Offset: o, Err: fmt.Errorf("got key %q twice, want each once", key)}
		}
		seen[key] = true
		if err := v.take(r, key, o); err != nil {
			return nil, err
		}
	}
	if !seen["type"] {
		return nil, &wire.Error{Offset: start, Err: errors.New("got a map without type, want one")}
	}
	return v, nil
}

// take reads the value of one key, which stood at offset o.
func (v *FinishReason) take(r wire.Reader, key string, o int) (err error) {
	at := r.Offset()
	switch key {
	case "type":
		v.Type, err = r.Text()
	case "message":
		v.Message, err = nullText.dec(r)
	case "status_code":
		v.StatusCode, err = nullNumber.dec(r)
	case "err_type":
		v.ErrType, err = nullText.dec(r)
	default:
		return &wire.Error{Offset: o, Err: fmt.Errorf("got key %s, want type, message, status_code or err_type", shown(key))}
	}
	if err != nil {
		return wire.Inside(err, "."+key, at)
	}
	return nil
}

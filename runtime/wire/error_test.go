package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func errorText(err error) string {
	if err == nil {
		return "nil"
	}
	return err.Error()
}

func TestDecodeErrors(t *testing.T) {
	token := func(field, raw string) string {
		return string(frameWith(tokenClass, tokenClass.byName[field], raw))
	}
	str := func(field, raw string) string { return string(frameWith(strClass, strClass.byName[field], raw)) }
	many := "\xdc\x00\x33\xaeBatchStrOutput" + strings.Repeat("\xc0", 50)
	for name, c := range map[string]struct{ frame, want string }{
		"empty":          {"", "wire: frame at byte 0: the frame ends inside a value"},
		"no array":       {"\xc0", "wire: frame at byte 0: got null, want array"},
		"no class":       {"\x90", "wire: frame at byte 0: got an empty array, want a class name and its fields"},
		"a number":       {"\x91\x01", "wire: frame at byte 1: the first element is no string, want a class name"},
		"other class":    {"\x91\xabFreezeGCReq", `wire: frame at byte 1: got class "FreezeGCReq", want BatchTokenIDOutput, BatchStrOutput or BatchEmbeddingOutput`},
		"surplus":        {many, "wire: BatchStrOutput at byte 0: got 50 fields, want at most 48"},
		"trailing":       {str("rids", "\xc0") + "\xc0", "wire: BatchStrOutput at byte 66: bytes after the end of the message"},
		"row's kind":     {str("output_strs", "\x94\xa0\xa0\xa0\x90"), "wire: BatchStrOutput.output_strs[3] at byte 25: got array, want null or string"},
		"column's kind":  {str("output_strs", "\xa0"), "wire: BatchStrOutput.output_strs at byte 21: got string, want null or array"},
		"deep inside":    {str("input_top_logprobs_val", "\x92\xc0\x91\x92\xc0\xa0"), "wire: BatchStrOutput.input_top_logprobs_val[1][0][1] at byte 36: got string, want null or int or float"},
		"a null rid":     {str("rids", "\x91\xc0"), "wire: BatchStrOutput.rids[0] at byte 19: got null, want string"},
		"large int":      {str("prompt_tokens", "\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "wire: BatchStrOutput.prompt_tokens[0] at byte 24: got 18446744073709551615, want an integer up to 9223372036854775807"},
		"illegal code":   {str("time_stats", "\xc1"), "wire: BatchStrOutput.time_stats at byte 53: code 0xc1 is not MessagePack"},
		"cut off":        {str("video_tokens", "\x92\x01")[:60], "wire: BatchStrOutput.spec_num_correct_drafts at byte 60: the frame ends inside a value"},
		"huge length":    {token("rids", "\xdd\xff\xff\xff\xff"), "wire: BatchTokenIDOutput.rids at byte 22: a length is larger than the bytes left"},
		"ext type":       {token("decode_ids", "\x91\xd4\x02\x00"), "wire: BatchTokenIDOutput.decode_ids[0] at byte 27: got ext type 2, want 1 (an integer array)"},
		"typecode":       {token("decode_ids", "\x91\xc7\x06\x01\x00\x00\x00\x02\xa1f"), `wire: BatchTokenIDOutput.decode_ids[0] at byte 27: got array typecode "f", want one of bBhHiIlLqQ`},
		"half an item":   {token("decode_ids", "\x91\xc7\x07\x01\x00\x00\x00\x02\xa1q\x00"), `wire: BatchTokenIDOutput.decode_ids[0] at byte 27: got 1 bytes of items in an integer array of typecode "q", want a multiple of 8`},
		"short ints":     {token("decode_ids", "\x91\xd4\x01\x00"), "wire: BatchTokenIDOutput.decode_ids[0] at byte 27: got an integer array of 1 bytes, want at least 4"},
		"metadata":       {token("decode_ids", "\x91\xd6\x01\x00\x00\x00\x02"), "wire: BatchTokenIDOutput.decode_ids[0] at byte 27: got metadata of 2 bytes in an integer array, want at most the 0 that are left"},
		"finish, no map": {str("finished_reasons", "\x91\xa1x"), "wire: BatchStrOutput.finished_reasons[0] at byte 21: got string, want null or map"},
	} {
		_, err := Decode([]byte(c.frame))
		if got := errorText(err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %T is no *Error", name, err)
		}
	}
	if _, err := DecodeStr([]byte(token("rids", "\xc0"))); errorText(err) != "wire: frame at byte 3: got class BatchTokenIDOutput, want BatchStrOutput" {
		t.Error(err)
	}
}

// Missing trailing fields are null.
func TestShortFrames(t *testing.T) {
	m, err := DecodeStr([]byte("\x93\xaeBatchStrOutput\x91\xa1r\x91\xa1i"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Rows() != 1 || m.HTTPWorkerIPCs[0] != Some("i") || m.FinishedReasons != nil || m.TimeStats != nil {
		t.Errorf("got %+v", m)
	}
	v := &View{}
	if err := v.Parse([]byte("\x92\xb2BatchTokenIDOutput\x91\xa1r")); err != nil {
		t.Fatal(err)
	}
	row, err := DecodeStr(v.AppendRow(nil, 0, []byte("t"), nil))
	if err != nil || row.RIDs[0] != "r" || row.OutputStrs[0] != Some("t") || row.FinishedReasons != nil {
		t.Errorf("got %+v, %v", row, err)
	}
	if n, err := CountRows([]byte("\x91\xaeBatchStrOutput")); n != 0 || err != nil {
		t.Errorf("CountRows %d, %v", n, err)
	}
}

func TestMessageErrors(t *testing.T) {
	pickle := &Opaque{Wrapper: PickleWrapper, Data: []byte(".")}
	two := &BatchTokenIDOutput{RIDs: []string{"a", "b"}}
	with := func(f func(*BatchTokenIDOutput)) *BatchTokenIDOutput {
		m := &BatchTokenIDOutput{RIDs: []string{"a", "b"}}
		f(m)
		return m
	}
	loop := []Value{nil}
	loop[0] = loop
	encode := func(m Message) error { _, err := Encode(nil, m); return err }
	take := func(m *BatchTokenIDOutput, rows ...int) error { _, err := Take(m, rows, nil); return err }
	row := func(m *BatchTokenIDOutput, i int) error { _, err := Row(m, i, nil); return err }
	str := func(m *BatchTokenIDOutput, texts ...string) error { _, err := m.Str(texts); return err }
	wrap := func(v Value) error { _, err := Wrap(v); return err }
	for want, err := range map[string]error{
		"BatchTokenIDOutput.decode_ids[0][1]: got 300, want a value of array typecode \"b\"": encode(with(func(m *BatchTokenIDOutput) {
			m.DecodeIDs = []Opt[IntArray]{Some(IntArray{'b', []int64{1, 300}})}
		})),
		"BatchTokenIDOutput.output_hidden_states[0]: got int, want nil, bool, int64, uint64, float64, Float32, string, []byte, []Value, Map or Ext": encode(with(func(m *BatchTokenIDOutput) {
			m.OutputHiddenStates = []Value{1}
		})),
		"frame: got message <nil>, want a *BatchTokenIDOutput, *BatchStrOutput or *BatchEmbeddingOutput that is not nil":                encode(nil),
		"frame: got message *wire.BatchStrOutput, want a *BatchTokenIDOutput, *BatchStrOutput or *BatchEmbeddingOutput that is not nil": encode((*BatchStrOutput)(nil)),
		"BatchTokenIDOutput: rows[1]: got row 2, want one of the 2 rows":                                                                take(two, 0, 2),
		"BatchTokenIDOutput: rows[0]: got row -1, want one of the 2 rows":                                                               take(two, -1),
		"BatchTokenIDOutput.time_stats: inside the PickleWrapper: pickle: STOP at byte 0: want PROTO with 4 or 5 at the start":          take(with(func(m *BatchTokenIDOutput) { m.TimeStats = pickle }), 0),
		"BatchTokenIDOutput.time_stats: got an opaque string, want a list with an entry a row, or a map of such lists":                  take(with(func(m *BatchTokenIDOutput) { m.TimeStats = &Opaque{Native: "x"} }), 0),
		"BatchTokenIDOutput.customized_info[\"k\"]: got an opaque bool, want a list with an entry a row, or a map of such lists": take(with(func(m *BatchTokenIDOutput) {
			m.CustomizedInfo = &Opaque{Native: Map{{"k", true}}}
		}), 0),
		"BatchTokenIDOutput.time_stats: byte 0 inside the MsgpackWrapper: the frame ends inside a value": take(with(func(m *BatchTokenIDOutput) {
			m.TimeStats = &Opaque{Wrapper: MsgpackWrapper, Data: []byte("\xa1")}
		}), 0),
		"BatchTokenIDOutput.time_stats: the column is wrapped as PickleWrapper, want its opened value": row(with(func(m *BatchTokenIDOutput) { m.TimeStats = pickle }), 0),
		"BatchTokenIDOutput: got row 2, want one of the 2 rows":                                        row(two, 2),
		"BatchStrOutput.output_strs: got 1 texts, want one for each of the 2 rows":                     str(two, "a"),
		"BatchStrOutput.indexer_topk[1]: got a tensor, want null: tensors cannot be made base64 text yet": str(with(func(m *BatchTokenIDOutput) {
			m.IndexerTopK = []Opt[Ext]{{}, Some(Ext{Type: 2})}
		}), "a", "b"),
		"BatchTokenIDOutput.no_such: the class has no such field":     Set(two, "no_such", nil),
		"BatchTokenIDOutput.prompt_tokens: got int64, want []Value":   Set(two, "prompt_tokens", int64(1)),
		"BatchTokenIDOutput.prompt_tokens[1]: got string, want int64": Set(two, "prompt_tokens", []Value{nil, "1"}),
		"BatchTokenIDOutput.decode_ids[0][1]: got null, want int64":   Set(two, "decode_ids", []Value{[]Value{int64(1), nil}}),
		"BatchTokenIDOutput.rids[0]: got null, want string":           Set(two, "rids", []Value{nil}),
		"frame: more than 64 arrays and maps inside each other":       nil,
	} {
		if strings.HasPrefix(want, "frame: more") {
			if err := wrap(loop); !errors.Is(err, errDepth) {
				t.Errorf("a list in itself: %v", err)
			}
			continue
		}
		if got := errorText(err); got != "wire: "+want {
			t.Errorf("got %s\nwant wire: %s", got, want)
		}
	}
}

// Set and Row are each other's inverse for every field.
func TestSetAndRow(t *testing.T) {
	randomBatches(t, 100, true, func(t *testing.T, g *gen, m *BatchTokenIDOutput) {
		opened := openAll(t, m)
		copied := &BatchTokenIDOutput{}
		for _, f := range tokenClass.fields {
			column := make([]Value, m.Rows())
			for i := range column {
				column[i] = mustRow(t, m, i, opened)[f.name]
			}
			var v Value = column
			if f.opaque {
				v = opened[f.name]
			}
			if err := Set(copied, f.name, v); err != nil {
				t.Fatal(err)
			}
		}
		for i := range m.Rows() {
			want, got := mustRow(t, m, i, opened), mustRow(t, copied, i, nil)
			for name := range want {
				if a, b := wrapOf(t, got[name]), wrapOf(t, want[name]); a != b {
					t.Errorf("%s of row %d: got %q, want %q", name, i, a, b)
				}
			}
			if len(got) != len(tokenClass.fields) {
				t.Errorf("%d fields in a row", len(got))
			}
		}
	})
}

// What a row looks like as plain values, short columns and all.
func TestRowValues(t *testing.T) {
	m := &BatchTokenIDOutput{
		RIDs:                []string{"a", "b"},
		FinishedReasons:     []Map{nil, {{"type", "stop"}}},
		DecodeIDs:           []Opt[IntArray]{{}, Some(IntArray{'i', []int64{7, -8}})},
		PromptTokens:        []Opt[int64]{Some(int64(1))},
		InputTopLogprobsVal: [][][]Opt[float64]{nil, {nil, {Some(-0.5), {}}}},
		CustomizedInfo: &Opaque{Native: Map{
			{"full", []Value{"x", "y"}}, {"short", []Value{"x"}}, {"null", nil},
		}},
		TimeStats: &Opaque{Wrapper: PickleWrapper},
	}
	row := mustRow(t, m, 1, map[string]Value{"time_stats": []Value{int64(10), int64(11)}})
	for name, want := range map[string]Value{
		"rids":                   "b",
		"finished_reasons":       Map{{"type", "stop"}},
		"decode_ids":             []Value{int64(7), int64(-8)},
		"prompt_tokens":          nil,
		"cached_tokens":          nil,
		"input_top_logprobs_val": []Value{nil, []Value{-0.5, nil}},
		"customized_info":        Map{{"full", "y"}, {"short", nil}, {"null", nil}},
		"time_stats":             int64(11),
	} {
		if got := row[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, want %#v", name, got, want)
		}
	}
}

func wrapOf(t *testing.T, v Value) string {
	t.Helper()
	o, err := Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Data)
}

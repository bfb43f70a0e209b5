package wire

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A View reads what the codec reads.
func TestViewAccessors(t *testing.T) {
	v := &View{}
	randomBatches(t, 200, false, func(t *testing.T, g *gen, m *BatchTokenIDOutput) {
		m.FinishedReasons = make([]Map, m.Rows())
		for i := range m.FinishedReasons {
			m.FinishedReasons[i] = randomFinish(g)
		}
		if err := v.Parse(mustEncode(t, m)); err != nil {
			t.Fatal(err)
		}
		if v.Rows() != m.Rows() {
			t.Fatalf("%d rows, want %d", v.Rows(), m.Rows())
		}
		for i := range m.Rows() {
			compareAccessors(t, v, m, i)
		}
	})
}

func randomFinish(g *gen) Map {
	m := Map{{"type", g.text()}}
	switch g.IntN(5) {
	case 0:
		return nil
	case 1:
		m = append(m, Pair{"matched", g.text()})
	case 2:
		m = append(Map{{"matched", g.int()}}, m...)
	case 3:
		m = append(m, Pair{"matched", nil}, Pair{"length", g.int()})
	default:
		m = append(m, Pair{"matched", []Value{g.int()}})
	}
	return m
}

func entryOf[T any](col []Opt[T], i int) Opt[T] {
	if i < len(col) {
		return col[i]
	}
	return Opt[T]{}
}

func compareAccessors(t *testing.T, v *View, m *BatchTokenIDOutput, i int) {
	t.Helper()
	if got := v.RID(i); got != m.RIDs[i] {
		t.Errorf("RID(%d) = %q, want %q", i, got, m.RIDs[i])
	}
	sameText(t, "IPC", v.IPC(i), entryOf(m.HTTPWorkerIPCs, i))
	sameText(t, "DecodedText", v.DecodedText(i), entryOf(m.DecodedTexts, i))
	ids, err := v.DecodeIDs([]int64{7}, i)
	if want := entryOf(m.DecodeIDs, i); want.OK != (err == nil) || want.OK && !reflect.DeepEqual(ids, append([]int64{7}, want.V.Values...)) {
		t.Errorf("DecodeIDs(%d) = %v, %v, want %v", i, ids, err, want)
	}
	n, err := v.ReadOffset(i)
	if want := entryOf(m.ReadOffsets, i); want.OK != (err == nil) || int64(n) != want.V {
		t.Errorf("ReadOffset(%d) = %v, %v, want %v", i, n, err, want)
	}
	for name, c := range map[string]struct {
		read func(int) (bool, error)
		col  []Opt[bool]
	}{
		"SkipSpecial":   {v.SkipSpecial, m.SkipSpecialTokens},
		"SpacesBetween": {v.SpacesBetween, m.SpacesBetweenSpecialTokens},
		"NoStopTrim":    {v.NoStopTrim, m.NoStopTrim},
	} {
		got, err := c.read(i)
		if want := entryOf(c.col, i); want.OK != (err == nil) || got != want.V {
			t.Errorf("%s(%d) = %v, %v, want %v", name, i, got, err, want)
		}
	}
	compareFinish(t, v, m.FinishedReasons[i], i)
}

func sameText(t *testing.T, name string, got []byte, want Opt[string]) {
	t.Helper()
	if string(got) != want.V || (got != nil) != want.OK {
		t.Errorf("%s = %q, want %v", name, got, want)
	}
}

func compareFinish(t *testing.T, v *View, want Map, i int) {
	t.Helper()
	kind, matched, err := v.Finish(i)
	if err != nil {
		t.Errorf("Finish(%d): %v", i, err)
		return
	}
	if want == nil {
		if kind != nil || matched.Kind != MatchNone {
			t.Errorf("Finish(%d) = %q, %v, want a running row", i, kind, matched)
		}
		return
	}
	if typ, _ := want.Get("type"); string(kind) != typ || kind == nil {
		t.Errorf("Finish(%d): type %q, want %q", i, kind, typ)
	}
	value, _ := want.Get("matched")
	ok := false
	switch value := value.(type) {
	case nil:
		ok = matched.Kind == MatchNone && matched.Raw == nil
	case string:
		ok = matched.Kind == MatchText && string(matched.Text) == value
	case int64:
		ok = matched.Kind == MatchToken && matched.Token == value
	default:
		ok = matched.Kind == MatchOther && len(matched.Raw) > 1
	}
	if !ok {
		t.Errorf("Finish(%d): matched %+v, want %v", i, matched, value)
	}
}

func TestViewErrors(t *testing.T) {
	rids := "\x91\xa1r"
	for name, c := range map[string]struct {
		field, raw, want string
	}{
		"a bad pickle":     {"customized_info", "\x92\xadPickleWrapper\xc4\x01.", "BatchTokenIDOutput.customized_info at byte 61: inside the PickleWrapper: pickle: STOP at byte 0: want PROTO with 4 or 5 at the start"},
		"no rows":          {"time_stats", "\x05", "BatchTokenIDOutput.time_stats at byte 64: got an opaque int, want a list with an entry a row, or a map of such lists"},
		"a bad key":        {"time_stats", "\x81\xa1k\x05", "BatchTokenIDOutput.time_stats at byte 67: got int, want null or array"},
		"wrapped, cut off": {"time_stats", "\x92\xaeMsgpackWrapper\xc4\x02\x92\xc0", "BatchTokenIDOutput.time_stats at byte 82: a length is larger than the bytes left"},
		"wrapped, and on":  {"time_stats", "\x92\xaeMsgpackWrapper\xc4\x02\x90\xc0", "BatchTokenIDOutput.time_stats at byte 83: bytes after the end of the message"},
		"a kind":           {"prompt_tokens", "\x92\x01\xa1x", "BatchTokenIDOutput.prompt_tokens[1] at byte 36: got string, want null or int"},
		"no list":          {"prompt_tokens", "\x05", "BatchTokenIDOutput.prompt_tokens at byte 34: got int, want null or array"},
		"a tensor":         {"routed_experts", "\x91\xd4\x02\x00", "BatchTokenIDOutput.routed_experts[0] at byte 54: got a tensor, want null: tensors cannot be made base64 text yet"},
	} {
		frame := frameWith(tokenClass, tokenClass.byName[c.field], c.raw)
		frame = bytes.Replace(frame, []byte("Output\xc0"), []byte("Output"+rids), 1)
		v := &View{}
		err := v.Parse(frame)
		if err == nil || err.Error() != "wire: "+c.want {
			t.Errorf("%s: got %v\nwant wire: %s", name, err, c.want)
		}
		if v.Rows() != 0 {
			t.Errorf("%s: %d rows after an error", name, v.Rows())
		}
	}
}

// The bytes that a View's rows hold are as many as a wrapper's lengths allow for
// at every width of header.
func TestViewSizes(t *testing.T) {
	for _, size := range []int{0, 30, 31, 32, 200, 240, 255, 256, 300, 65530, 65536, 70000} {
		for _, keys := range []int{0, 1, 15, 16, 17} {
			m := richBatch(t, 20)
			info := make(Map, keys)
			for k := range info {
				info[k] = Pair{fmt.Sprint("key", k), []Value{strings.Repeat("x", size/(keys+1)), nil, "short"}}
			}
			var err error
			if m.CustomizedInfo, err = Wrap(info); err != nil {
				t.Fatal(err)
			}
			if m.TimeStats, err = Wrap([]Value{strings.Repeat("y", size)}); err != nil {
				t.Fatal(err)
			}
			v := &View{}
			if err := v.Parse(mustEncode(t, m)); err != nil {
				t.Fatal(err)
			}
			text := strings.Repeat("t", size)
			texts := make([]string, m.Rows())
			texts[0] = text
			out, err := m.Str(texts)
			if err != nil {
				t.Fatal(err)
			}
			want := takeRow(t, out, 0, Opt[Map]{})
			if got := v.AppendRow(nil, 0, []byte(text), nil); !bytes.Equal(got, want) {
				t.Errorf("size %d, %d keys: other bytes than Take's", size, keys)
			}
			compareGroup(t, newGen(uint64(size)), v, out, Map{{"type", "abort"}})
		}
	}
}

func TestViewAllocations(t *testing.T) {
	frame := mustEncode(t, richBatch(t, 310))
	v := &View{}
	var buf []byte
	var ids []int64
	texts := make([][]byte, 310)
	rows := []int32{0, 4, 8, 309}
	batch := func() {
		if err := v.Parse(frame); err != nil {
			t.Fatal(err)
		}
		buf = buf[:0]
		for i := range v.Rows() {
			if v.RID(i) == "" || v.IPC(i) == nil {
				t.Fatal("no rid or ipc")
			}
			var err error
			if ids, err = v.DecodeIDs(ids[:0], i); err != nil {
				t.Fatal(err)
			}
			if _, _, err := v.Finish(i); err != nil {
				t.Fatal(err)
			}
			buf = v.AppendRow(buf, i, texts[i], nil)
		}
		buf = v.AppendRows(buf, rows, func(k int) []byte { return texts[rows[k]] }, nil)
	}
	batch()
	if n := testing.AllocsPerRun(20, batch); n > 2 {
		t.Errorf("%v allocations a batch, want at most 2", n)
	}
}

// A frame that ends anywhere is refused where Check refuses it, for the same reason,
// whatever entry the end cuts.
func TestViewOfCutFrames(t *testing.T) {
	m := richBatch(t, 3)
	m.HTTPWorkerIPCs[1] = Some(strings.Repeat("x", 300)) // a length of two bytes
	m.TimeStats, m.CustomizedInfo = nil, nil             // inside a wrapper Check does not look
	frame := mustEncode(t, m)
	_, _, fields, err := Head(frame)
	if err != nil {
		t.Fatal(err)
	}
	v := &View{}
	for cut := fields; cut < len(frame); cut++ {
		var got, want *Error
		if !errors.As(v.Parse(frame[:cut]), &got) || !errors.As(Check(frame[:cut]), &want) {
			t.Fatalf("%d of %d bytes are taken", cut, len(frame))
		}
		if got.Offset != want.Offset || got.Err.Error() != want.Err.Error() {
			t.Errorf("%d of %d bytes: %v, want as Check: %v", cut, len(frame), got, want)
		}
	}
}

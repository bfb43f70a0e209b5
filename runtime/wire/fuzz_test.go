package wire

import (
	"bytes"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle"
)

func seeds(f *testing.F) {
	for _, path := range realFiles(f) {
		if frame := frames(f, path)[0]; len(frame) < 1000 {
			f.Add(frame)
		}
	}
	for seed := range uint64(8) {
		g := newGen(seed)
		for _, m := range []Message{&BatchTokenIDOutput{}, &BatchStrOutput{}, &BatchEmbeddingOutput{}} {
			g.message(f, m, g.IntN(4))
			f.Add(mustEncode(f, m))
		}
	}
	for i, field := range tokenClass.fields {
		for _, raw := range hostile(40) {
			if field.opaque || i < 8 {
				f.Add(frameWith(tokenClass, i, raw))
			}
		}
	}
}

// Any bytes decode or fail within the memory bound; what decodes encodes, and
// from then on the bytes stay the same.
func FuzzDecode(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		var m Message
		var err error
		bounded(t, len(frame), "Decode", func() { m, err = Decode(frame) })
		if err != nil {
			return
		}
		first := mustEncode(t, m)
		again, err := Decode(first)
		if err != nil {
			t.Fatalf("%x encodes as %x: %v", frame, first, err)
		}
		if second := mustEncode(t, again); !bytes.Equal(first, second) {
			t.Fatalf("%x encodes as %x, then as %x", frame, first, second)
		}
		if rows, err := CountRows(frame); err != nil || rows != m.Rows() {
			t.Fatalf("CountRows %d, %v; the message has %d", rows, err, m.Rows())
		}
	})
}

func FuzzCheck(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		checkAgainstTwin(t, frame)
		bounded(t, 0, "CountRows", func() { CountRows(frame) })
	})
}

// A View fails where the codec and Take do, and otherwise makes the same rows.
func FuzzView(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, frame []byte) {
		v := &View{}
		var err error
		n := len(frame)
		if bytes.Contains(frame, []byte(PickleWrapper)) {
			n *= 2 * pickle.MaxKept / 64 // a buffer that grows was allocated more than once
		}
		bounded(t, n, "Parse", func() { err = v.Parse(frame) })
		if m, decodeErr := DecodeEmbedding(frame); decodeErr == nil {
			viewOfEmbeddings(t, v, m, err)
			return
		}
		m, decodeErr := DecodeTokenID(frame)
		if decodeErr != nil {
			if err == nil {
				drive(v)
			}
			return
		}
		out, strErr := m.Str(make([]string, m.Rows()))
		if strErr != nil {
			if err == nil {
				t.Fatalf("Str: %v, but Parse takes it", strErr)
			}
			return
		}
		all := make([]int, m.Rows())
		for i := range all {
			all[i] = i
		}
		_, takeErr := Take(out, all, nil)
		if (takeErr == nil) != (err == nil) {
			t.Fatalf("Take: %v, Parse: %v", takeErr, err)
		}
		if err == nil {
			drive(v)
			sameRows(t, v, out)
		}
	})
}

// viewOfEmbeddings: what Take does with all rows at once and with each, Parse and
// AppendRow do.
func viewOfEmbeddings(t *testing.T, v *View, m *BatchEmbeddingOutput, err error) {
	all := make([]int, m.Rows())
	for i := range all {
		all[i] = i
	}
	if _, takeErr := Take(m, all, nil); (takeErr == nil) != (err == nil) {
		t.Fatalf("Take: %v, Parse: %v", takeErr, err)
	}
	if err != nil {
		return
	}
	drive(v)
	for i := range min(m.Rows(), 50) {
		want, err := Take(m, []int{i}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.HTTPWorkerIPCs = nil
		got, err := DecodeEmbedding(v.AppendRow(nil, i, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		// Widths of codes may differ, and with them wrapped bytes; values not.
		for _, m := range []*BatchEmbeddingOutput{got, want} {
			m.TimeStats = rewrapped(t, m.TimeStats)
		}
		if a, b := mustEncode(t, got), mustEncode(t, want); !bytes.Equal(a, b) {
			t.Fatalf("row %d: got\n%q\nwant\n%q", i, a, b)
		}
	}
}

func rewrapped(t *testing.T, o *Opaque) *Opaque {
	if o == nil {
		return nil
	}
	v, err := openAny(o)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = Wrap(v); err != nil {
		t.Fatal(err)
	}
	return o
}

// drive calls everything a View has.
func drive(v *View) {
	var rows []int32
	for i := range min(v.Rows(), 50) {
		v.RID(i)
		v.IPC(i)
		v.DecodedText(i)
		v.DecodeIDs(nil, i)
		v.ReadOffset(i)
		v.SkipSpecial(i)
		v.SpacesBetween(i)
		v.NoStopTrim(i)
		v.Finish(i)
		v.AppendRow(nil, i, nil, nil)
		rows = append(rows, int32(i))
	}
	v.AppendRows(nil, rows, func(int) []byte { return nil }, nil)
}

func sameRows(t *testing.T, v *View, out *BatchStrOutput) {
	for i := range min(out.Rows(), 50) {
		want, err := Take(out, []int{i}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want.HTTPWorkerIPCs = nil
		got, err := DecodeStr(v.AppendRow(nil, i, nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		// wrapped bytes may differ in the width of a code, their values not
		if a, b := unwrapped(t, got), unwrapped(t, want); !bytes.Equal(a, b) {
			t.Fatalf("row %d: got\n%q\nwant\n%q", i, a, b)
		}
	}
}

// unwrapped is a message's frame with its opaque columns wrapped afresh.
func unwrapped(t *testing.T, m *BatchStrOutput) []byte {
	for _, o := range []**Opaque{&m.CustomizedInfo, &m.TimeStats} {
		if *o == nil {
			continue
		}
		v, err := openAny(*o)
		if err != nil {
			t.Fatal(err)
		}
		if *o, err = Wrap(v); err != nil {
			t.Fatal(err)
		}
	}
	return mustEncode(t, m)
}

func FuzzOpen(f *testing.F) {
	for _, raw := range hostile(40) {
		f.Add([]byte(raw))
	}
	for seed := range uint64(20) {
		o, err := Wrap(newGen(seed).opaqueValue(3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(o.Data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v Value
		var err error
		bounded(t, len(data), "Open", func() { v, err = (&Opaque{Wrapper: MsgpackWrapper, Data: data}).Open() })
		if err != nil {
			return
		}
		first, err := Wrap(v)
		if err != nil {
			t.Fatal(err)
		}
		again, err := first.Open()
		if err != nil {
			t.Fatal(err)
		}
		second, err := Wrap(again)
		if err != nil || !bytes.Equal(first.Data, second.Data) {
			t.Fatalf("%x wraps as %x, then as %x, %v", data, first.Data, second.Data, err)
		}
	})
}

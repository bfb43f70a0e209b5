package wire

import (
	"bytes"
	"reflect"
	"testing"
)

// every writes one item of each kind, and an array around two.
func every(t *testing.T) []byte {
	t.Helper()
	w := NewWriter([]byte("before"))
	steps := []error{
		w.ArrayLen(10), w.Value(nil), w.Value(true), w.Value(int64(-7)), w.Value(1.5), w.Value("text"), w.Value([]byte("bin")),
		w.IntArray(IntArray{Values: []int64{1, -2}}), w.ArrayLen(2), w.Value(int64(3)), w.Value("in"),
		w.Value(Map{{Key: "k", Value: nil}}), w.Value([]Value{}),
	}
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	frame, ok := bytes.CutPrefix(w.Release(), []byte("before"))
	if !ok {
		t.Fatal("what was before the items is gone")
	}
	if err := Check(frame); err != nil {
		t.Fatal(err)
	}
	return frame
}

func TestItems(t *testing.T) {
	frame := every(t)
	r := NewReader(frame)
	defer r.Release()
	got := []any{}
	add := func(v any, err error) {
		if err != nil {
			t.Fatalf("at byte %d: %v", r.Offset(), err)
		}
		got = append(got, v)
	}
	addOf := func(read func() (int, error)) { v, err := read(); add(v, err) }
	addOf(r.ArrayLen)
	for range 2 { // a null is read, anything else is left
		v, err := r.Null()
		add(v, err)
	}
	b, err := r.Bool()
	add(b, err)
	n, err := r.Int()
	add(n, err)
	f, err := r.Float()
	add(f, err)
	s, err := r.Text()
	add(s, err)
	raw, err := r.Bin()
	add(raw, err)
	ints, err := r.IntArray()
	add(ints.Values, err)
	add(r.IsArray(), nil)
	addOf(r.ArrayLen)
	add(r.IsArray(), nil)
	f, err = r.Float() // an integer
	add(f, err)
	v, err := r.Value()
	add(v, err)
	addOf(r.MapLen)
	v, err = r.Value()
	add(v, err)
	v, err = r.Value()
	add(v, err)
	add(r.Left(), nil)
	v, err = r.Value()
	add(v, err)
	add(r.Left(), nil)
	add(r.Offset(), nil)
	want := []any{10, true, false, true, int64(-7), 1.5, "text", []byte("bin"), []int64{1, -2}, true, 2, false, 3.0, "in",
		1, "k", nil, 1, []Value{}, 0, len(frame)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %v\nwant %v", got, want)
	}
}

// A read of another kind fails with the offset and reads nothing.
func TestItemsOfAnotherKind(t *testing.T) {
	for name, c := range map[string]struct {
		frame string
		read  func(Reader) error
		want  string
	}{
		"bool":      {"\x90", func(r Reader) error { _, err := r.Bool(); return err }, "got array, want bool"},
		"int":       {"\xc0", func(r Reader) error { _, err := r.Int(); return err }, "got null, want int"},
		"float":     {"\xa0", func(r Reader) error { _, err := r.Float(); return err }, "got string, want int or float"},
		"text":      {"\xc4\x00", func(r Reader) error { _, err := r.Text(); return err }, "got bin, want string"},
		"bin":       {"\xa0", func(r Reader) error { _, err := r.Bin(); return err }, "got string, want bin"},
		"int array": {"\x90", func(r Reader) error { _, err := r.IntArray(); return err }, "got array, want ext"},
		"array":     {"\xc0", func(r Reader) error { _, err := r.ArrayLen(); return err }, "got null, want array"},
		"map":       {"\xc0", func(r Reader) error { _, err := r.MapLen(); return err }, "got null, want map"},
		"the end":   {"", func(r Reader) error { _, err := r.Null(); return err }, "the frame ends inside a value"},
	} {
		r := NewReader([]byte(c.frame))
		err := c.read(r)
		if got, want := errorText(err), "wire: frame at byte 0: "+c.want; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
		if r.Offset() != 0 {
			t.Errorf("%s: read up to byte %d, want nothing read", name, r.Offset())
		}
		r.Release()
	}
	if r := NewReader(nil); r.IsArray() {
		t.Error("an array where nothing is")
	}
}

// TestUnchecked reads frames that Check has not seen, or refuses.
func TestUnchecked(t *testing.T) {
	frame := []byte("\xdc\x00\x04\xa3Foo\x92\x01\xa1x\xa3ipc\xc0\xc1")
	class, fields, o, err := Head(frame)
	if string(class) != "Foo" || fields != 3 || o != 7 || err != nil || NameOffset(frame) != 3 {
		t.Errorf("got %s, %d fields from byte %d, %v, the name at byte %d", class, fields, o, err, NameOffset(frame))
	}
	if o, err = Skip(frame, o); o != 11 || err != nil {
		t.Errorf("got byte %d, %v, want 11", o, err)
	}
	if text, err := TextAt(frame, o); string(text) != "ipc" || err != nil {
		t.Errorf("got %q, %v, want ipc", text, err)
	}
	if text, err := TextAt(frame, 15); text != nil || err != nil {
		t.Errorf("got %q, %v, want no text for null", text, err)
	}
	for name, got := range map[string]error{
		"wire: frame at byte 16: code 0xc1 is not MessagePack":  skipError(frame, 16),
		"wire: frame at byte 17: the frame ends inside a value": skipError(frame, 17),
		"wire: frame at byte 7: got array, want null or string": textError(frame, 7),
		"wire: frame at byte 14: the frame ends inside a value": textError(frame[:14], 14),
		"wire: frame at byte 11: the frame ends inside a value": textError(frame[:14], 11),
	} {
		if errorText(got) != name {
			t.Errorf("got %v, want %s", got, name)
		}
	}
}

func skipError(frame []byte, o int) error { _, err := Skip(frame, o); return err }

func textError(frame []byte, o int) error { _, err := TextAt(frame, o); return err }

func TestInside(t *testing.T) {
	e := Inside(Inside(errTruncated, "[2]", 9), ".list", 4)
	if got, want := e.Error(), "wire: .list[2] at byte 9: the frame ends inside a value"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

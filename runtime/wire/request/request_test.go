package request

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// TestRoundTrip decodes what was encoded of random messages of every class.
func TestRoundTrip(t *testing.T) {
	g := newGen(1)
	for i := range 2000 {
		m := g.message(i)
		frame, err := Encode([]byte("before"), m)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if !bytes.HasPrefix(frame, []byte("before")) {
			t.Fatalf("message %d: what was before the frame is gone", i)
		}
		got, err := Decode(frame[len("before"):])
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("message %d:\n got %+v\nwant %+v", i, got, m)
		}
	}
}

func mustEncode(t testing.TB, m Message) []byte {
	t.Helper()
	frame, err := Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// encoded is what a codec writes for the field at p, as a plain value.
func encoded(t *testing.T, c codec, p any) wire.Value {
	t.Helper()
	w := wire.NewWriter(nil)
	if err := c.encode(w, p); err != nil {
		t.Fatal(err)
	}
	r := wire.NewReader(w.Release())
	defer r.Release()
	v, err := r.Value()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

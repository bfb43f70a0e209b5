package request

import (
	"bytes"
	"reflect"
	"testing"
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

package request

import (
	"bytes"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// bounded fails when f allocates more than 64 times n bytes and 64 KiB.
func bounded(t *testing.T, n int, what string, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64*n+64<<10); got > limit {
		t.Fatalf("%s: %d bytes allocated for %d, want at most %d", what, got, n, limit)
	}
}

func array32(n int) string {
	return "\xdd" + string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// hostile frames have many entries of few bytes each.
func hostile() map[string][]byte {
	const n = 100_000
	batch := "\x94\xbeBatchTokenizedGenerateReqInput"
	item := "\x9e\xb9TokenizedGenerateReqInput" + strings.Repeat("\xc0", 7) + "\x90\xc2\x00\x00\xc0\xc2"
	var bias strings.Builder
	for i := range n {
		bias.WriteString("\xa5")
		bias.WriteString(string([]byte{'1' + byte(i/10000%10)%9, '0' + byte(i/1000%10), '0' + byte(i/100%10), '0' + byte(i/10%10), '0' + byte(i%10)}))
		bias.WriteString("\x00")
	}
	params := "\xdc\x00\x18" + "\x00\xc0\xc0\xc0" + strings.Repeat("\x00", 8) + "\x01\xc0\xc0\xc0\xc0\xc0\xc2\xc2\xc2\xc2\xc0"
	biased := "\x9e\xb9TokenizedGenerateReqInput" + strings.Repeat("\xc0", 7) + params + "\xdf\x00\x01\x5f\x90" + bias.String()[:7*90_000] + "\xc2\x00\x00\xc0\xc2"
	return map[string][]byte{
		"least items":   []byte(batch + "\xc0\xc0" + array32(n) + strings.Repeat(item, n)),
		"items of null": []byte(batch + "\xc0\xc0" + array32(n) + strings.Repeat("\xc0", n)),
		"rids":          []byte(batch + array32(n) + strings.Repeat("\xa0", n) + "\xc0\x90"),
		"null ipcs":     []byte(batch + "\xc0" + array32(n) + strings.Repeat("\xc0", n) + "\x90"),
		"unheeded":      []byte("\x97\xa8AbortReq\xc0\xc0\xc2\xc0\xc0" + array32(n) + strings.Repeat("\x91\xc0", n)),
		"bias":          []byte(biased),
	}
}

// TestBounded decodes hostile frames within the memory that the documentation says.
func TestBounded(t *testing.T) {
	decode := map[string]bool{"least items": true, "rids": true, "null ipcs": true, "bias": true}
	for name, frame := range hostile() {
		var err error
		bounded(t, len(frame), name, func() { _, err = Decode(frame) })
		if (err == nil) != decode[name] {
			t.Errorf("%s: decodes %v, got %v", name, decode[name], err)
		}
	}
}

// Any bytes decode or fail within the memory bound; what decodes encodes, decodes
// to the same, and has the worker's ipc that WorkerIPC reads.
func FuzzDecode(f *testing.F) {
	for name := range goldens {
		f.Add(goldenFrame(f, name))
	}
	g := newGen(4)
	for i := range 3 * len(layouts) {
		f.Add(mustEncode(f, g.message(i)))
	}
	for _, frame := range hostile() {
		f.Add(frame[:min(len(frame), 500)])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var m Message
		var err error
		bounded(t, len(frame), "Decode", func() { m, err = Decode(frame) })
		var ipc string
		var ipcErr error
		bounded(t, len(frame), "WorkerIPC", func() { ipc, ipcErr = WorkerIPC(frame) })
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
		if !same(reflect.ValueOf(m), reflect.ValueOf(again)) {
			t.Fatalf("%x decodes to %+v, then to %+v", frame, m, again)
		}
		want, has := ipcOf(m)
		if has != (ipcErr == nil) || ipc != want {
			t.Fatalf("%x: got http_worker_ipc %q, %v, want %q", frame, ipc, ipcErr, want)
		}
	})
}

// ipcOf is the field, and whether the class has it.
func ipcOf(m Message) (string, bool) {
	f := reflect.ValueOf(m).Elem().FieldByName("HTTPWorkerIPC")
	if !f.IsValid() {
		return "", false
	}
	return f.String(), true
}

// same is reflect.DeepEqual, but for NaN, which equals itself.
func same(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Pointer:
		return a.IsNil() == b.IsNil() && (a.IsNil() || same(a.Elem(), b.Elem()))
	case reflect.Struct:
		for i := range a.NumField() {
			if !same(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return false
		}
		for _, k := range a.MapKeys() {
			if v := b.MapIndex(k); !v.IsValid() || !same(a.MapIndex(k), v) {
				return false
			}
		}
		return true
	}
	return a.Equal(b)
}

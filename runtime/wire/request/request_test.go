package request

import (
	"bytes"
	"reflect"
	"strings"
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

// TestWorkerIPC reads the first bytes of every class's frames, whatever follows.
func TestWorkerIPC(t *testing.T) {
	g := newGen(5)
	for i := range 200 {
		m := g.message(i)
		frame := mustEncode(t, m)
		want, has := ipcOf(m)
		got, err := WorkerIPC(frame)
		if (err == nil) != has || got != want {
			t.Fatalf("%s: got %q, %v, want %q", m.Class(), got, err, want)
		}
	}
	for name, c := range map[string]struct{ frame, want, err string }{
		"the rest malformed": {"\x97\xa8AbortReq\xa1r\xa3ipc\xc1\xc1\xc1\xc1\xc1", "ipc", ""},
		"the rest missing":   {"\x93\xa8AbortReq\xa1r\xa3ipc", "ipc", ""},
		"a long header":      {"\xdd\x00\x00\x00\x03\xd9\x08AbortReq\xc0\xd9\x03ipc", "ipc", ""},
		"a rid to step over": {"\x93\xa8AbortReq\x92\x01\x81\xa0\xc0\xa3ipc", "ipc", ""},
		"null":               {"\x93\xa8AbortReq\xa1r\xc0", "", ""},
		"left out":           {"\x92\xa8AbortReq\xa1r", "", ""},
		"empty":              {"", "", "wire: frame at byte 0: the frame is empty"},
		"another class":      {"\x91\xa3Foo", "", `wire: frame at byte 1: got class "Foo", want one of: ` + classNames()},
		"no text":            {"\x93\xa8AbortReq\xa1r\x90", "", "wire: AbortReq.http_worker_ipc at byte 12: got array, want null or string"},
		"cut off":            {"\x93\xa8AbortReq\xa1r\xa3ip", "", "wire: AbortReq.http_worker_ipc at byte 12: the frame ends inside a value"},
		"cut off before":     {"\x93\xa8AbortReq\xa2r", "", "wire: AbortReq.rid at byte 10: the frame ends inside a value"},
		"a huge text":        {"\x93\xa8AbortReq\xc0\xdb\xff\xff\xff\xff", "", "wire: AbortReq.http_worker_ipc at byte 11: the frame ends inside a value"},
		"a batch":            {"\x94\xbeBatchTokenizedGenerateReqInput\xc0\xc0\x90", "", "wire: BatchTokenizedGenerateReqInput.http_worker_ipcs at byte 32: the class has no http_worker_ipc"},
	} {
		got, err := WorkerIPC([]byte(c.frame))
		if text := errorText(err); got != c.want || text != c.err {
			t.Errorf("%s: got %q, %s\nwant %q, %s", name, got, text, c.want, c.err)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestOwnMemory changes a frame after its message was decoded.
func TestOwnMemory(t *testing.T) {
	g := newGen(6)
	for i := range 100 {
		m := g.message(i)
		frame := mustEncode(t, m)
		got, err := Decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		for k := range frame {
			frame[k] ^= 0xff
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("%s changed with its frame", m.Class())
		}
	}
}

// TestDefaults decodes frames as short as they may be.
func TestDefaults(t *testing.T) {
	short := "\x9e\xb9TokenizedGenerateReqInput" + strings.Repeat("\xc0", 7) + "\x91\x05\xc2\x00\x00\xc0\xc2"
	params := NewSamplingParams()
	params.MaxNewTokens = 5
	for frame, want := range map[string]Message{
		short:              &TokenizedGenerateReqInput{SamplingParams: params},
		"\x91\xa8AbortReq": &AbortReq{},
		"\x94\xb3FlushCacheReqOutput\xc0\xc0\xc3":             &FlushCacheReqOutput{Success: true},
		"\x91\xb3GetInternalStateReq":                         &GetInternalStateReq{},
		"\x94\xb0GetAdmissionsReq\xc0\xa1w\x91\xa1r":          &GetAdmissionsReq{HTTPWorkerIPC: "w", RIDs: []string{"r"}},
		"\x94\xb6GetAdmissionsReqOutput\xa1r\xc0\xc4\x02{}":   &GetAdmissionsReqOutput{RID: "r", Admissions: []byte("{}")},
		"\x94\xbeTokenizerWorkerRegistrationReq\xc0\xc0\xa1w": &TokenizerWorkerRegistrationReq{WorkerIPCName: "w"},
	} {
		got, err := Decode([]byte(frame))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v, %v\nwant %+v", frame, got, err, want)
		}
	}
}

// TestTopK: -1 is SGLang's number for the whole vocabulary on the wire, and read as either.
func TestTopK(t *testing.T) {
	m := &TokenizedGenerateReqInput{SamplingParams: NewSamplingParams()}
	frame := mustEncode(t, m)
	wide := []byte("\xce\x40\x00\x00\x00")
	if bytes.Count(frame, wide) != 1 {
		t.Fatalf("got %x, want one %x in it", frame, wide)
	}
	for _, raw := range []string{string(wide), "\xff"} {
		got, err := Decode(bytes.Replace(frame, wide, []byte(raw), 1))
		if err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%x: got %+v, %v, want top_k -1", raw, got, err)
		}
	}
}

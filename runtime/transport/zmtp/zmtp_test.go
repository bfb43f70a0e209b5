package zmtp

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const testMax = 1 << 20

// feed gives all to a stream in the chunks that rng cuts, as a socket would.
func feed(t testing.TB, s *Stream, all []byte, rng *rand.Rand) (o outcome) {
	for {
		for {
			kind, body, err := s.Next()
			if err != nil {
				_, _, again := s.Next()
				if again != err {
					t.Fatalf("Next after %v gives %v", err, again)
				}
				o.breach, o.partial, o.shaken = true, -1, s.Shaken()
				return o
			}
			if kind == None {
				break
			}
			if cap(body) != len(body) {
				t.Fatalf("a body of %d bytes has capacity %d: append would write into the next frame", len(body), cap(body))
			}
			if kind == Ping {
				o.pings = append(o.pings, bytes.Clone(body))
			} else {
				o.messages = append(o.messages, append([]byte{}, body...))
			}
		}
		if s.Buffered() {
			t.Fatal("Buffered after Next said None")
		}
		if len(all) == 0 {
			o.partial, o.shaken = s.Partial(), s.Shaken()
			return o
		}
		space := s.Space()
		if len(space) == 0 {
			t.Fatal("no space to read into")
		}
		n := copy(space[:1+rng.IntN(len(space))], all)
		s.Filled(n)
		all = all[n:]
	}
}

func same(a, b outcome) bool {
	equal := func(x, y [][]byte) bool {
		return len(x) == len(y) && bytes.Equal(bytes.Join(x, []byte{0}), bytes.Join(y, []byte{0})) && (len(x) == 0 || reflect.DeepEqual(lens(x), lens(y)))
	}
	return equal(a.messages, b.messages) && equal(a.pings, b.pings) &&
		a.shaken == b.shaken && a.partial == b.partial && a.breach == b.breach
}

func lens(x [][]byte) (n []int) {
	for _, b := range x {
		n = append(n, len(b))
	}
	return n
}

func compare(t testing.TB, all []byte, seed uint64) {
	want := twin(all, "PUSH", testMax)
	rng := rand.New(rand.NewPCG(seed, 1))
	s := NewStream("PUSH", testMax, 1024)
	got := feed(t, s, all, rng)
	if !same(got, want) {
		t.Fatalf("stream of %d bytes %x:\n got %+v\nwant %+v", len(all), all[:min(len(all), 200)], got, want)
	}
	if limit := 2*len(all) + 2048; len(s.buf) > limit {
		t.Fatalf("a buffer of %d bytes for a stream of %d; at most %d", len(s.buf), len(all), limit)
	}
}

func frame(flags byte, body []byte) []byte {
	b := []byte{flags}
	if flags&flagLong != 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(len(body)))
	} else {
		b = append(b, byte(len(body)))
	}
	return append(b, body...)
}

// randomStream is mostly legal: messages, PINGs, unknown commands, and sometimes a breach or a cut end.
func randomStream(rng *rand.Rand) []byte {
	all := AppendHello(nil, "PUSH")
	for range rng.IntN(40) {
		switch k := rng.IntN(40); {
		case k < 20:
			all = append(all, frame(0, random(rng, rng.IntN(256)))...)
		case k < 30:
			all = append(all, frame(2, random(rng, rng.IntN(5000)))...)
		case k < 34:
			all = append(all, frame(4, append([]byte("\x04PING"), random(rng, 2+rng.IntN(30))...))...)
		case k < 37:
			all = append(all, frame(6, append([]byte("\x05OTHER"), random(rng, rng.IntN(3000))...))...)
		case k < 38:
			all = append(all, random(rng, rng.IntN(12))...)
		default:
			all = append(all, frame(0, nil)...)
		}
	}
	if rng.IntN(3) == 0 {
		all = all[:rng.IntN(len(all)+1)]
	}
	if rng.IntN(4) == 0 && len(all) > 0 {
		all[rng.IntN(len(all))] ^= byte(1 + rng.IntN(255))
	}
	return all
}

func random(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

func TestStreamAgainstTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	breaches, whole := 0, 0
	for i := range 1500 {
		all := randomStream(rng)
		compare(t, all, uint64(i))
		if twin(all, "PUSH", testMax).breach {
			breaches++
		} else {
			whole++
		}
	}
	if breaches < 100 || whole < 100 {
		t.Fatalf("%d streams with a breach, %d without: the generator is one-sided", breaches, whole)
	}
}

func FuzzStream(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 20 {
		f.Add(randomStream(rng), uint64(i), false)
	}
	f.Add(frame(4, []byte("\x05ERROR\x02no")), uint64(1), true)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), uint64(1), false)
	f.Add([]byte{2, 0, 0, 0, 0, 3, 0xc0, 0, 0, 1}, uint64(2), true)
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, shaken bool) {
		if shaken {
			data = append(AppendHello(nil, "PUSH"), data...)
		}
		compare(t, data, seed)
	})
}

// The hello that libzmq 4.3.5's PUSH sends over ipc, as read from its socket.
const libzmqHello = "ff00000000000000017f03014e554c4c" + "00000000000000000000000000000000" +
	"00000000000000000000000000000000" + "00000000000000000000000000000000" +
	"041a05" + "5245414459" + "0b" + "536f636b65742d54797065" + "00000004" + "50555348"

func TestHello(t *testing.T) {
	got := hex.EncodeToString(AppendHello(nil, "PUSH"))
	if got != libzmqHello {
		t.Errorf("hello\n got %s\nwant %s", got, libzmqHello)
	}
}

func TestAppendHeader(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 65536, 5 << 20} {
		h, ok, err := parseHeader(AppendHeader(nil, n), 5<<20)
		if !ok || err != nil || h.size-h.at != n || h.command {
			t.Errorf("header of %d bytes reads as %+v %v %v", n, h, ok, err)
		}
	}
	if long := AppendHeader(nil, 256); len(long) != 9 || len(AppendHeader(nil, 255)) != 2 {
		t.Errorf("the long header begins elsewhere than at 256 bytes: % x", long)
	}
}

func ready(props string) []byte { return frame(4, []byte("\x05READY"+props)) }

func TestBreaches(t *testing.T) {
	hello := AppendHello(nil, "PUSH")
	with := func(at int, b byte) []byte {
		g := bytes.Clone(hello)
		g[at] = b
		return g
	}
	greeting := hello[:64]
	after := func(tail []byte) []byte { return append(bytes.Clone(greeting), tail...) }
	frames := func(tail []byte) []byte { return append(bytes.Clone(hello), tail...) }
	for _, c := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"http", []byte("G"), "greeting starts with 0x47, want 0xff"},
		{"signature", with(9, 0x7e)[:10], "signature ends with 0x7e, want 0x7f"},
		{"version", with(10, 2)[:11], "major version 2, want 3"},
		{"mechanism", append(bytes.Clone(greeting[:12]), "PLAIN\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"...), `mechanism "PLAIN", want "NULL"`},
		{"as-server", with(32, 1)[:33], "as-server 1, want 0"},
		{"own type", AppendHello(nil, "PULL"), `socket type "PULL", want "PUSH"`},
		{"no type", after(ready("")), "no property Socket-Type"},
		{"cut property", after(ready("\x0bSocket-Type\x00\x00\x00\x05PUSH")), "malformed property at byte 0 of 20"},
		{"not ready", after(frame(4, []byte("\x05HELLO"))), `command "HELLO", want "READY"`},
		{"refused", after(frame(4, []byte("\x05ERROR\x07no room"))), `peer sent ERROR: "no room"`},
		{"early message", after([]byte{0}), "message before the handshake's READY"},
		{"error command", frames(frame(4, []byte("\x05ERROR\x03bye"))), `peer sent ERROR: "bye"`},
		{"multipart", frames([]byte{1}), "multipart"},
		{"reserved", frames([]byte{0x40}), "0x40; the bits 0x40 are reserved"},
		{"command with more", frames([]byte{5}), "a command cannot have more frames"},
		{"too large", frames(AppendHeader(nil, testMax+1)), "message of 1048577 bytes; at most 1048576"},
		{"far too large", frames([]byte{2, 255, 255, 255, 255, 255, 255, 255, 255}), "message of 18446744073709551615 bytes"},
		{"large command", frames([]byte{6, 0, 0, 0, 0, 0, 1, 0, 1}), "command of 65537 bytes; at most 65536"},
		{"no name", frames(frame(4, nil)), "command of 0 bytes without a name"},
		{"cut name", frames(frame(4, []byte("\x09PING"))), "command name of 9 bytes in a command of 5"},
		{"short ping", frames(frame(4, []byte("\x04PING\x00"))), "PING with 1 bytes of data"},
	} {
		s := NewStream("PUSH", testMax, 1024)
		s.Filled(copy(s.Space(), c.bytes))
		_, _, err := s.Next()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
		compare(t, c.bytes, 5)
	}
}

func TestTolerated(t *testing.T) {
	greeting := AppendHello(nil, "PUSH")[:64]
	greeting[11] = 0
	copy(greeting[1:9], "padding!")
	all := append(greeting, ready("\x08Identity\x00\x00\x00\x02id\x0bSOCKET-type\x00\x00\x00\x04PUSH")...)
	all = append(all, frame(4, []byte("\x09SUBSCRIBEtopic"))...)
	all = append(all, frame(6, append([]byte("\x04PING\x00\x05"), "a context longer than 16"...))...)
	all = append(all, frame(2, []byte("short body, long header"))...)
	compare(t, all, 9)
	got := feed(t, NewStream("PUSH", testMax, 1024), all, rand.New(rand.NewPCG(1, 1)))
	if len(got.pings) != 1 || string(got.pings[0]) != "a context longer" || len(got.messages) != 1 {
		t.Fatalf("got %+v", got)
	}
}

// A header may claim what it likes: memory follows the bytes that came.
func TestBufferFollowsTheBytes(t *testing.T) {
	const claim = 60 << 20
	s := NewStream("PUSH", 64<<20, 64<<10)
	all := AppendHeader(AppendHello(nil, "PUSH"), claim)
	s.Filled(copy(s.Space(), all))
	came := 0
	for came < claim {
		if kind, _, err := s.Next(); kind != None || err != nil {
			t.Fatalf("after %d bytes: %v %v", came, kind, err)
		}
		space := s.Space()
		if limit := 2*(came+len(all)) + 64<<10; len(s.buf) > limit {
			t.Fatalf("a buffer of %d bytes when %d had come; at most %d", len(s.buf), came, limit)
		}
		n := min(len(space), claim-came, 128<<10)
		s.Filled(n)
		came += n
	}
	if kind, body, err := s.Next(); kind != Message || len(body) != claim || err != nil {
		t.Fatalf("at the end: %v, %d bytes, %v", kind, len(body), err)
	}
	if len(s.buf) > claim+MaxHeader+64<<10 {
		t.Fatalf("a buffer of %d bytes for a frame of %d", len(s.buf), claim)
	}
}

// A stream that never pauses at a frame's end does not make the buffer grow.
func TestBufferStaysSmall(t *testing.T) {
	const readSize = 4096
	s := NewStream("PUSH", testMax, readSize)
	unit := frame(0, make([]byte, 199))
	pending := AppendHello(nil, "PUSH")
	for range 5000 {
		pending = append(append(pending, unit...), unit[:100]...) // the read ends in mid-frame
		for len(pending) > 0 {
			n := copy(s.Space(), pending)
			s.Filled(n)
			pending = pending[n:]
			for kind := Message; kind != None; {
				var err error
				if kind, _, err = s.Next(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if len(s.buf) > readSize {
			t.Fatalf("a buffer of %d bytes for frames of %d; at most %d", len(s.buf), len(unit), readSize)
		}
		pending = append(pending, unit[100:]...)
	}
}

func TestPong(t *testing.T) {
	if got := AppendPong(nil, []byte("ctx")); string(got) != "\x04\x08\x04PONGctx" {
		t.Fatalf("%q", got)
	}
}

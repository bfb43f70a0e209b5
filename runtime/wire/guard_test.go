package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// wellFormed is Check by recursion over slices: slow and plain.
func wellFormed(b []byte, depth int) (rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, false
	}
	c := int(b[0])
	switch {
	case c <= 0x7f || c >= 0xe0 || c == 0xc0 || c == 0xc2 || c == 0xc3:
		return b[1:], true
	case c <= 0x8f:
		return items(b[1:], 2*(c-0x80), depth)
	case c <= 0x9f:
		return items(b[1:], c-0x90, depth)
	case c <= 0xbf:
		return past(b, 1+c-0xa0)
	case c == 0xc1:
		return nil, false
	}
	fixed := map[int]int{0xca: 5, 0xcb: 9, 0xcc: 2, 0xcd: 3, 0xce: 5, 0xcf: 9, 0xd0: 2, 0xd1: 3, 0xd2: 5, 0xd3: 9, 0xd4: 3, 0xd5: 4, 0xd6: 6, 0xd7: 10, 0xd8: 18}
	if n := fixed[c]; n > 0 {
		return past(b, n)
	}
	width := map[int]int{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xc7: 1, 0xc8: 2, 0xc9: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}[c]
	if len(b) < 1+width {
		return nil, false
	}
	n := 0
	for _, x := range b[1 : 1+width] {
		n = n<<8 | int(x)
	}
	switch {
	case c >= 0xde:
		return items(b[1+width:], 2*n, depth)
	case c >= 0xdc:
		return items(b[1+width:], n, depth)
	case c >= 0xc7 && c <= 0xc9:
		n++
	}
	return past(b, 1+width+n)
}

func past(b []byte, n int) ([]byte, bool) {
	if n > len(b) {
		return nil, false
	}
	return b[n:], true
}

func items(b []byte, n, depth int) (rest []byte, ok bool) {
	if depth == 0 {
		return nil, false
	}
	for ok = true; n > 0 && ok; n-- {
		b, ok = wellFormed(b, depth-1)
	}
	return b, ok
}

func checkAgainstTwin(t *testing.T, frame []byte) {
	t.Helper()
	rest, ok := wellFormed(frame, MaxDepth)
	want := ok && len(rest) == 0
	if err := Check(frame); (err == nil) != want {
		t.Fatalf("Check(%x): %v, want well-formed: %v", frame, err, want)
	}
}

// cases is n, or a tenth where an emulator runs them (-short).
func cases(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

func TestCheckAgainstTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, path := range realFiles(t) {
		frame := frames(t, path)[0]
		checkAgainstTwin(t, frame)
		if len(frame) > 1000 {
			continue
		}
		for cut := range frame { // every truncation
			checkAgainstTwin(t, frame[:cut])
		}
		checkAgainstTwin(t, append(bytes.Clone(frame), codeNil))
		for range cases(2000) { // a byte changed
			bad := bytes.Clone(frame)
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
			checkAgainstTwin(t, bad)
		}
	}
	for range cases(20000) {
		b := make([]byte, rng.IntN(12))
		for i := range b {
			b[i] = byte(rng.Uint32()) | 0x80
		}
		checkAgainstTwin(t, b)
	}
}

func TestDepthLimit(t *testing.T) {
	for _, open := range []string{"\x91", "\x81\xc0"} {
		for depth := range MaxDepth + 3 {
			frame := []byte(strings.Repeat(open, depth) + "\xc0")
			if err := Check(frame); (err == nil) != (depth <= MaxDepth) {
				t.Errorf("%d of %x: %v", depth, open, err)
			}
			checkAgainstTwin(t, frame)
		}
	}
}

func TestCheckAllocatesNothing(t *testing.T) {
	frame := frames(t, "testdata/in-rich-310-step2.bin")[0]
	if n := testing.AllocsPerRun(20, func() {
		if err := Check(frame); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// bounded fails when f allocates more than 64 times n bytes and 64 KiB.
func bounded(t testing.TB, n int, what string, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64*n+64<<10); got > limit {
		t.Fatalf("%s: %d bytes allocated for %d, want at most %d", what, got, n, limit)
	}
}

func head32(code byte, n uint32) string {
	return string(binary.BigEndian.AppendUint32([]byte{code}, n))
}

// frameWith is a frame whose field has the given bytes, all others null.
func frameWith(c *class, field int, raw string) []byte {
	b := appendText(appendHead(nil, 0x90, 0xdc, len(c.fields)+1), []byte(c.name))
	for i := range c.fields {
		if i == field {
			b = append(b, raw...)
		} else {
			b = append(b, codeNil)
		}
	}
	return b
}

// hostile are columns that ask for much with few bytes.
func hostile(n int) map[string]string {
	out := map[string]string{
		"array32 of 4 G":                  head32(0xdd, 0xffffffff),
		"map32 of 4 G":                    head32(0xdf, 0xffffffff),
		"str32 of 4 G":                    "\x91" + head32(0xdb, 0xffffffff),
		"bin32 of 4 G":                    "\x91" + head32(0xc6, 0xffffffff),
		"ext32 of 4 G":                    "\x91" + head32(0xc9, 0xffffffff) + "\x01",
		"wrapper of 4 G":                  "\x92\xaeMsgpackWrapper" + head32(0xc6, 0xffffffff),
		"deep arrays":                     strings.Repeat("\x91", n) + "\xc0",
		"deep maps":                       strings.Repeat("\x81\xc0", n) + "\xc0",
		"map of nulls":                    "\x91" + head32(0xdf, uint32(n)) + strings.Repeat("\xc0\xc0", n),
		"array in array":                  "\x91" + head32(0xdd, uint32(n)) + strings.Repeat("\x90", n),
		"array in array ×2":               "\x91\x91" + head32(0xdd, uint32(n)) + strings.Repeat("\xc0", n),
		"ints with a bad metadata length": "\x91\xc7\x06\x01\xff\xff\xff\xff\xa1q",
	}
	for _, item := range []string{"\xc0", "\x90", "\x80", "\xa0", "\x00", "\xc2", "\x91\xc0", "\x91\x90", "\x81\xc0\xc0", "\xc7\x00\x02", "\xd4\x02\x00", "\xc7\x06\x01\x00\x00\x00\x02\xa1q", "\x9f" + strings.Repeat("\xc0", 15)} {
		k := n / len(item)
		out[fmt.Sprintf("%d of %x", k, item)] = head32(0xdd, uint32(k)) + strings.Repeat(item, k)
	}
	return out
}

// No column type takes more memory than the bound, whatever it is given.
func TestHostileFrames(t *testing.T) {
	seen := map[string]bool{}
	v := &View{}
	for _, c := range allClasses {
		for i, f := range c.fields {
			typ := fmt.Sprintf("%T", f.column)
			if seen[typ] {
				continue
			}
			seen[typ] = true
			for name, raw := range hostile(100_000) {
				frame := frameWith(c, i, raw)
				what := c.name + "." + f.name + ", " + name
				bounded(t, len(frame), what, func() { Decode(frame) })
				bounded(t, len(frame), what+", View", func() { v.Parse(frame) })
				if strings.HasPrefix(name, "deep") || strings.HasSuffix(name, "4 G") {
					if _, err := Decode(frame); err == nil || !strings.Contains(err.Error(), c.name+"."+f.name) {
						t.Errorf("%s: error %v does not name the field", what, err)
					}
				}
			}
		}
	}
	if len(seen) != len(columns) {
		t.Errorf("%d types of column were tried, there are %d", len(seen), len(columns))
	}
}

func TestHostileWrapped(t *testing.T) {
	for name, raw := range hostile(100_000) {
		o := &Opaque{Wrapper: MsgpackWrapper, Data: []byte(raw)}
		bounded(t, len(raw), name, func() { o.Open() })
	}
	for _, frame := range []string{"", "\xdd\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x01", "\xdf\xff\xff\xff\xff"} {
		bounded(t, len(frame), frame, func() {
			if _, err := Decode([]byte(frame)); err == nil {
				t.Errorf("%x decodes", frame)
			}
			if _, err := CountRows([]byte(frame)); err == nil {
				t.Errorf("%x has rows", frame)
			}
		})
	}
}

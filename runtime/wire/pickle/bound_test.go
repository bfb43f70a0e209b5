package pickle

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// real gives the pickles of SGLang's frames that match: customized_info, then
// time_stats of each.
func real(t testing.TB, pattern string) (out [][]byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file %s, %v", pattern, err)
	}
	for _, path := range paths {
		frame, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, rest := range bytes.Split(frame, []byte("\xadPickleWrapper"))[1:] {
			switch rest[0] { // bin8, bin16
			case 0xc4:
				out = append(out, rest[2:2+rest[1]])
			case 0xc5:
				out = append(out, rest[3:3+binary.BigEndian.Uint16(rest[1:])])
			default:
				t.Fatalf("%s: code %x", path, rest[0])
			}
		}
	}
	return out
}

func TestRealColumns(t *testing.T) {
	columns := real(t, "in-rich-*.bin")
	if len(columns) != 24 {
		t.Fatalf("%d columns, want 2 of each of 12 frames", len(columns))
	}
	for _, data := range append(columns, real(t, "grouped-*.bin")...) {
		if err := checkColumn(t, data); err != nil {
			t.Error(err)
		}
	}
}

// pickled is a column with the given opcodes.
func pickled(parts ...string) []byte {
	return []byte("\x80\x04" + strings.Join(parts, "") + ".")
}

// bomb is a column whose values each hold the one before twice, and n rows that
// fetch the last.
func bomb(levels, n int) []byte {
	var b strings.Builder
	b.WriteString("](]\x94")
	for i := range levels {
		get := fmt.Sprintf("j%s", binary.LittleEndian.AppendUint32(nil, uint32(i)))
		b.WriteString("](" + get + get + "e\x94")
	}
	for range n {
		b.WriteString("j" + string(binary.LittleEndian.AppendUint32(nil, uint32(levels))))
	}
	return pickled(b.String(), "e")
}

// A value is defined once a row, however often the row comes to it.
func TestMemoBomb(t *testing.T) {
	data := bomb(1000, 1)
	var c Column
	if err := c.Parse(data); err != nil {
		t.Fatal(err)
	}
	row, ok := c.AppendRow(nil, 1001)
	if !ok || len(row) > 2*len(data) {
		t.Errorf("a row of %d bytes from a column of %d", len(row), len(data))
	}
	if err := checkColumn(t, bomb(30, 3)); err != nil {
		t.Error(err)
	}
}

// Columns that would take too much are errors, in time that the bound allows.
func TestMaxRows(t *testing.T) {
	large := "B" + string(binary.LittleEndian.AppendUint32(nil, 1<<20)) + strings.Repeat("x", 1<<20)
	for name, data := range map[string][]byte{
		"one large value": pickled("](", large, "\x94", strings.Repeat("h\x00", 1000), "e"),
		"many values":     bomb(40_000, 3000),
		"many keys":       pickled("}(", strings.Repeat("\x8c\x01k]\x94(NNNNe", 1), strings.Repeat("\x8c\x04keysh\x00", 100), "\x8c\x01z](", strings.Repeat("N", 200_000), "eu"),
		"itself":          pickled("]\x94(", strings.Repeat("h\x00\x85\x94", 20_000), "e"),
	} {
		var c Column
		err := c.Parse(data)
		if err == nil || !strings.Contains(err.Error(), "pickle: PROTO at byte 0: the first ") || !c.Null() {
			t.Errorf("%s: got %v, want that the rows would be too large", name, err)
		}
	}
	// Within the bound, though the estimate says otherwise.
	data := pickled("](", large, "\x94", strings.Repeat("h\x00", 50), strings.Repeat("N", 10_000), "e")
	var c Column
	if err := c.Parse(data); err != nil {
		t.Error(err)
	}
}

// A value refers to itself when a get of it lies before its end. Parse notes that
// on the way.
func TestItself(t *testing.T) {
	found := 0
	for name, body := range columns {
		var c Column
		if err := c.Parse(pickled(body)); err != nil {
			t.Fatal(err)
		}
		want := false
		for _, e := range c.edits {
			want = want || e.kind == editGet && e.pos < c.nodes[e.node].end
		}
		if c.itself != want {
			t.Errorf("%s: noted %t, want %t", name, c.itself, want)
		}
		if want {
			found++
		}
	}
	if found < 4 {
		t.Errorf("%d columns with such a value, want at least 4", found)
	}
}

func TestMaxStarts(t *testing.T) {
	var c Column
	if err := c.Parse(pickled("]N", strings.Repeat("\x85\x94", maxStarts), "a")); err != nil {
		t.Error(err)
	}
	err := c.Parse(pickled("]N", strings.Repeat("\x85\x94", maxStarts+1), "a"))
	if err == nil || !strings.Contains(err.Error(), "pickle: MEMOIZE at byte 69: more than 32 values of the memo begin at byte 3") {
		t.Errorf("got %v", err)
	}
}

// What Parse keeps is linear in the bytes, whatever they are: also for nesting and
// counts that no pickler writes.
func TestKept(t *testing.T) {
	const n = 1 << 18
	var c Column
	for name, data := range map[string][]byte{
		"lists in lists": pickled(strings.Repeat("]", n), strings.Repeat("a", n-1)),
		"marks":          pickled(strings.Repeat("(", n)),
		"tuples":         pickled(strings.Repeat("(", n), strings.Repeat("t", n)),
		"numbers":        pickled("]", strings.Repeat("\x94", n)),
		"lists":          pickled("](", strings.Repeat("]\x94", n/2), "e"),
		"pairs":          pickled("}(", strings.Repeat("NN", n/2), "u"),
		"in turns":       pickled("]", strings.Repeat("]Naa", n/4)),
		"frames":         pickled(strings.Repeat("\x95\x00\x00\x00\x00\x00\x00\x00\x00", n/9), "]"),
		"gets":           pickled("]\x94(", strings.Repeat("h\x00", n/2)),
		"a huge count":   pickled("](\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"),
	} {
		c = Column{}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := c.Parse(data)
		runtime.GC()
		runtime.ReadMemStats(&after)
		if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > int64(MaxKept*len(data)) {
			t.Errorf("%s: keeps %d bytes for %d (error %v), want at most %d for each", name, kept, len(data), err, MaxKept)
		}
		runtime.KeepAlive(&c)
	}
}

// The buffers of a Column stay: a second parse and its rows allocate nothing.
func TestNoAllocations(t *testing.T) {
	for _, data := range real(t, "in-rich-310-step0.bin") {
		var c Column
		var row []byte
		batch := func() {
			if err := c.Parse(data); err != nil {
				t.Fatal(err)
			}
			for i := range 310 {
				row, _ = c.AppendRow(row[:0], i)
			}
		}
		batch()
		if n := testing.AllocsPerRun(10, batch); n > 0 {
			t.Errorf("%v allocations", n)
		}
	}
}

// FuzzMutated changes real columns in one place: takes some bytes out and puts
// others in.
func FuzzMutated(f *testing.F) {
	columns := append(real(f, "in-rich-2-step0.bin"), real(f, "in-rich-32-step1.bin")...)
	for k := range columns {
		f.Add(uint8(k), uint16(40*k+11), uint8(1), []byte("h\x01"))
		f.Add(uint8(k), uint16(0xffff), uint8(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, which uint8, at uint16, cut uint8, put []byte) {
		data := columns[int(which)%len(columns)]
		from := min(int(at), len(data))
		to := min(from+int(cut), len(data))
		if len(put) > 500 {
			return
		}
		mutated := append(append(bytes.Clone(data[:from]), put...), data[to:]...)
		_ = checkColumn(t, mutated)
	})
}

// BenchmarkRows is one column of 310 rows, parsed and cut into its rows.
func BenchmarkRows(b *testing.B) {
	for k, data := range real(b, "in-rich-310-step0.bin") {
		b.Run([]string{"customized_info", "time_stats"}[k], func(b *testing.B) {
			var c Column
			var row []byte
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := c.Parse(data); err != nil {
					b.Fatal(err)
				}
				for i := range 310 {
					row, _ = c.AppendRow(row[:0], i)
				}
			}
		})
	}
}

package gguf

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	m := made{
		version: 2, keys: 1, keyBytes: pack("general.name", u32(8), "x"), tensors: 4,
		infoBytes: pack(matrix("b", 3, 2, 0, 64), matrix("a", 32, 1, 8, 0), matrix("none", 0, 5, 1, 96), pack("one", u32(0), u32(30), u64(96))),
		data:      counting(98),
	}
	f, err := Parse("f", m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, x := range f.Tensors {
		got += fmt.Sprintf("%s %v %v %d+%d; ", x.Name, x.DType, x.Shape, append(x.Data, 0)[0], len(x.Data))
	}
	if want := "a Q8_0 [1 32] 0+34; b F32 [2 3] 64+24; none F16 [5 0] 0+0; one BF16 [] 96+2; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if name, err := f.String("general.name"); err != nil || name != "x" {
		t.Errorf("name %q, %v", name, err)
	}
}

// Another alignment is that of the offsets and of the tensors' start.
func TestAlignment(t *testing.T) {
	m := made{
		keys: 1, keyBytes: pack("general.alignment", u32(4), u32(64)), tensors: 2, alignment: 64,
		infoBytes: pack(matrix("a", 1, 1, 0, 0), matrix("b", 1, 1, 0, 64)), data: counting(68),
	}
	f, err := Parse("f", m.bytes())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := f.Tensors[0].Data[0], f.Tensors[1].Data[0]; a != 0 || b != 64 {
		t.Errorf("the tensors begin with bytes %d and %d", a, b)
	}
	m.infoBytes = pack(matrix("a", 1, 1, 0, 0), matrix("b", 1, 1, 0, 32))
	_, err = Parse("f", m.bytes())
	wantError(t, err, `f: tensor "b" begins at byte 32, expected a multiple of 64`)
	for _, n := range []uint32{0, 3, 1 << 21} {
		m.keyBytes = pack("general.alignment", u32(4), n)
		_, err = Parse("f", m.bytes())
		wantError(t, err, fmt.Sprintf("f: general.alignment is %d, expected a power of two up to 1048576", n))
	}
	m.keyBytes = pack("general.alignment", u32(8), "32")
	_, err = Parse("f", m.bytes())
	wantError(t, err, "f: key general.alignment is string, expected a whole number")
}

func TestFilesThatCannotBe(t *testing.T) {
	two := func(a, b []byte, n int) made { return made{tensors: 2, infoBytes: pack(a, b), data: counting(n)} }
	one := func(info []byte, n int) made { return made{tensors: 1, infoBytes: info, data: counting(n)} }
	key := func(values ...any) made { return made{keys: 1, keyBytes: pack(values...)} }
	for _, test := range []struct {
		want string
		file made
	}{
		{"version 1, expected 2 or 3", made{version: 1}},
		{"version 4, expected 2 or 3", made{version: 4}},
		{"version 3 in big-endian order, expected little-endian", made{version: 3 << 24}},
		{`key "k" stands twice`, made{keys: 2, keyBytes: pack("k", u32(7), []byte{1}, "k", u32(7), []byte{1})}},
		{`key "k": a value of type 13, expected 0 to 12`, key("k", u32(13), u64(0))},
		{`key "k": a bool of 2, expected 0 or 1`, key("k", u32(7), []byte{2})},
		{`key "k": a bool of 7, expected 0 or 1`, key("k", u32(9), u32(7), u64(2), []byte{1, 7})},
		{`key "k": an array of array, expected one of the types that is no array`, key("k", u32(9), u32(9), u64(0))},
		{`key "k": an array of type 77`, key("k", u32(9), u32(77), u64(0))},
		{`tensor "x": type 12 (Q4_K), expected F32, F16, BF16, Q8_0, Q4_0 or Q4_1`, one(matrix("x", 256, 1, 12, 0), 144)},
		{`tensor "x": type 99 (unknown), expected`, one(matrix("x", 1, 1, 99, 0), 4)},
		{`tensor "x": 5 dimensions, expected at most 4`, one(pack("x", u32(5), counting(60)), 4)},
		{`tensor "x": Q4_0 [2 33]: rows of 33, expected a multiple of 32`, one(matrix("x", 33, 2, 2, 0), 40)},
		{`tensor "x": F32 [4294967296 4294967296] takes more bytes than can be addressed`, one(matrix("x", 1<<32, 1<<32, 0, 0), 4)},
		{`tensor "x" begins at byte 8, expected a multiple of 32`, one(matrix("x", 1, 1, 0, 8), 12)},
		{`tensor "x" has 4 bytes from byte 0, but there are 3 in all: the file is cut short`, one(matrix("x", 1, 1, 0, 0), 3)},
		{`tensor "x" has 4 bytes from byte 18446744073709551584, but there are 4 in all`, one(matrix("x", 1, 1, 0, math.MaxUint64-31), 4)},
		{`tensor "x" stands twice`, two(matrix("x", 1, 1, 0, 0), matrix("x", 1, 1, 0, 32), 36)},
		{`tensor "b" begins at byte 0, before the end of another at 4`, two(matrix("a", 1, 1, 0, 0), matrix("b", 1, 1, 0, 0), 4)},
		{`tensor "b" begins at byte 32, before the end of another at 40`, two(matrix("b", 1, 1, 0, 32), matrix("a", 10, 1, 0, 0), 40)},
	} {
		_, err := Parse("some.gguf", test.file.bytes())
		wantError(t, err, "some.gguf: "+test.want)
	}
	_, err := Parse("f", []byte("GGML 1234"))
	wantError(t, err, `f: begins with "GGML", expected "GGUF"`)
}

func TestFilesThatAreCutShort(t *testing.T) {
	whole := made{
		keys: 3, keyBytes: pack("a", u32(8), "text", "b", u32(9), u32(8), u64(2), "x", "yz", "c", u32(12), 1.5),
		tensors: 1, infoBytes: matrix("x", 2, 2, 0, 0), data: counting(16),
	}.bytes()
	if _, err := Parse("f", whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		_, err := Parse("f", whole[:n])
		wantError(t, err, "f: ")
		wantError(t, err, "cut short")
	}
}

// allocated is how many bytes f takes from the heap.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A number in a file is no reason to make room for it.
func TestHugeNumbersTakeNoMemory(t *testing.T) {
	const huge = 1 << 40
	for want, m := range map[string]made{
		"1099511627776 keys":      {keys: huge},
		"1099511627776 tensors":   {tensors: huge},
		"1099511627776 bytes":     {keys: 1, keyBytes: pack(u64(huge), counting(20))},
		`key "a": 1099511627776`:  {keys: 1, keyBytes: pack("a", u32(9), u32(0), u64(huge))},
		`key "b": 1099511627776 `: {keys: 1, keyBytes: pack("b", u32(9), u32(8), u64(huge))},
		`key "c": 1099511627776 `: {keys: 1, keyBytes: pack("c", u32(8), u64(huge))},
		`tensor "x" has 17592186`: {tensors: 1, infoBytes: matrix("x", huge, 4, 0, 0), data: counting(4)},
	} {
		var err error
		raw := m.bytes()
		if n := allocated(func() { _, err = Parse("f", raw) }); n > 1<<20 {
			t.Errorf("%s: %d bytes for one of %d", want, n, len(raw))
		}
		wantError(t, err, want)
	}
}

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.gguf")
	m := made{tensors: 1, infoBytes: matrix("x", 2, 1, 0, 0), data: counting(8)}
	if err := os.WriteFile(path, m.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Tensors[0].Data[7] != 7 {
		t.Errorf("bytes %v", f.Tensors[0].Data)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	wantError(t, err, path+": 4 bytes are needed and 0 left")
	_, err = Open(path + "none")
	wantError(t, err, "no such file")
}

// Whatever the bytes: an error, or tensors inside the file that do not overlap.
func FuzzParse(f *testing.F) {
	f.Add(made{tensors: 2, infoBytes: pack(matrix("b", 3, 2, 0, 64), matrix("a", 32, 1, 8, 0)), data: counting(98)}.bytes())
	f.Add(made{keys: 3, keyBytes: pack("a", u32(8), "text", "b", u32(9), u32(8), u64(2), "x", "yz", "c", u32(12), 1.5)}.bytes())
	f.Add(made{keys: 2, keyBytes: pack("a", u32(9), u32(5), u64(2), u64(1), "general.alignment", u32(4), u32(8))}.bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		file, err := Parse("f", raw)
		if err != nil {
			return
		}
		total := 0
		for _, x := range file.Tensors {
			total += len(x.Data)
			x.Float32()
		}
		if total > len(raw) {
			t.Fatalf("%d bytes of tensors in a file of %d", total, len(raw))
		}
		for key, v := range file.values {
			right := 0
			for _, err := range asked(file, key) {
				if err == nil {
					right++
				} else if !strings.Contains(err.Error(), key) {
					t.Fatalf("%q: %v", key, err)
				}
			}
			if empty := v.array && v.n == 0; right > 1 && !empty {
				t.Fatalf("%q, %v of %d: %d kinds of reading work", key, v, v.n, right)
			}
		}
	})
}

// asked asks for a key in every way.
func asked(f *File, key string) []error {
	_, a := f.Int(key)
	_, b := f.Float(key)
	_, c := f.Bool(key)
	_, d := f.String(key)
	_, e := f.Strings(key)
	_, g := f.Ints(key)
	_, h := f.Floats(key)
	return []error{a, b, c, d, e, g, h}
}

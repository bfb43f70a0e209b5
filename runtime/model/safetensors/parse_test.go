package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// file has a header, and so many bytes behind it, which count up.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

func TestParse(t *testing.T) {
	raw := file(`{"__metadata__":{"format":"pt"},
		"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},
		"none":{"dtype":"F32","shape":[0,4],"data_offsets":[20,20]},
		"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
		"one":{"dtype":"F16","shape":[],"data_offsets":[20,22]}}   `, 22)
	tensors, err := Parse("f", raw)
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, x := range tensors {
		got += fmt.Sprintf("%s %v %v %v; ", x.Name, x.DType, x.Shape, x.Data)
	}
	want := "a F32 [2] [0 1 2 3 4 5 6 7]; b BF16 [2 3] [8 9 10 11 12 13 14 15 16 17 18 19]; none F32 [0 4] []; one F16 [] [20 21]; "
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if data := raw[len(raw)-22:]; &tensors[0].Data[0] != &data[0] {
		t.Error("the bytes were copied")
	}
	if cap(tensors[0].Data) != 8 {
		t.Error("a tensor reaches into the next")
	}
}

func one(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"x":{"dtype":%s,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

func TestHeadersThatCannotBe(t *testing.T) {
	pair := func(a, b string) string {
		return fmt.Sprintf(`{"a":{"dtype":"F32","shape":[2],"data_offsets":%s},"b":{"dtype":"F32","shape":[2],"data_offsets":%s}}`, a, b)
	}
	for _, test := range []struct {
		want, header string
		bytes        int
	}{
		{`tensor "x" has dtype "F8_E4M3", expected F32, F16 or BF16`, one(`"F8_E4M3"`, "[4]", "[0,4]"), 4},
		{`tensor "x" has dtype "f32"`, one(`"f32"`, "[1]", "[0,4]"), 4},
		{`tensor "x" lacks one of dtype, shape and two data_offsets`, `{"x":{"dtype":"F32","shape":[1]}}`, 4},
		{`tensor "x" lacks`, one(`null`, "[1]", "[0,4]"), 4},
		{`tensor "x" lacks`, one(`"F32"`, "[1]", "[0,4,8]"), 4},
		{`tensor "x" lacks`, `{"x":null}`, 0},
		{`header: tensor "x": json: cannot unmarshal number -1`, one(`"F32"`, "[-1]", "[0,4]"), 4},
		{`header: tensor "x": json: cannot unmarshal number 1.5`, one(`"F32"`, "[1.5]", "[0,4]"), 4},
		{`tensor "x" has 4 bytes, expected 8 for F32 [2]`, one(`"F32"`, "[2]", "[0,4]"), 4},
		{`tensor "x": F32 [4294967296 4294967296] takes more bytes than can be addressed`, one(`"F32"`, "[4294967296,4294967296]", "[0,4]"), 4},
		{`tensor "x" has 5 dimensions`, one(`"F32"`, "[1,1,1,1,1]", "[0,4]"), 4},
		{`tensor "x" ends at byte 8 of 7: the file is cut short`, one(`"F32"`, "[2]", "[0,8]"), 7},
		{`tensor "x" ends at byte 18446744073709551615 of 8`, one(`"F32"`, "[2]", "[0,18446744073709551615]"), 8},
		{`tensor "x" begins at byte 1, expected 0, where the one before it ends`, one(`"F32"`, "[2]", "[1,9]"), 9},
		{`1 bytes behind the last tensor, expected none`, one(`"F32"`, "[2]", "[0,8]"), 9},
		{`tensor "b" begins at byte 4, expected 8`, pair("[0,8]", "[4,12]"), 12},
		{`tensor "b" begins at byte 0, expected 8`, pair("[0,8]", "[0,8]"), 8},
		{`tensor "b" begins at byte 9, expected 8`, pair("[0,8]", "[9,17]"), 17},
		{`tensor "b" ends at byte 0, before its start at 8`, pair("[0,8]", "[8,0]"), 8},
		{`header: the key "x" is given twice at the top`, `{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4},
		{`header: the key "__metadata__" is given twice at the top`, `{"__metadata__":{},"__metadata__":{}}`, 0},
		{`header: the key "a" is given twice in __metadata__`, `{"__metadata__":{"a":"","a":""}}`, 0},
		{`header: the key "shape" is given twice in x`, `{"x":{"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,4]}}`, 4},
		{`header: __metadata__: json: cannot unmarshal number`, `{"__metadata__":{"a":1}}`, 0},
		{`header: [, expected an object`, `[]`, 0},
		{`header: EOF`, ``, 0},
		{`header: tensor "x": unexpected EOF`, `{"x":{"dtype"`, 0},
		{`behind the object, expected spaces`, `{} {}`, 0},
		{`behind the object, expected spaces`, `{} x`, 0},
	} {
		_, err := Parse("some.file", file(test.header, test.bytes))
		wantError(t, err, test.want)
		wantError(t, err, "some.file: ")
	}
}

func TestFilesThatAreCutShort(t *testing.T) {
	whole := file(one(`"F32"`, "[2]", "[0,8]"), 8)
	if _, err := Parse("f", whole); err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) {
		_, err := Parse("f", whole[:n])
		wantError(t, err, "f: ")
	}
	_, err := Parse("f", whole[:7])
	wantError(t, err, "a file of 7 bytes, expected 8")
	_, err = Parse("f", whole[:40])
	wantError(t, err, "bytes, but 32 are left: the file is cut short")
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
	for _, raw := range [][]byte{
		binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
		binary.LittleEndian.AppendUint64(nil, maxHeader),
		file(one(`"F32"`, "[1099511627776]", "[0,4398046511104]"), 4),
	} {
		var err error
		if n := allocated(func() { _, err = Parse("f", raw) }); n > 1<<20 || err == nil {
			t.Errorf("%d bytes for one of %d, error %v", n, len(raw), err)
		}
	}
}

// Whatever the bytes: an error, or tensors that fill the file from the header on.
func FuzzParse(f *testing.F) {
	f.Add(file(one(`"F32"`, "[2]", "[0,8]"), 8))
	f.Add(file(`{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[1,2],"data_offsets":[4,8]},"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}} `, 8))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tensors, err := Parse("f", raw)
		if err != nil {
			return
		}
		rest, names := raw[8+binary.LittleEndian.Uint64(raw):], map[string]bool{}
		for _, x := range tensors {
			size := map[tensor.DType]int{tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2}[x.DType]
			for _, n := range x.Shape {
				size *= n
			}
			if len(x.Data) != size || size > 0 && &x.Data[0] != &rest[0] || names[x.Name] {
				t.Fatalf("tensor %q %v %v with %d bytes", x.Name, x.DType, x.Shape, len(x.Data))
			}
			rest, names[x.Name] = rest[size:], true
			x.Float32()
		}
		if len(rest) != 0 {
			t.Fatalf("%d bytes are nobody's", len(rest))
		}
	})
}

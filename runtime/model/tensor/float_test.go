package tensor

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// golden is what scripts/checkpoint_golden.py wrote: the bytes of each dtype, and the
// float32 that numpy and Python's gguf make of them. To write it anew:
//
//	"$(scripts/sglang_env.sh)" scripts/checkpoint_golden.py
type golden struct {
	EveryF16 string `json:"every_f16_sha256"`
	Tensors  []struct {
		DType   string
		Shape   []uint64
		Data    []byte
		Float32 []byte
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/dtypes.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func byName(t *testing.T, name string) DType {
	t.Helper()
	for d, f := range formats {
		if f.name == name {
			return d
		}
	}
	t.Fatalf("no dtype %s", name)
	return 0
}

func littleEndian(t *testing.T, numbers []float32) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, numbers); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Equal to the last bit, signs of zeros too.
func TestNumbersAreThoseOfPython(t *testing.T) {
	seen := map[DType]bool{}
	for _, g := range readGolden(t).Tensors {
		x, err := New(g.DType, byName(t, g.DType), g.Shape, g.Data)
		if err != nil {
			t.Fatal(err)
		}
		got := x.Float32()
		if len(g.Float32) < 24*4 || !bytes.Equal(littleEndian(t, got), g.Float32) {
			t.Errorf("%s: %v of % x, want the bytes % x", g.DType, got, g.Data, g.Float32)
		}
		if x.Len() != len(got) {
			t.Errorf("%s: Len %d, want %d", g.DType, x.Len(), len(got))
		}
		seen[x.DType] = true
	}
	for d := range formats {
		if !seen[d] {
			t.Errorf("%v: no golden", d)
		}
	}
}

func TestEveryHalf(t *testing.T) {
	numbers := make([]float32, 1<<16)
	for i := range numbers {
		numbers[i] = half([]byte{byte(i), byte(i >> 8)})
		exponent, fraction := i>>10&31, i&1023
		if nan := exponent == 31 && fraction != 0; nan != math.IsNaN(float64(numbers[i])) {
			t.Fatalf("%#04x is %v", i, numbers[i])
		} else if nan {
			numbers[i] = 0 // as the script does
		}
	}
	sum := sha256.Sum256(littleEndian(t, numbers))
	if got, want := hex.EncodeToString(sum[:]), readGolden(t).EveryF16; got != want {
		t.Errorf("the SHA-256 of all halves is %s, want %s", got, want)
	}
}

// A part of the rows has the numbers that the whole has there, and shares its bytes.
func TestRows(t *testing.T) {
	for _, g := range readGolden(t).Tensors {
		x, err := New(g.DType, byName(t, g.DType), g.Shape, g.Data)
		if err != nil {
			t.Fatal(err)
		}
		all, part, cols := x.Float32(), x.Rows(1, 3), x.Shape[1]
		if part.Shape[0] != 2 || part.Shape[1] != cols || &part.Data[0] != &x.Data[len(x.Data)/x.Shape[0]] {
			t.Errorf("%s: %v", g.DType, part.Shape)
		}
		for i, n := range part.Float32() {
			if want := all[cols+i]; math.Float32bits(n) != math.Float32bits(want) {
				t.Errorf("%s: number %d is %v, want %v", g.DType, i, n, want)
			}
		}
	}
}

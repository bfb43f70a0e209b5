package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// random is a source that gives the same numbers in every run.
func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// normal has n numbers around zero.
func normal(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// encode is the numbers as a format has them.
func encode(f Format, x []float32) []byte {
	if f == Q8 {
		return Quantize(x)
	}
	var data []byte
	for _, v := range x {
		switch f {
		case F32:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		case F16:
			data = binary.LittleEndian.AppendUint16(data, toHalf(v))
		case BF16:
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
		}
	}
	return data
}

func matrix(t testing.TB, f Format, rows, cols int, x []float32) *Matrix {
	t.Helper()
	m, err := NewMatrix(f, rows, cols, encode(f, x))
	if err != nil {
		t.Fatal(err)
	}
	return &m
}

// formats are all that there are.
var formats = []Format{F32, F16, BF16, Q8}

// sameBits says whether two numbers are the same, NaNs being all alike.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

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

// each runs a test with every implementation.
func each(t *testing.T, test func(t *testing.T)) {
	before := chosen
	defer func() { chosen = before }()
	for _, chosen = range implementations() {
		t.Run(chosen.name, test)
	}
}

// fma is a·b + c rounded once. The product is exact in float64; the sum is rounded to odd
// there, so that rounding it again gives what rounding once would.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	sum := p + q
	if sum-sum != 0 {
		return float32(sum)
	}
	// What the addition lost (Knuth's two-sum).
	part := sum - p
	lost := (p - (sum - part)) + (q - part)
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 {
		if (lost > 0) == (sum > 0) {
			sum = math.Float64frombits(bits + 1)
		} else {
			sum = math.Float64frombits(bits - 1)
		}
	}
	return float32(sum)
}

// step is one multiplication and addition, as the chosen implementation does it.
func step(a, b, c float32) float32 {
	if chosen.name == plain.name {
		return float32(a*b) + c
	}
	return fma(a, b, c)
}

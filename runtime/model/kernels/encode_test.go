package kernels

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// nearest looks the F16 or BF16 up that lies nearest to x, of two the even one.
func nearest(x float64, value func(uint16) float32, infinity uint16) uint16 {
	sign, low, high := uint16(0), uint16(0), infinity
	if math.Signbit(x) {
		sign, x = 1<<15, -x
	}
	for low < high { // the least that is not below x
		if mid := (low + high) / 2; float64(value(mid)) < x {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == 0 {
		return sign
	}
	above := float64(value(low))
	if low == infinity { // counts as the number that would come next
		above = 2*float64(value(infinity-1)) - float64(value(infinity-2))
	}
	below := float64(value(low - 1))
	if x-below < above-x || x-below == above-x && low%2 == 1 {
		low--
	}
	return sign | low
}

func TestEncodeRoundsToTheNearest(t *testing.T) {
	brain := func(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }
	r := rand.New(rand.NewPCG(3, 0))
	for range 200000 {
		x := math.Float32frombits(r.Uint32())
		if r.IntN(2) == 0 { // within F16's range, half of them between two of them
			x = math.Float32frombits(uint32(127-26+r.IntN(44))<<23 | r.Uint32()&[]uint32{1<<23 - 1, 0x7ff000}[r.IntN(2)] | r.Uint32()&(1<<31))
		}
		half, bf16 := binary.LittleEndian.Uint16(Encode(F16, []float32{x})), binary.LittleEndian.Uint16(Encode(BF16, []float32{x}))
		if x != x {
			if back := tensor.Half(half); back == back {
				t.Fatalf("NaN %x is %x as F16", math.Float32bits(x), half)
			}
			if back := brain(bf16); back == back {
				t.Fatalf("NaN %x is %x as BF16", math.Float32bits(x), bf16)
			}
			continue
		}
		if want := nearest(float64(x), tensor.Half, 0x7c00); half != want {
			t.Fatalf("%v (%x) is %x as F16, want %x", x, math.Float32bits(x), half, want)
		}
		if want := nearest(float64(x), brain, 0x7f80); bf16 != want {
			t.Fatalf("%v (%x) is %x as BF16, want %x", x, math.Float32bits(x), bf16, want)
		}
	}
}

// Rounding in place is what encoding and reading give.
func TestRoundBF16(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 0))
	values := make([]float32, 100000)
	for i := range values {
		values[i] = math.Float32frombits(r.Uint32())
	}
	encoded := Encode(BF16, values)
	RoundBF16(values)
	for i, v := range values {
		if got, want := math.Float32bits(v), uint32(binary.LittleEndian.Uint16(encoded[2*i:]))<<16; got != want {
			t.Fatalf("number %d is %x, want %x", i, got, want)
		}
	}
}

// What a format can hold comes back as it was.
func TestEncodeKeepsWhatFits(t *testing.T) {
	for _, f := range []Format{F32, F16, BF16, Q8} {
		row := make([]float32, 64)
		for i := range row {
			row[i] = float32(i*4 - 127) // d is 1 in both blocks
		}
		row[0], row[63] = -127, 127
		got := make([]float32, len(row))
		m, err := NewMatrix(f, 1, len(row), Encode(f, row))
		if err != nil {
			t.Fatal(err)
		}
		Row(got, &m, 0)
		for i, want := range row {
			if got[i] != want {
				t.Errorf("%v: %v came back as %v", f, want, got[i])
			}
		}
	}
}

// BenchmarkEncode is what loading does where it converts.
func BenchmarkEncode(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 0))
	values := make([]float32, 1<<16)
	for i := range values {
		values[i] = float32(r.NormFloat64())
	}
	for _, f := range []Format{F32, F16, BF16, Q8} {
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(4 * int64(len(values)))
			for b.Loop() {
				Encode(f, values)
			}
		})
	}
}

package kernels

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

func TestEveryHalfThereAndBack(t *testing.T) {
	for h := range 1 << 16 {
		x := tensor.Half(uint16(h))
		if got := toHalf(x); got != uint16(h) && (x == x || got&0x7c00 != 0x7c00 || got&0x3ff == 0) {
			t.Fatalf("half %#04x is %v, and that %#04x", h, x, got)
		}
	}
}

// The half of a float32 is the nearest one, of two the even one: looked for among all.
func TestHalfIsTheNearest(t *testing.T) {
	r := random(11)
	all := make([]float64, 0x7c01) // by bits, which have the order of the values; the last stands for what is infinite
	for h := range all {
		all[h] = float64(tensor.Half(uint16(h)))
	}
	all[0x7c00] = 65536
	for n := range 200_000 {
		bits := r.Uint32() &^ (1 << 31)
		if n%2 == 0 { // about as large as halves are
			bits = (127-27+bits%45)<<23 | r.Uint32()>>9
		}
		if n%8 == 0 { // halfway between two
			h := r.IntN(0x7c00)
			bits = math.Float32bits(float32((all[h] + all[h+1]) / 2))
		}
		x := math.Float32frombits(bits)
		if x != x {
			continue
		}
		high, _ := slices.BinarySearch(all, float64(x))
		want := uint16(min(high, 0x7c00))
		if high > 0 && high <= 0x7c00 {
			below, above := float64(x)-all[high-1], all[high]-float64(x)
			if below < above || below == above && high%2 == 1 {
				want--
			}
		}
		if got := toHalf(x); got != want {
			t.Fatalf("half of %v (%#08x) is %#04x, want %#04x", x, bits, got, want)
		}
		if got := toHalf(-x); got != want|0x8000 {
			t.Fatalf("half of %v is %#04x, want %#04x", -x, got, want|0x8000)
		}
	}
}

// The golden is what Python's gguf makes of rows: scripts/q8_golden.py wrote it, in an
// environment with numpy and gguf. To write it anew:
//
//	python scripts/q8_golden.py
func TestQuantizeIsGGUFs(t *testing.T) {
	raw, err := os.ReadFile("testdata/q8.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name        string
		Float32, Q8 []byte
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 5 {
		t.Fatalf("%d cases, want those of the script", len(cases))
	}
	for _, c := range cases {
		values := make([]float32, len(c.Float32)/4)
		widen(values, F32, c.Float32)
		if got := Quantize(values); !slices.Equal(got, c.Q8) {
			t.Errorf("%s: %v, want %v", c.Name, got, c.Q8)
		}
	}
}

func TestQuantizeOfWhatGGUFLeavesOpen(t *testing.T) {
	zeros := make([]float32, blockCols)
	with := func(x float32) []float32 {
		v := slices.Repeat([]float32{1}, blockCols)
		v[9] = x
		return v
	}
	for _, test := range []struct {
		values []float32
		d      uint16
	}{
		{zeros, 0}, {slices.Repeat([]float32{1e-38}, blockCols), 0},
		{with(float32(math.NaN())), 0x7e00}, {with(float32(math.Inf(1))), 0x7e00}, {with(float32(math.Inf(-1))), 0x7e00},
	} {
		got := Quantize(test.values)
		if d := uint16(got[0]) | uint16(got[1])<<8; d&0x7fff != test.d || slices.ContainsFunc(got[2:], func(b byte) bool { return b != 0 }) {
			t.Errorf("%v: %v, want d %#04x and q 0", test.values, got, test.d)
		}
	}
	if got := Quantize(with(3e38)); got[0] != 0 || got[1] != 0x7c || got[2+9] != 127 {
		t.Errorf("a block of 3e38: %v, want d infinite, the largest q 127", got)
	}
	if got := Quantize(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// Activations keep d as it is and round halves to even: blocks against one by one in
// float64, whatever the implementation.
func TestActivationsOfQ8(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(12)
		x := normal(r, 50*blockCols)
		clear(x[:blockCols])
		for i := range blockCols {
			x[blockCols+i] = float32(i) - 15.5 // halves
			x[2*blockCols+i] = 1e-40           // too small to be divided by
		}
		x[2*blockCols-1] = 127
		x[3*blockCols+5] = float32(math.NaN())
		x[4*blockCols+31] = float32(math.Inf(-1))
		x[5*blockCols] = 3e38
		var in Input
		in.Set(Q8, x, 1, len(x))
		for b, d := range in.scales {
			checkBlock(t, b, x[b*blockCols:][:blockCols], in.ints[b*blockCols:][:blockCols], d)
		}
	})
}

func checkBlock(t *testing.T, b int, x []float32, ints []int8, d float32) {
	t.Helper()
	var top, sum float64
	for _, v := range x {
		top = max(top, math.Abs(float64(v)))
		sum += float64(v)
	}
	want := float32(top) / 127
	switch {
	case sum-sum != 0:
		want = float32(math.NaN())
	case 1/want > math.MaxFloat32:
		want = 0
	}
	if !sameBits(d, want) {
		t.Errorf("block %d: d %v, want %v", b, d, want)
	}
	for i, q := range ints {
		var n float64
		if want > 0 {
			n = math.RoundToEven(float64(x[i] * (1 / want)))
		}
		if float64(q) != n {
			t.Errorf("block %d: %v of d %v is %d, want %v", b, x[i], d, q, n)
		}
	}
}

// Numbers beside the halves are where rounding goes wrong.
func TestRoundAway(t *testing.T) {
	for n := float32(-128); n <= 128; n += 0.5 {
		for x, steps := math.Nextafter32(math.Nextafter32(n, -200), -200), 0; steps < 5; x, steps = math.Nextafter32(x, 200), steps+1 {
			if got, want := roundAway(x), int32(math.Round(float64(x))); got != want {
				t.Errorf("%v becomes %d, want %d", x, got, want)
			}
		}
	}
	r := rand.New(rand.NewPCG(5, 0))
	for range 100000 {
		x := r.Float32()*256 - 128
		if got, want := roundAway(x), int32(math.Round(float64(x))); got != want {
			t.Errorf("%v becomes %d, want %d", x, got, want)
		}
	}
}

//go:build cuda

package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// unit is float32's rounding error, relative to the number: half of its last place.
const unit = 1.0 / (1 << 24)

// device has kernels launched, by a test's function that runs on the driver's thread; an error ends that
// by a panic, which Run hands on.
type device struct {
	*Set
	t    *driver.Thread
	held map[uint64]driver.Buffer
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// inOrders runs a test on the fake driver with every order of threads.
func inOrders(t *testing.T, test func(d *device)) {
	t.Helper()
	for _, order := range drivertest.Orders {
		t.Run(order, func(t *testing.T) {
			t.Setenv("FAKECUDA_ORDER", order)
			onDevice(t, test)
		})
	}
}

func onDevice(t *testing.T, test func(d *device)) {
	t.Helper()
	err := drivertest.Open(t).Run(func(th *driver.Thread) (err error) {
		defer func() {
			if p := recover(); p != nil {
				e, ok := p.(error)
				if !ok {
					panic(p)
				}
				err = e
			}
		}()
		d := &device{t: th, held: map[uint64]driver.Buffer{}, Set: must(Load(th, 1))}
		test(d)
		d.free()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// free gives back what was put there since the last time.
func (d *device) free() {
	for _, b := range d.held {
		check(d.t.Free(b))
	}
	clear(d.held)
}

// room for so many bytes, all of them ones.
func (d *device) room(bytes int) uint64 {
	b := must(d.t.Alloc(int64(bytes)))
	d.held[b.Pointer] = b
	return b.Pointer
}

func (d *device) bytes(data []byte) uint64 {
	at := d.room(len(data))
	check(d.t.Upload(d.held[at], 0, data))
	return at
}

// put is numbers in a format, which must have them.
func (d *device) put(f Format, x []float32) uint64 {
	var data []byte
	for _, v := range x {
		if f == BF16 {
			data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
		} else {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
		}
	}
	return d.bytes(data)
}

func (d *device) floats(x []float32) uint64 { return d.put(F32, x) }

func (d *device) int32s(x []int) uint64 {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
	}
	return d.bytes(data)
}

func (d *device) int64s(x []int) uint64 {
	var data []byte
	for _, v := range x {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return d.bytes(data)
}

func (d *device) data(at uint64) []byte {
	data := make([]byte, d.held[at].Bytes)
	check(d.t.Download(data, d.held[at], 0))
	return data
}

// get is all of what lies there, in a format.
func (d *device) get(f Format, at uint64) []float32 {
	data := d.data(at)
	x := make([]float32, len(data)/f.Bytes())
	for i := range x {
		if f == BF16 {
			x[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		} else {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	}
	return x
}

func (d *device) getInts(at uint64) []int {
	data := d.data(at)
	x := make([]int, len(data)/8)
	for i := range x {
		x[i] = int(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return x
}

// normal has n numbers around zero, the same in every run, rounded to bf16 where the format is that.
func normal(r *rand.Rand, f Format, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		if f == BF16 {
			x[i] = nearest(x[i])
		}
	}
	return x
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// nearest is a number rounded to bf16, ties to even: by comparing with both neighbours.
func nearest(v float32) float32 {
	if v != v {
		return v
	}
	down := math.Float32frombits(math.Float32bits(v) &^ 0xffff)
	up := math.Float32frombits(math.Float32bits(down) + 0x10000)
	next := float64(up)
	if math.IsInf(next, 0) { // the distance to it is that to the number that would come next
		next = math.Copysign(0x1p128, next)
	}
	below, above := math.Abs(float64(v)-float64(down)), math.Abs(next-float64(v))
	if math.IsInf(float64(v), 0) || below < above || below == above && math.Float32bits(down)>>16&1 == 0 {
		return down
	}
	return up
}

// differs ends a test's function, and so the test.
func differs(format string, values ...any) { panic(fmt.Errorf(format, values...)) }

// near ends the test where a number is further from what is wanted than its tolerance.
func near(what string, got []float32, want, tolerance []float64) {
	if len(got) != len(want) {
		differs("%s: %d numbers, expected %d", what, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(float64(v)-want[i]) <= tolerance[i]) {
			differs("%s: number %d is %v, expected %v within %.2g", what, i, v, want[i], tolerance[i])
		}
	}
}

// same ends the test where bits differ; NaNs are all alike.
func same(what string, got, want []float32) {
	if len(got) != len(want) {
		differs("%s: %d numbers, expected %d", what, len(got), len(want))
	}
	for i, v := range got {
		if math.Float32bits(v) != math.Float32bits(want[i]) && (v == v || want[i] == want[i]) {
			differs("%s: number %d is %v, expected the bits of %v", what, i, v, want[i])
		}
	}
}

// repeat is a tolerance for n numbers.
func repeat(v float64, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

func name(f Format, parts ...any) string { return fmt.Sprint(append([]any{f}, parts...)...) }

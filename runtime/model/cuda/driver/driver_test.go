//go:build cuda

package driver_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// probes is the PTX of ../fakecuda/probes.
func probes(t testing.TB) []byte {
	t.Helper()
	ptx, err := os.ReadFile("testdata/probes.ptx")
	if err != nil {
		t.Fatal(err)
	}
	return ptx
}

func floatBytes(x []float32) []byte {
	b := make([]byte, 0, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func floats(b []byte) []float32 {
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return x
}

// must ends a function given to Run by a panic that Run hands on; what it can return stays readable so.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// run runs f; an error that it panics with is returned.
func run(d *driver.Device, f func(t *driver.Thread)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(error)
			if !ok {
				panic(p)
			}
			err = e
		}
	}()
	return d.Run(func(t *driver.Thread) error {
		f(t)
		return nil
	})
}

func kernel(t *driver.Thread, ptx []byte, name string) driver.Kernel {
	return must(must(t.Load("probes", ptx)).Kernel(name))
}

// upload makes a buffer of numbers.
func upload(t *driver.Thread, x []float32) driver.Buffer {
	b := must(t.Alloc(int64(4 * len(x))))
	check(t.Upload(b, 0, floatBytes(x)))
	return b
}

func download(t *driver.Thread, b driver.Buffer) []float32 {
	bytes := make([]byte, b.Bytes)
	check(t.Download(bytes, b, 0))
	return floats(bytes)
}

func free(t *driver.Thread, buffers ...driver.Buffer) {
	for _, b := range buffers {
		check(t.Free(b))
	}
}

func line(n int) driver.Dim { return driver.Dim{X: n, Y: 1, Z: 1} }

func random(n int) []float32 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// Memory, copies, launches, warps, barriers and both kinds of shared memory, in every order of threads.
func TestKernels(t *testing.T) {
	for _, order := range drivertest.Orders {
		t.Run(order, func(t *testing.T) {
			t.Setenv("FAKECUDA_ORDER", order)
			d := drivertest.Open(t)
			const n, block = 1000, 128
			x, y := random(n), random(n + 1)[:n]
			err := run(d, func(th *driver.Thread) {
				bx, by, sums, back := upload(th, x), upload(th, y), must(th.Alloc(8*4)), must(th.Alloc(block*4))
				check(th.Launch(kernel(th, probes(t), "axpy"), line(8), line(block), 0, by.Pointer, bx.Pointer, n, driver.F32(0.5)))
				check(th.Launch(kernel(th, probes(t), "block_sum"), line(8), line(block), 0, sums.Pointer, bx.Pointer, n))
				check(th.Launch(kernel(th, probes(t), "reversed"), line(1), line(block), block*4, back.Pointer))
				for i, got := range download(th, by) {
					if want := float32(math.FMA(0.5, float64(x[i]), float64(y[i]))); got != want {
						t.Errorf("axpy: y[%d] = %v, want %v", i, got, want)
					}
				}
				for b, got := range download(th, sums) {
					want := 0.0
					for _, v := range x[b*block : min(n, (b+1)*block)] {
						want += float64(v)
					}
					if math.Abs(float64(got)-want) > 1e-4 {
						t.Errorf("block_sum: block %d has %v, want %v", b, got, want)
					}
				}
				for i, got := range download(th, back) {
					if got != float32(block-1-i) {
						t.Errorf("reversed: %d has %v, want %d", i, got, block-1-i)
					}
				}
				free(th, bx, by, sums, back)
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A part of a buffer is a buffer too; fresh memory is no number.
func TestPartsAndFreshMemory(t *testing.T) {
	d := drivertest.Open(t)
	err := run(d, func(th *driver.Thread) {
		b := must(th.Alloc(64))
		part := driver.Buffer{Pointer: b.Pointer + 32, Bytes: 16}
		check(th.Upload(part, 4, floatBytes([]float32{5, 6})))
		got := download(th, b)
		for i, v := range got {
			want, written := map[int]float32{9: 5, 10: 6}[i]
			if written && v != want || !written && !math.IsNaN(float64(v)) {
				t.Errorf("number %d is %v, want 5 and 6 at 9 and 10, and NaN where nothing was written", i, v)
			}
		}
		free(th, b)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestInfoAndCounts(t *testing.T) {
	t.Setenv("FAKECUDA_MEMORY", "1000000")
	d := drivertest.Open(t)
	want := driver.Info{Name: "fakecuda (this machine's CPU)", Major: 9, TotalBytes: 1000000, FreeBytes: 1000000, Multiprocessors: 132, DriverVersion: 12090}
	if got := d.Info(); got != want {
		t.Errorf("info %+v, want %+v", got, want)
	}
	err := run(d, func(th *driver.Thread) {
		b := upload(th, random(32))
		check(th.Launch(kernel(th, probes(t), "reversed"), line(1), line(32), 128, b.Pointer))
		download(th, b)
		check(th.Synchronize())
		free(th, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	counts, err := d.Counts()
	if want := (driver.Counts{Launches: 1, Uploads: 1, Downloads: 1, Allocations: 1, Synchronizations: 2}); err != nil || counts != want {
		t.Errorf("counts %+v, %v, want %+v", counts, err, want)
	}
}

// Goroutines take turns, each function wholly: what one writes another never sees.
func TestConcurrentRuns(t *testing.T) {
	d := drivertest.Open(t)
	ptx := probes(t)
	var k driver.Kernel
	if err := run(d, func(th *driver.Thread) { k = kernel(th, ptx, "axpy") }); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for range 5 {
				err := run(d, func(th *driver.Thread) {
					b := upload(th, slices.Repeat([]float32{float32(g)}, 40))
					check(th.Launch(k, line(2), line(32), 0, b.Pointer, b.Pointer, 40, driver.F32(1)))
					if got := download(th, b); slices.ContainsFunc(got, func(v float32) bool { return v != float32(2*g) }) {
						t.Errorf("goroutine %d got %v, want all %d", g, got, 2*g)
					}
					free(th, b)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Runs and a Close at the same time: each run is done or finds the device closed.
func TestCloseWhileRunning(t *testing.T) {
	drivertest.Fake(t)
	d := must(driver.Open(0))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				err := run(d, func(th *driver.Thread) { free(th, upload(th, random(8))) })
				if err != nil && !errors.Is(err, driver.ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	if err := d.Close(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("second close: %v, want %v", err, driver.ErrClosed)
	}
	if _, err := d.Counts(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("counts of a closed device: %v, want %v", err, driver.ErrClosed)
	}
}

func TestThreadOutsideOfItsRun(t *testing.T) {
	d := drivertest.Open(t)
	var kept *driver.Thread
	check(d.Run(func(th *driver.Thread) error {
		kept = th
		return nil
	}))
	_, err := kept.Alloc(16)
	for _, err := range []error{err, kept.Free(driver.Buffer{}), kept.Synchronize(), kept.Launch(driver.Kernel{}, line(1), line(1), 0)} {
		if err == nil || !strings.Contains(err.Error(), "outside of the function") {
			t.Errorf("error %v, want one that the thread is over", err)
		}
	}
}

// A panic comes out of Run, in the goroutine that called it, and the device goes on.
func TestPanicComesOutOfRun(t *testing.T) {
	d := drivertest.Open(t)
	func() {
		defer func() {
			if p := recover(); fmt.Sprint(p) != "seen" {
				t.Errorf("recovered %v, want seen", p)
			}
		}()
		_ = d.Run(func(*driver.Thread) error { panic("seen") })
	}()
	if err := d.Run(func(th *driver.Thread) error { return th.Synchronize() }); err != nil {
		t.Error(err)
	}
}

// What was not freed is named at Close, with the line that allocated it, and the fake driver agrees.
func TestLeaksAreNamed(t *testing.T) {
	drivertest.Fake(t)
	report := drivertest.Report(t)
	d := must(driver.Open(0))
	check(d.Run(func(th *driver.Thread) error {
		must(th.Alloc(1000))
		return th.Free(must(th.Alloc(24)))
	}))
	err := d.Close()
	if err == nil || !strings.Contains(err.Error(), "1000 bytes at 0x") || !strings.Contains(err.Error(), "driver_test.go:") || strings.Contains(err.Error(), "24 bytes") {
		t.Errorf("close: %v, want the 1000 bytes and the place that allocated them, not the 24", err)
	}
	if got := report(); !strings.Contains(got, `"left_allocations": 0,`) || !strings.Contains(got, `"allocations": 2,`) || !strings.Contains(got, `"peak_bytes": 1024}`) {
		t.Errorf("the driver reports %q, want nothing left: Close frees it", got)
	}
}

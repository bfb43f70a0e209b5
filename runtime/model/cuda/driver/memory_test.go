//go:build cuda

package driver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// A device with too little memory says how much was asked for, is free, and was taken here; after that it goes on.
func TestOutOfMemory(t *testing.T) {
	t.Setenv("FAKECUDA_MEMORY", "10000")
	d := drivertest.Open(t)
	check(d.Run(func(th *driver.Thread) error {
		first := must(th.Alloc(6000))
		_, err := th.Alloc(5000)
		const want = "cuMemAlloc of 5000 bytes: CUDA_ERROR_OUT_OF_MEMORY (2): 4000 of 10000 are free, 6000 are allocated here"
		if !errors.Is(err, driver.ErrMemory) || err.Error() != want {
			t.Errorf("error %v, want ErrMemory: %s", err, want)
		}
		if _, err := th.Alloc(1 << 62); !errors.Is(err, driver.ErrMemory) {
			t.Errorf("2^62 bytes: %v, want ErrMemory", err)
		}
		check(th.Free(first))
		return th.Free(must(th.Alloc(5000)))
	}))
}

// What would reach outside of a buffer is refused before the driver is asked, whatever overflows.
func TestCopiesOutsideOfBuffers(t *testing.T) {
	const most = 1<<63 - 1
	d := drivertest.Open(t)
	check(d.Run(func(th *driver.Thread) error {
		b := must(th.Alloc(64))
		for _, test := range []struct {
			buffer driver.Buffer
			at     int64
			bytes  int
		}{
			{b, 0, 65}, {b, 64, 1}, {b, 65, 0}, {b, -1, 4}, {b, most, 8}, {driver.Buffer{}, 0, 4},
			{driver.Buffer{Pointer: b.Pointer, Bytes: 128}, 0, 8},
			{driver.Buffer{Pointer: b.Pointer + 60, Bytes: 8}, 0, 4},
			{driver.Buffer{Pointer: b.Pointer - 4, Bytes: 8}, 0, 4},
			{driver.Buffer{Pointer: b.Pointer, Bytes: most}, 0, 4},
			{driver.Buffer{Pointer: b.Pointer, Bytes: -1}, 0, 0},
			{driver.Buffer{Pointer: 1<<64 - 8, Bytes: 16}, 0, 4},
		} {
			up, down := th.Upload(test.buffer, test.at, make([]byte, test.bytes)), th.Download(make([]byte, test.bytes), test.buffer, test.at)
			for _, err := range []error{up, down} {
				var e *driver.Error
				if err == nil || errors.As(err, &e) {
					t.Errorf("%d bytes at %d of %v: %v, want an error that is not the driver's", test.bytes, test.at, test.buffer, err)
				}
			}
		}
		for _, freed := range []driver.Buffer{{}, {Pointer: b.Pointer + 16, Bytes: 48}, {Pointer: b.Pointer, Bytes: 32}} {
			if err := th.Free(freed); err == nil || !strings.Contains(err.Error(), "no such allocation") {
				t.Errorf("free of %v: %v, want an error", freed, err)
			}
		}
		for _, bytes := range []int64{0, -1} {
			if _, err := th.Alloc(bytes); err == nil || !strings.Contains(err.Error(), "want at least one") {
				t.Errorf("alloc of %d: %v, want an error", bytes, err)
			}
		}
		check(th.Upload(b, 64, nil))
		check(th.Download(nil, b, 64))
		check(th.Free(b))
		if err := th.Free(b); err == nil {
			t.Error("freed twice")
		}
		return nil
	}))
}

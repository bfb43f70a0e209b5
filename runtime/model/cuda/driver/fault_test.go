//go:build cuda

package driver_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// Every fault of a kernel is an error with CUDA's name, the fake driver says where it is, and the device is lost from
// then on: what comes later gives the same error, and closing it leaves nothing.
func TestFaultsOfKernels(t *testing.T) {
	const far = 1 << 30
	for _, test := range []struct {
		name, kernel string
		shift        int64 // for write_at and read_at, in floats
		code         int
		says         string // of the fake, a regular expression
	}{
		{"divergent barrier", "divergent_barrier", 0, 719, `divergent_barrier: block 0,0,0: divergence: thread \d+ is at __syncthreads in probes\.cu:\d+, thread \d+ is at __syncthreads in probes\.cu:\d+`},
		{"barrier after an exit", "early_exit", 0, 719, `early_exit: block 0,0,0: divergence: thread \d+ is at __syncthreads in probes\.cu:\d+, thread \d+ has exited`},
		{"divergent shuffle", "divergent_shuffle", 0, 719, `divergent_shuffle: block 0,0,0: divergence: thread \d+ is at __shfl_xor_sync in probes\.cu:\d+, thread \d+ is at __syncthreads`},
		{"write behind", "write_at", 4, 700, `write_at: block 0,0,0, thread 28,0,0: 0 bytes behind the end of an allocation of 128 bytes`},
		{"write before", "write_at", -1, 700, `write_at: wrote beside an allocation of 128 bytes`},
		{"write far away", "write_at", far, 700, `write_at: block 0,0,0, thread \d+,0,0: address 0x[0-9a-f]+ lies in no allocation`},
		{"read behind", "read_at", 32, 700, `read_at: block 0,0,0, thread \d+,0,0: \d+ bytes behind the end of an allocation of 128 bytes`},
		{"misaligned", "misaligned", 0, 716, `misaligned: block 0,0,0, thread \d+,0,0: a pointer is not aligned`},
		{"trap", "trapped", 0, 710, `trapped: block 0,0,0: thread 3 is at __trap in probes\.cu:\d+`},
	} {
		t.Run(test.name, func(t *testing.T) {
			drivertest.Process(t, func(t *testing.T) {
				drivertest.Fake(t)
				said, report := drivertest.Log(t), drivertest.Report(t)
				d := must(driver.Open(0))
				var out, x driver.Buffer
				err := run(d, func(th *driver.Thread) {
					out, x = must(th.Alloc(128)), upload(th, random(32))
					args := map[string][]uint64{
						"write_at":   {out.Pointer, uint64(test.shift)},
						"read_at":    {out.Pointer, x.Pointer, uint64(test.shift)},
						"misaligned": {out.Pointer, x.Pointer},
					}[test.kernel]
					if args == nil {
						args = []uint64{out.Pointer}
					}
					block := line(32)
					if test.kernel == "misaligned" {
						block = line(1)
					}
					check(th.Launch(kernel(th, probes(t), test.kernel), line(1), block, 0, args...))
					check(th.Synchronize())
				})
				var e *driver.Error
				if !errors.As(err, &e) || e.Code != test.code || !e.Sticky() || !strings.Contains(err.Error(), "the kernel launched last is "+test.kernel) {
					t.Errorf("error %v, want code %d and the kernel's name", err, test.code)
				}
				if !regexp.MustCompile(test.says).MatchString(said()) {
					t.Errorf("the driver said %q, want %q", said(), test.says)
				}
				lost(t, d, e, out, x)
				if got := report(); !strings.Contains(got, `"launches": 1,`) {
					t.Errorf("the driver reports %q, want one launch", got)
				}
			})
		})
	}
}

// lost shows that a device is lost to an error.
func lost(t *testing.T, d *driver.Device, e *driver.Error, buffers ...driver.Buffer) {
	t.Helper()
	check(d.Run(func(th *driver.Thread) error {
		_, allocErr := th.Alloc(4)
		_, loadErr := th.Load("probes", probes(t))
		errs := []error{allocErr, loadErr, th.Upload(buffers[0], 0, make([]byte, 4)), th.Download(make([]byte, 4), buffers[0], 0), th.Synchronize()}
		for _, b := range buffers {
			errs = append(errs, th.Free(b))
		}
		for i, err := range errs {
			if !errors.Is(err, e) {
				t.Errorf("call %d after it: %v, want %v", i, err, e)
			}
		}
		return nil
	}))
	if err := d.Close(); err != nil {
		t.Errorf("close: %v, want nothing left, since all was freed", err)
	}
	var again *driver.Error
	if _, err := driver.Open(0); !errors.As(err, &again) || again.Code != e.Code {
		t.Errorf("opened again: %v, want %v, which only a new process mends", err, e)
	}
}

// A barrier that is missing is seen in every order of threads.
func TestMissingBarrierShows(t *testing.T) {
	for _, order := range drivertest.Orders {
		t.Run(order, func(t *testing.T) {
			t.Setenv("FAKECUDA_ORDER", order)
			d := drivertest.Open(t)
			check(run(d, func(th *driver.Thread) {
				out := must(th.Alloc(256))
				check(th.Launch(kernel(th, probes(t), "reversed_without_barrier"), line(1), line(64), 256, out.Pointer))
				bad := 0
				for i, got := range download(th, out) {
					if got != float32(63-i) {
						bad++
					}
				}
				if bad == 0 {
					t.Error("every number is right, as if the barrier were there")
				}
				free(th, out)
			}))
		})
	}
}

// The fake looks at faults of the whole process: those of Go stay Go's.
func TestFaultsOfGoStayGos(t *testing.T) {
	drivertest.Open(t)
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "nil pointer dereference") {
			t.Errorf("recovered %v, want a nil pointer dereference", p)
		}
	}()
	var none *driver.Info
	t.Error(none.Major)
}

// A change of a kernel's source runs in a fake built of it, with the PTX of the unchanged one.
func TestChangedKernel(t *testing.T) {
	fake := drivertest.Changed(t, "../fakecuda/probes", "probes.cu", "fmaf(a, x[i], y[i])", "fmaf(a, x[i], y[i]) + 1.0f")
	drivertest.Process(t, func(t *testing.T) {
		d := drivertest.Open(t)
		check(run(d, func(th *driver.Thread) {
			b := upload(th, make([]float32, 8))
			check(th.Launch(kernel(th, probes(t), "axpy"), line(1), line(8), 0, b.Pointer, b.Pointer, 8, 0))
			if got := download(th, b); got[7] != 1 {
				t.Errorf("axpy of zeros gives %v, want 1: what the changed source adds", got[7])
			}
			free(th, b)
		}))
	}, "FANOUTBENCH_LIBCUDA="+fake)
}

// session uses every call that package driver makes.
func session(t *testing.T, ptx []byte) (err error) {
	d, err := driver.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Run(func(th *driver.Thread) (err error) {
		a, err := th.Alloc(256)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, th.Free(a)) }()
		module, err := th.Load("probes", ptx)
		if err != nil {
			return err
		}
		k, err := module.Kernel("reversed")
		if err != nil {
			return err
		}
		if err := th.Upload(a, 0, make([]byte, 256)); err != nil {
			return err
		}
		if err := th.Launch(k, line(1), line(64), 256, a.Pointer); err != nil {
			return err
		}
		return th.Download(make([]byte, 256), a, 0)
	})
}

// Each call that the driver refuses once is an error with its name and CUDA's; the next session is well and nothing
// stays behind, whatever it was that failed.
func TestInjectedFailures(t *testing.T) {
	drivertest.Fake(t)
	ptx := probes(t)
	if err := session(t, ptx); err != nil {
		t.Fatal(err)
	}
	withoutContext := []string{"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDriverGetVersion", "cuCtxCreate"}
	withContext := []string{
		"cuStreamCreate", "cuMemGetInfo", "cuMemAlloc", "cuModuleLoadData", "cuModuleGetFunction", "cuMemcpyHtoDAsync", "cuLaunchKernel", "cuMemcpyDtoHAsync",
		"cuStreamSynchronize", "cuMemFree", "cuModuleUnload", "cuStreamDestroy", "cuCtxDestroy",
	}
	for i, call := range slices.Concat(withoutContext, withContext) {
		t.Run(call, func(t *testing.T) {
			report := drivertest.Report(t)
			t.Setenv("FAKECUDA_FAIL", call+":1:304")
			err := session(t, ptx)
			var e *driver.Error
			if !errors.As(err, &e) || strings.Fields(e.Call)[0] != call || e.Name != "CUDA_ERROR_OPERATING_SYSTEM" || !strings.Contains(err.Error(), ": CUDA_ERROR_OPERATING_SYSTEM (304)") {
				t.Errorf("error %v, want %s and CUDA_ERROR_OPERATING_SYSTEM (304)", err, call)
			}
			destroyed := 0
			if i >= len(withoutContext) {
				destroyed = 1
			}
			if got := report(); strings.Count(got, "\n") != destroyed || regexp.MustCompile(`"left_allocations": [1-9]`).MatchString(got) {
				t.Errorf("contexts destroyed: %q, want %d, with nothing left in it", got, destroyed)
			}
			if err := session(t, ptx); err != nil {
				t.Errorf("the session after it: %v", err)
			}
		})
	}
}

// The n-th of several, of a kernel by its name, in the call and in the execution.
func TestInjectedFailuresAreCounted(t *testing.T) {
	drivertest.Process(t, func(t *testing.T) {
		drivertest.Fake(t)
		d := must(driver.Open(0))
		var out driver.Buffer
		err := run(d, func(th *driver.Thread) {
			out = upload(th, random(64))
			reversed, axpy := kernel(th, probes(t), "reversed"), kernel(th, probes(t), "axpy")
			for i := range 4 {
				check(th.Launch(axpy, line(1), line(64), 0, out.Pointer, out.Pointer, 64, 0))
				err := th.Launch(reversed, line(1), line(64), 256, out.Pointer)
				if (err != nil) != (i == 2) || err != nil && err.Error() != "cuLaunchKernel reversed: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)" {
					t.Errorf("launch %d: %v, want the third to be refused", i, err)
				}
				if err != nil {
					check(th.Synchronize()) // 701 leaves the device as it was
				}
			}
			if err := th.Synchronize(); fmt.Sprint(err) != "cuStreamSynchronize: CUDA_ERROR_LAUNCH_FAILED (719): the kernel launched last is reversed" {
				t.Errorf("synchronize: %v, want the failure of the third reversed that was executed", err)
			}
			_ = th.Free(out)
		})
		check(err)
		check(d.Close())
	}, "FAKECUDA_FAIL=cuLaunchKernel/reversed:3:701,kernel/reversed:3:719")
}

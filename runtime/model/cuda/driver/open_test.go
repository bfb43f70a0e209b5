//go:build cuda

package driver_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// Every way in which there is no device is an error that says what is there and what is wanted.
func TestOpenSaysWhatIsMissing(t *testing.T) {
	for _, test := range []struct {
		name      string
		variables []string
		ordinal   int
		want      []string
		is        error
	}{
		{name: "no library", variables: []string{"FANOUTBENCH_LIBCUDA=/nowhere/libcuda.so.1"}, is: driver.ErrNoDriver,
			want: []string{"/nowhere/libcuda.so.1: cannot open shared object file", "install NVIDIA's driver", "CUDA 12.9 or later", "--device cpu"}},
		{name: "another library", variables: []string{"FANOUTBENCH_LIBCUDA=libm.so.6"}, is: driver.ErrNoDriver, want: []string{"libm.so.6 is loaded and has no cuInit"}},
		{name: "cuInit fails", variables: []string{"FAKECUDA_FAIL=cuInit:1:803"}, want: []string{"cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"}},
		{name: "code without a name", variables: []string{"FAKECUDA_FAIL=cuInit:1:12345"}, want: []string{"cuInit: an error without a name (12345)"}},
		{name: "no device", variables: []string{"FAKECUDA_DEVICES=0"}, want: []string{"cuInit: CUDA_ERROR_NO_DEVICE (100)", "nvidia-smi -L", "CUDA_VISIBLE_DEVICES"}},
		{name: "second device", ordinal: 1, want: []string{"CUDA device 1: there are 1 devices, want a number from 0 to 0"}},
		{name: "negative", ordinal: -1, want: []string{"CUDA device -1: there are 1 devices"}},
		{name: "old device", variables: []string{"FAKECUDA_CAPABILITY=7.5"}, want: []string{"has compute capability 7.5, want at least 8.0"}},
		{name: "old driver", variables: []string{"FAKECUDA_DRIVER=12040"}, want: []string{"the driver is of CUDA 12.4, want 12.9 or later"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			drivertest.Process(t, func(t *testing.T) {
				drivertest.Fake(t)
				d, err := driver.Open(test.ordinal)
				if err == nil {
					t.Fatalf("opened %v", d.Info())
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %q, want it to say %q", err, want)
					}
				}
				if errors.Is(err, driver.ErrNoDriver) != (test.is != nil) {
					t.Errorf("error %q is ErrNoDriver: %v", err, errors.Is(err, driver.ErrNoDriver))
				}
			}, test.variables...)
		})
	}
}

// A libcuda whose cuInit failed once is asked again.
func TestOpenAgainAfterInitFailed(t *testing.T) {
	t.Setenv("FAKECUDA_FAIL", "cuInit:1:999")
	drivertest.Fake(t)
	var e *driver.Error
	if _, err := driver.Open(0); !errors.As(err, &e) || e.Call != "cuInit" || e.Code != 999 {
		t.Fatalf("error %v, want that of cuInit", err)
	}
	if err := drivertest.Open(t).Run(func(th *driver.Thread) error { return th.Synchronize() }); err != nil {
		t.Error(err)
	}
}

// A process has one libcuda.
func TestOneLibraryAProcess(t *testing.T) {
	drivertest.Open(t)
	t.Setenv("FANOUTBENCH_LIBCUDA", "/elsewhere/libcuda.so.1")
	if _, err := driver.Open(0); err == nil || !strings.Contains(err.Error(), "/elsewhere/libcuda.so.1, but this process has loaded") {
		t.Errorf("error %v, want one that names both libraries", err)
	}
}

// The fake lacks what nobody calls here; it has what this package calls.
func TestMissingFunctions(t *testing.T) {
	drivertest.Open(t)
	missing := strings.Join(driver.Missing(), " ")
	if !strings.Contains(missing, "cuArrayCreate_v2") || strings.Contains(missing, "cuLaunchKernel") {
		t.Errorf("missing %q, want cuArrayCreate_v2 and not cuLaunchKernel", missing)
	}
}

// Two devices at once are two contexts: each sees its own memory and modules only, and says so.
func TestTwoContexts(t *testing.T) {
	a, b := drivertest.Open(t), drivertest.Open(t)
	ptx := probes(t)
	var ofA driver.Buffer
	var kernelOfA driver.Kernel
	check(run(a, func(th *driver.Thread) { ofA, kernelOfA = upload(th, random(64)), kernel(th, ptx, "reversed") }))
	err := run(b, func(th *driver.Thread) {
		if err := th.Upload(ofA, 0, make([]byte, 4)); err == nil || !strings.Contains(err.Error(), "this device has no such allocation") {
			t.Errorf("upload to the other's buffer: %v", err)
		}
		if err := th.Download(make([]byte, 4), ofA, 0); err == nil || !strings.Contains(err.Error(), "this device has no such allocation") {
			t.Errorf("download of the other's buffer: %v", err)
		}
		if err := th.Free(ofA); err == nil || !strings.Contains(err.Error(), "this device has no such allocation") {
			t.Errorf("free of the other's buffer: %v", err)
		}
		ofB := upload(th, random(64))
		var e *driver.Error
		if err := th.Launch(kernelOfA, line(1), line(64), 256, ofB.Pointer); !errors.As(err, &e) || e.Name != "CUDA_ERROR_INVALID_HANDLE" {
			t.Errorf("launch of the other's kernel: %v, want CUDA_ERROR_INVALID_HANDLE", err)
		}
		check(th.Launch(kernel(th, ptx, "reversed"), line(1), line(64), 256, ofB.Pointer))
		if got := download(th, ofB); got[0] != 63 {
			t.Errorf("the second device computes %v, want 63 first", got[0])
		}
		free(th, ofB)
	})
	if err != nil {
		t.Fatal(err)
	}
	check(run(a, func(th *driver.Thread) {
		if got := download(th, ofA); got[0] != random(64)[0] {
			t.Errorf("the first device's memory has %v, want what it wrote", got[0])
		}
		free(th, ofA)
	}))
}

// A kernel that is given the memory of another context reaches nothing.
func TestPointerOfAnotherContext(t *testing.T) {
	drivertest.Process(t, func(t *testing.T) {
		drivertest.Fake(t)
		said := drivertest.Log(t)
		a, b := must(driver.Open(0)), must(driver.Open(0))
		var ofA driver.Buffer
		check(run(a, func(th *driver.Thread) { ofA = upload(th, random(64)) }))
		err := run(b, func(th *driver.Thread) {
			check(th.Launch(kernel(th, probes(t), "reversed"), line(1), line(64), 256, ofA.Pointer))
			check(th.Synchronize())
		})
		var e *driver.Error
		if !errors.As(err, &e) || e.Name != "CUDA_ERROR_ILLEGAL_ADDRESS" || !strings.Contains(said(), "of another context") {
			t.Errorf("error %v, the driver said %q; want an illegal address, of another context", err, said())
		}
	})
}

//go:build cuda

package driver_test

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
)

// Modules that no driver would take, or not this one.
func TestLoadRefuses(t *testing.T) {
	d := drivertest.Open(t)
	ptx := probes(t)
	edit := func(pattern, with string) []byte {
		edited := regexp.MustCompile(pattern).ReplaceAll(ptx, []byte(with))
		if bytes.Equal(edited, ptx) {
			t.Fatalf("%s is not in the PTX", pattern)
		}
		return edited
	}
	for _, test := range []struct {
		name string
		ptx  []byte
		want string
	}{
		{"nothing", nil, "PTX nothing: it has no line with its .version"},
		{"no kernel", []byte(".version 8.8\n.target sm_80\n"), "PTX no kernel: it has no kernel"},
		{"zero byte", append([]byte{0}, ptx...), "PTX zero byte: it has a zero byte"},
		{"struct", edit(`\.param \.f32 axpy_param_3`, ".param .align 8 .b8 axpy_param_3[24]"), "want at most 64 bits: no struct by value"},
		{"twice", edit(`\.entry reversed\(`, ".entry axpy("), "it has kernel axpy twice"},
		{"too new", edit(`\.version \d+\.\d+`, ".version 9.3"), "cuModuleLoadData too new: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222): the module is PTX 9.3, the driver of CUDA 12.9; install a newer driver"},
		{"other device", edit(`\.target sm_80`, ".target sm_100"), "cuModuleLoadData other device: CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
		{"other sources", edit(`sources-sha256: [0-9a-f]{4}`, "sources-sha256: 0000"), "cuModuleLoadData other sources: CUDA_ERROR_INVALID_SOURCE (300)"},
		{"no hash", edit(`// sources-sha256: .*`, "//"), "cuModuleLoadData no hash: CUDA_ERROR_INVALID_SOURCE (300)"},
		{"unknown kernel", edit(`\.entry axpy\(`, ".entry axpz("), "cuModuleLoadData unknown kernel: CUDA_ERROR_NOT_FOUND (500)"},
		{"other parameters", edit(`\.param \.f32 axpy_param_3`, ".param .u64 axpy_param_3"), "cuModuleLoadData other parameters: CUDA_ERROR_INVALID_PTX (218)"},
	} {
		err := d.Run(func(th *driver.Thread) error {
			_, err := th.Load(test.name, test.ptx)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

// What a device cannot launch is refused with what it can.
func TestLaunchRefuses(t *testing.T) {
	d := drivertest.Open(t)
	check(run(d, func(th *driver.Thread) {
		module := must(th.Load("probes", probes(t)))
		if _, err := module.Kernel("absent"); err == nil || err.Error() != "PTX probes has no kernel absent" {
			t.Errorf("absent kernel: %v", err)
		}
		reversed, out := must(module.Kernel("reversed")), must(th.Alloc(256))
		for _, test := range []struct {
			kernel      driver.Kernel
			grid, block driver.Dim
			shared      int
			args        []uint64
			want        string
		}{
			{reversed, line(1), line(32), 128, nil, "launch of reversed: want 1 arguments, got 0"},
			{reversed, line(1), line(32), 128, []uint64{out.Pointer, 1}, "want 1 arguments, got 2"},
			{reversed, line(0), line(32), 128, []uint64{out.Pointer}, "want a grid from 1,1,1 to 2147483647,65535,65535, got 0,1,1"},
			{reversed, driver.Dim{X: 1, Y: 65536, Z: 1}, line(32), 128, []uint64{out.Pointer}, "got 1,65536,1"},
			{reversed, line(1), line(1025), 128, []uint64{out.Pointer}, "want a block of 1 to 1024 threads, at most 64 of them in Z, got 1025,1,1"},
			{reversed, line(1), driver.Dim{X: 32, Y: 33, Z: 1}, 128, []uint64{out.Pointer}, "got 32,33,1"},
			{reversed, line(1), driver.Dim{X: 1, Y: 1, Z: 65}, 128, []uint64{out.Pointer}, "got 1,1,65"},
			{reversed, line(1), driver.Dim{}, 128, []uint64{out.Pointer}, "got 0,0,0"},
			{reversed, line(1), line(32), 49153, []uint64{out.Pointer}, "want 0 to 49152 bytes of shared memory, got 49153"},
			{reversed, line(1), line(32), -1, []uint64{out.Pointer}, "got -1"},
			{driver.Kernel{}, line(1), line(32), 0, nil, "a kernel from Module.Kernel"},
		} {
			if err := th.Launch(test.kernel, test.grid, test.block, test.shared, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("launch: %v, want %q", err, test.want)
			}
		}
		// Static and dynamic memory together are more than a block has: only the driver knows the first.
		sum := must(module.Kernel("block_sum"))
		var e *driver.Error
		if err := th.Launch(sum, line(1), line(32), 48<<10, out.Pointer, out.Pointer, 0); !errors.As(err, &e) || e.Name != "CUDA_ERROR_INVALID_VALUE" || e.Call != "cuLaunchKernel block_sum" {
			t.Errorf("too much shared memory: %v, want CUDA_ERROR_INVALID_VALUE from cuLaunchKernel block_sum", err)
		}
		free(th, out)
	}))
}

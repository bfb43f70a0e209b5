//go:build cuda

package driver

// #cgo LDFLAGS: -lcuda -ldl
// #include <stdlib.h>
// #include "../shim/shim.h"
// extern int cuGetErrorName(int code, const char **name);
// extern int cuDriverGetVersion(int *version);
import "C"

import (
	"fmt"
	"os"
	"sync"
	"unsafe"
)

// libraryVariable names the libcuda to load instead of the system's.
const libraryVariable = "FANOUTBENCH_LIBCUDA"

// MinimumDriver is the oldest driver that Open takes, as cuDriverGetVersion counts: it reads the PTX that NVRTC 12.9
// writes, 8.8.
const MinimumDriver = 12090

var library struct {
	sync.Mutex
	loaded string
}

// load loads libcuda, once a process, and calls its cuInit.
func load() error {
	library.Lock()
	defer library.Unlock()
	name := os.Getenv(libraryVariable)
	if name == "" {
		name = "libcuda.so.1"
	}
	if library.loaded != "" && library.loaded != name {
		return fmt.Errorf("%s=%s, but this process has loaded %s already", libraryVariable, name, library.loaded)
	}
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var why *C.char
	code := int(C.cuda_shim_load(path, &why))
	switch {
	case code == C.CUDA_SHIM_NO_LIBRARY:
		return fmt.Errorf("%w: %s; install NVIDIA's driver, of CUDA %s or later (the package of Debian and Ubuntu that has libcuda.so.1 is libcuda1 or libnvidia-compute-NNN), or use --device cpu",
			ErrNoDriver, C.GoString(why), versionText(MinimumDriver))
	case code == C.CUDA_SHIM_NO_INIT:
		library.loaded = name
		return fmt.Errorf("%w: %s is loaded and has no cuInit; want NVIDIA's libcuda.so.1", ErrNoDriver, name)
	}
	library.loaded = name
	if code == 0 {
		return nil
	}
	err := &Error{Call: "cuInit", Code: code, Name: errorName(code)}
	if code == codeNoDevice {
		err.Detail = "the driver is there and finds no device; nvidia-smi -L lists what it can use, CUDA_VISIBLE_DEVICES may hide it"
	}
	return err
}

// errorName is CUDA's name of a code, empty where the driver does not know it.
func errorName(code int) string {
	var name *C.char
	if C.cuGetErrorName(C.int(code), &name) != 0 || name == nil {
		return ""
	}
	return C.GoString(name)
}

// driverVersion is the CUDA version of the driver, 12090 for 12.9. gorgonia.org/cu has this call too, and keeps its error to itself.
func driverVersion() (int, error) {
	var reported C.int
	if code := int(C.cuDriverGetVersion(&reported)); code != 0 {
		return 0, &Error{Call: "cuDriverGetVersion", Code: code, Name: errorName(code)}
	}
	version := int(reported)
	if version < MinimumDriver {
		return version, fmt.Errorf("the driver is of CUDA %s, want %s or later, which reads the PTX of these kernels; install a newer driver", versionText(version), versionText(MinimumDriver))
	}
	return version, nil
}

func versionText(version int) string { return fmt.Sprintf("%d.%d", version/1000, version%1000/10) }

// Missing has the functions that the loaded libcuda lacks of those that a program with this package is linked with:
// gorgonia.org/cu has calls that an older or newer driver does not. Calling one is CUDA_ERROR_NOT_FOUND. Before Open
// has loaded a library there are none.
func Missing() []string {
	library.Lock()
	defer library.Unlock()
	var names []string
	for i := C.uint(0); ; i++ {
		name := C.cuda_shim_missing(i)
		if name == nil {
			return names
		}
		names = append(names, C.GoString(name))
	}
}

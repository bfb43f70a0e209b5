//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"reflect"
)

// What Open, Run and Alloc return beside an [*Error], to be asked for with errors.Is.
var (
	ErrNoDriver = errors.New("no CUDA driver")
	ErrMemory   = errors.New("not enough device memory")
	ErrClosed   = errors.New("the device is closed")
)

// CUDA's codes that this package asks for (CUresult in cuda.h).
const (
	codeOutOfMemory     = 2
	codeNoDevice        = 100
	codeECC             = 214
	codePTXVersion      = 222
	codeIllegalAddress  = 700
	codeLaunchFailed    = 719
	codeLaunchResources = 701
)

// Error is what the driver said.
type Error struct {
	Call   string // the function of the driver, and what it was called for: "cuLaunchKernel matvec_bf16"
	Code   int    // CUDA's
	Name   string // CUDA's, as CUDA_ERROR_LAUNCH_FAILED; empty where this driver has no name for the code
	Detail string // what else is known, may be empty
}

func (e *Error) Error() string {
	name := e.Name
	if name == "" {
		name = "an error without a name"
	}
	text := fmt.Sprintf("%s: %s (%d)", e.Call, name, e.Code)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is says that an error for want of memory is ErrMemory.
func (e *Error) Is(target error) bool { return target == ErrMemory && e.Code == codeOutOfMemory }

// Sticky says whether every later call of this process fails too, as cuda.h says of the errors of kernels.
// Of what a kernel's launch can return from 700 to 719 only 701, too many registers or threads, leaves the
// device as it was.
func (e *Error) Sticky() bool {
	return e.Code == codeECC || e.Code >= codeIllegalAddress && e.Code <= codeLaunchFailed && e.Code != codeLaunchResources
}

// failed makes an [*Error] of one of gorgonia.org/cu, whose codes have a type of their own that it does not
// export. Nil stays nil.
func failed(call string, err error) error {
	if err == nil {
		return nil
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		code := int(v.Int())
		return &Error{Call: call, Code: code, Name: errorName(code)}
	}
	return fmt.Errorf("%s: %w", call, err)
}

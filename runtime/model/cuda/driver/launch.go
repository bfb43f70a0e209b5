//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// Dim is the size of a grid in blocks, or of a block in threads. Each is at least 1.
type Dim struct{ X, Y, Z int }

func (d Dim) String() string { return fmt.Sprintf("%d,%d,%d", d.X, d.Y, d.Z) }

// What a launch may ask for, of all devices since compute capability 3.0 (CUDA's table of technical specifications).
const (
	maxThreads = 1024      // of a block, and in its X and Y
	maxBlockZ  = 64        // threads
	maxGridX   = 1<<31 - 1 // blocks
	maxGridYZ  = 65535
	maxShared  = 48 << 10 // bytes, static ones included
)

// Module is loaded PTX. It stays until the device is closed.
type Module struct {
	t       *Thread
	name    string
	module  cu.Module
	entries map[string]int // kernels and the number of their parameters
}

// Kernel is a function of a module that can be launched.
type Kernel struct {
	name       string
	function   cu.Function
	parameters int
}

// Load loads PTX, compiling it for the device. The name is for errors. A driver too old for it is named with what it would take.
func (t *Thread) Load(name string, ptx []byte) (*Module, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	text, err := parsePTX(ptx)
	if err != nil {
		return nil, fmt.Errorf("PTX %s: %w", name, err)
	}
	module, err := cu.LoadData(string(ptx))
	if err := t.check(failed("cuModuleLoadData "+name, err)); err != nil {
		var e *Error
		if errors.As(err, &e) && e.Code == codePTXVersion {
			e.Detail = fmt.Sprintf("the module is PTX %s, the driver of CUDA %s; install a newer driver", text.version, versionText(t.d.info.DriverVersion))
		}
		return nil, err
	}
	t.d.modules = append(t.d.modules, module)
	return &Module{t: t, name: name, module: module, entries: text.entries}, nil
}

// Kernel finds a kernel by its name, in the function in which the module was loaded.
func (m *Module) Kernel(name string) (Kernel, error) {
	if err := m.t.usable(); err != nil {
		return Kernel{}, err
	}
	parameters, ok := m.entries[name]
	if !ok {
		return Kernel{}, fmt.Errorf("PTX %s has no kernel %s", m.name, name)
	}
	function, err := m.module.Function(name)
	if err := m.t.check(failed("cuModuleGetFunction "+name, err)); err != nil {
		return Kernel{}, err
	}
	return Kernel{name, function, parameters}, nil
}

// Launch puts a kernel into the stream, with that many bytes of dynamic shared memory. Each argument is a slot: see the package documentation.
func (t *Thread) Launch(k Kernel, grid, block Dim, shared int, args ...uint64) error {
	if err := t.usable(); err != nil {
		return err
	}
	if err := k.check(grid, block, shared, len(args)); err != nil {
		return err
	}
	t.d.slots = append(t.d.slots[:0], args...)
	pointers := t.d.pointers[:0]
	for i := range t.d.slots {
		pointers = append(pointers, unsafe.Pointer(&t.d.slots[i]))
	}
	t.d.pointers = pointers
	t.d.launched = k.name
	t.d.counts.Launches++
	err := k.function.Launch(grid.X, grid.Y, grid.Z, block.X, block.Y, block.Z, shared, t.d.stream, pointers)
	if err == nil {
		return nil
	}
	return t.check(failed("cuLaunchKernel "+k.name, err))
}

func (k Kernel) check(grid, block Dim, shared, args int) error {
	var wrong []string
	want := func(ok bool, format string, values ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, values...))
		}
	}
	want(k.name != "", "a kernel from Module.Kernel")
	want(args == k.parameters, "%d arguments, got %d", k.parameters, args)
	want(grid.X >= 1 && grid.X <= maxGridX && grid.Y >= 1 && grid.Y <= maxGridYZ && grid.Z >= 1 && grid.Z <= maxGridYZ,
		"a grid from 1,1,1 to %d,%d,%d, got %v", maxGridX, maxGridYZ, maxGridYZ, grid)
	want(block.X >= 1 && block.X <= maxThreads && block.Y >= 1 && block.Y <= maxThreads && block.Z >= 1 && block.Z <= maxBlockZ && block.X*block.Y*block.Z <= maxThreads,
		"a block of 1 to %d threads, at most %d of them in Z, got %v", maxThreads, maxBlockZ, block)
	want(shared >= 0 && shared <= maxShared, "0 to %d bytes of shared memory, got %d", maxShared, shared)
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("launch of %s: want %s", k.name, strings.Join(wrong, "; "))
}

// F32 is a float32 as an argument.
func F32(x float32) uint64 { return uint64(math.Float32bits(x)) }

//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// The oldest devices with what the kernels need: bf16 in tensor cores.
const minimumCapability = 8

// Info describes a device.
type Info struct {
	Name            string
	Major, Minor    int   // compute capability
	TotalBytes      int64 // of device memory
	FreeBytes       int64 // when the device was opened, by all processes
	Multiprocessors int
	DriverVersion   int // 12090 is CUDA 12.9
}

// Counts says how often a device was asked for what, since it was opened.
type Counts struct {
	Launches, Uploads, Downloads, Allocations, Synchronizations int64 // a Download counts as one synchronization too
}

// Device is one GPU with a context, a stream and the OS thread that they belong to.
type Device struct {
	info  Info
	jobs  chan job
	guard sync.RWMutex // read by whoever runs something, written by Close
	done  bool         // closed

	// What follows is the thread's.
	context  cu.CUContext
	stream   cu.Stream
	modules  []cu.Module
	book     book
	counts   Counts
	lost     *Error   // the sticky error
	launched string   // the last kernel's name
	slots    []uint64 // the arguments of a launch, and where each lies
	pointers []unsafe.Pointer
}

type job struct {
	run  func(*Thread) error
	over chan<- outcome
}

type outcome struct {
	err      error
	panicked any
}

// Thread is what a function given to [Device.Run] does things with, as long as it runs.
type Thread struct {
	d    *Device
	over bool
}

// Open opens a device by its number, 0 being the first. Its error says what is missing: a driver (ErrNoDriver), a
// device, a device of compute capability 8.0, a driver of CUDA 12.9.
func Open(ordinal int) (*Device, error) {
	d := &Device{jobs: make(chan job)}
	opened := make(chan error)
	go d.serve(ordinal, opened)
	if err := <-opened; err != nil {
		return nil, fmt.Errorf("CUDA device %d: %w", ordinal, err)
	}
	return d, nil
}

// serve is the device's goroutine. Its OS thread ends with it, since the context was the thread's.
func (d *Device) serve(ordinal int, opened chan<- error) {
	runtime.LockOSThread()
	err := d.open(ordinal)
	opened <- err
	if err != nil {
		return
	}
	for j := range d.jobs {
		j.over <- d.do(j.run)
	}
}

// do runs a function; its panic goes to whoever asked for it, as if it had run there.
func (d *Device) do(f func(*Thread) error) (o outcome) {
	t := &Thread{d: d}
	defer func() {
		t.over = true
		o.panicked = recover()
	}()
	return outcome{err: f(t)}
}

func (d *Device) open(ordinal int) (err error) {
	if err := load(); err != nil {
		return err
	}
	if d.info.DriverVersion, err = driverVersion(); err != nil {
		return err
	}
	device, err := d.find(ordinal)
	if err != nil {
		return err
	}
	if d.context, err = device.MakeContext(cu.SchedAuto); err != nil {
		return failed("cuCtxCreate", err)
	}
	if d.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return errors.Join(failed("cuStreamCreate", err), failed("cuCtxDestroy", d.context.Destroy()))
	}
	if d.info.FreeBytes, d.info.TotalBytes, err = cu.MemInfo(); err != nil {
		return errors.Join(failed("cuMemGetInfo", err), failed("cuCtxDestroy", d.context.Destroy()))
	}
	return nil
}

// find looks the device up and fills in what is known without a context.
func (d *Device) find(ordinal int) (cu.Device, error) {
	count, err := cu.NumDevices()
	if err != nil {
		return 0, failed("cuDeviceGetCount", err)
	}
	if ordinal < 0 || ordinal >= count {
		return 0, fmt.Errorf("there are %d devices, want a number from 0 to %d", count, count-1)
	}
	device, err := cu.GetDevice(ordinal)
	if err != nil {
		return 0, failed("cuDeviceGet", err)
	}
	if d.info.Name, err = device.Name(); err != nil {
		return 0, failed("cuDeviceGetName", err)
	}
	for _, a := range []struct {
		attribute cu.DeviceAttribute
		to        *int
	}{
		{cu.ComputeCapabilityMajor, &d.info.Major},
		{cu.ComputeCapabilityMinor, &d.info.Minor},
		{cu.MultiprocessorCount, &d.info.Multiprocessors},
	} {
		if *a.to, err = device.Attribute(a.attribute); err != nil {
			return 0, failed("cuDeviceGetAttribute", err)
		}
	}
	if d.info.Major < minimumCapability {
		return 0, fmt.Errorf("%s has compute capability %d.%d, want at least %d.0", d.info.Name, d.info.Major, d.info.Minor, minimumCapability)
	}
	return device, nil
}

// Info says what the device is.
func (d *Device) Info() Info { return d.info }

// Run runs f on the device's thread and returns its error. Calls of several goroutines run one after the other, each
// wholly. f must not call Run or Close of the same device, which would wait for f. After Close it returns ErrClosed.
func (d *Device) Run(f func(*Thread) error) error {
	d.guard.RLock()
	defer d.guard.RUnlock()
	if d.done {
		return ErrClosed
	}
	return d.submit(f)
}

func (d *Device) submit(f func(*Thread) error) error {
	over := make(chan outcome, 1)
	d.jobs <- job{f, over}
	o := <-over
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// Counts says what the device was asked for so far.
func (d *Device) Counts() (Counts, error) {
	var c Counts
	err := d.Run(func(*Thread) error {
		c = d.counts
		return nil
	})
	return c, err
}

// Close waits for what runs and gives everything back. Its error has what was still allocated, with the places that
// allocated it, and what the driver said; the device is closed all the same.
func (d *Device) Close() error {
	d.guard.Lock()
	defer d.guard.Unlock()
	if d.done {
		return ErrClosed
	}
	d.done = true
	err := d.submit(func(t *Thread) error { return d.shut(t) })
	close(d.jobs)
	return err
}

func (d *Device) shut(t *Thread) error {
	var errs []error
	if d.lost == nil {
		errs = append(errs, t.Synchronize())
	}
	if left := d.book.left(); len(left) > 0 {
		errs = append(errs, fmt.Errorf("CUDA memory still allocated at the end: %s", strings.Join(left, "; ")))
	}
	if d.lost == nil { // a lost context takes all of it along
		for _, b := range d.book.buffers {
			errs = append(errs, t.check(failed("cuMemFree", cu.MemFree(cu.DevicePtr(b.Pointer)))))
		}
		for _, m := range d.modules {
			errs = append(errs, t.check(failed("cuModuleUnload", m.Unload())))
		}
		errs = append(errs, t.check(failed("cuStreamDestroy", d.stream.Destroy())))
	}
	lost := d.lost
	if err := failed("cuCtxDestroy", d.context.Destroy()); err != nil && lost == nil {
		errs = append(errs, err) // of a lost context it says what is known
	}
	return errors.Join(errs...)
}

// check keeps a sticky error, and adds to what came asynchronously which kernel was launched last.
func (t *Thread) check(err error) error {
	var e *Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	if e.Sticky() {
		if t.d.launched != "" && e.Detail == "" {
			e.Detail = "the kernel launched last is " + t.d.launched
		}
		if t.d.lost == nil {
			t.d.lost = e
		}
	}
	return err
}

// usable is the error that forbids any call: the function given to Run is over, or the device is lost.
func (t *Thread) usable() error {
	if t.over {
		return errors.New("a CUDA thread was used outside of the function that it was given to")
	}
	if t.d.lost != nil {
		return t.d.lost
	}
	return nil
}

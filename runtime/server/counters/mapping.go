package counters

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// word is what the file is made of behind its header.
type word = atomic.Uint64

// mapping is a mapped file. Every metric holds its mapping, which ends when the
// collector finds that nothing holds it any more: never under a metric in use.
// Who reads a file and hands nothing of it out ends it with unmap.
type mapping struct {
	words   []word
	data    []byte
	cleanup runtime.Cleanup
}

func (m *mapping) unmap() {
	m.cleanup.Stop()
	munmap(m.data)
}

func munmap(data []byte) {
	if err := unix.Munmap(data); err != nil {
		panic(fmt.Sprintf("counters: munmap: %v", err)) // a mapping that was not ours
	}
}

// createFile makes a file of the header and n words of zero, and maps it. It is
// written under another name first, for a reader must not see half of it, and
// its zeros are written, not left out: a hole that cannot be filled later, on a
// full disk, would kill the process at an addition.
func createFile(path string, header []byte, n int) (*mapping, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.new")
	if err != nil {
		return nil, err
	}
	m, err := fill(f, append(header[:len(header):len(header)], make([]byte, n*wordBytes)...), len(header), n)
	if err == nil {
		err = os.Link(f.Name(), path) // unlike a rename, fails where there is such a file
	}
	return m, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func fill(f *os.File, content []byte, at, n int) (*mapping, error) {
	if _, err := f.Write(content); err != nil {
		return nil, err
	}
	return mapFile(f, at, n, unix.PROT_READ|unix.PROT_WRITE)
}

// mapFile maps the n words that begin at byte at.
func mapFile(f *os.File, at, n, protection int) (*mapping, error) {
	data, err := unix.Mmap(int(f.Fd()), 0, at+n*wordBytes, protection, unix.MAP_SHARED)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	m := &mapping{words: unsafe.Slice((*word)(unsafe.Pointer(&data[at])), n), data: data}
	m.cleanup = runtime.AddCleanup(m, munmap, data)
	return m, nil
}

// open maps a file to read it.
func open(path string) ([]Spec, *mapping, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe of that name would block
	if err != nil {
		return nil, nil, err
	}
	specs, m, err := inspect(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, fmt.Errorf("counters %s: %w", path, err)
	}
	return specs, m, nil
}

func inspect(f *os.File) ([]Spec, *mapping, error) {
	about, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !about.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("is no regular file: %v", about.Mode())
	}
	head, err := io.ReadAll(io.LimitReader(f, maxHeader))
	if err != nil {
		return nil, nil, err
	}
	specs, header, err := parse(head)
	if err != nil {
		return nil, nil, err
	}
	n := total(specs)
	if want := int64(header + n*wordBytes); about.Size() != want {
		return nil, nil, fmt.Errorf("has %d bytes, wanted %d: a header of %d and %d words", about.Size(), want, header, n)
	}
	m, err := mapFile(f, header, n, unix.PROT_READ)
	return specs, m, err
}

// guard turns the fault of a file that was cut short while f reads it into an error.
func guard(path string, f func()) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if fault := recover(); fault != nil {
			if _, ok := fault.(interface{ Addr() uintptr }); !ok {
				panic(fault)
			}
			err = fmt.Errorf("counters %s: was cut short while it was read: %v", path, fault)
		}
	}()
	f()
	return nil
}

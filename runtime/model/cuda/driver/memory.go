//go:build cuda

package driver

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"unsafe"

	"gorgonia.org/cu"
)

// Buffer is memory of a device, or a part of it that somebody cut out: a kernel is given its Pointer. The zero Buffer is none.
type Buffer struct {
	Pointer uint64
	Bytes   int64
}

func (b Buffer) String() string { return fmt.Sprintf("%d bytes at %#x", b.Bytes, b.Pointer) }

// booked is one allocation and the place in the source that asked for it.
type booked struct {
	Buffer
	by string
}

// book has what is allocated, by address.
type book struct{ buffers []booked }

func (k *book) find(pointer uint64) (int, bool) {
	return slices.BinarySearchFunc(k.buffers, pointer, func(b booked, p uint64) int {
		switch {
		case b.Pointer < p:
			return -1
		case b.Pointer > p:
			return 1
		}
		return 0
	})
}

func (k *book) add(b booked) {
	i, _ := k.find(b.Pointer)
	k.buffers = slices.Insert(k.buffers, i, b)
}

// has says whether the buffer lies inside one allocation.
func (k *book) has(b Buffer) bool {
	i, exact := k.find(b.Pointer)
	if !exact {
		i--
	}
	if i < 0 {
		return false
	}
	from := b.Pointer - k.buffers[i].Pointer
	return from <= uint64(k.buffers[i].Bytes) && uint64(b.Bytes) <= uint64(k.buffers[i].Bytes)-from
}

func (k *book) bytes() (sum int64) {
	for _, b := range k.buffers {
		sum += b.Bytes
	}
	return sum
}

// left names every allocation.
func (k *book) left() []string {
	var names []string
	for _, b := range k.buffers {
		names = append(names, fmt.Sprintf("%v, by %s", b.Buffer, b.by))
	}
	return names
}

// Alloc reserves device memory, whose contents are undefined. Where there is too little the error is ErrMemory, with the sizes.
func (t *Thread) Alloc(bytes int64) (Buffer, error) {
	if err := t.usable(); err != nil {
		return Buffer{}, err
	}
	call := fmt.Sprintf("cuMemAlloc of %d bytes", bytes)
	if bytes <= 0 {
		return Buffer{}, fmt.Errorf("%s: want at least one", call)
	}
	pointer, err := cu.MemAlloc(bytes)
	if err := t.check(failed(call, err)); err != nil {
		return Buffer{}, t.withSizes(err)
	}
	t.d.counts.Allocations++
	b := Buffer{uint64(pointer), bytes}
	_, file, line, _ := runtime.Caller(1)
	t.d.book.add(booked{b, fmt.Sprintf("%s:%d", filepath.Base(file), line)})
	return b, nil
}

// withSizes adds to an error for want of memory how much there is.
func (t *Thread) withSizes(err error) error {
	var e *Error
	if !errors.As(err, &e) || e.Code != codeOutOfMemory {
		return err
	}
	free, total, infoErr := cu.MemInfo()
	if infoErr != nil {
		e.Detail = fmt.Sprintf("%d are allocated here", t.d.book.bytes())
	} else {
		e.Detail = fmt.Sprintf("%d of %d are free, %d are allocated here", free, total, t.d.book.bytes())
	}
	return e
}

// Free gives a buffer back that Alloc returned, whole. It waits for what runs. Of a lost device it forgets the buffer, whose memory
// went with the context, and returns the error that lost it.
func (t *Thread) Free(b Buffer) error {
	if t.over {
		return t.usable()
	}
	i, exact := t.d.book.find(b.Pointer)
	if !exact || t.d.book.buffers[i].Bytes != b.Bytes {
		return fmt.Errorf("free of %v: this device has no such allocation", b)
	}
	if t.d.lost == nil {
		if err := t.check(failed("cuMemFree", cu.MemFree(cu.DevicePtr(b.Pointer)))); err != nil && t.d.lost == nil {
			return err // it is still there
		}
	}
	t.d.book.buffers = slices.Delete(t.d.book.buffers, i, i+1)
	if t.d.lost != nil {
		return t.d.lost
	}
	return nil
}

// part checks a copy and is the address of its first byte.
func (t *Thread) part(call string, b Buffer, at int64, bytes int) (cu.DevicePtr, error) {
	if err := t.usable(); err != nil {
		return 0, err
	}
	if at < 0 || at > b.Bytes || int64(bytes) > b.Bytes-at {
		return 0, fmt.Errorf("%s: %d bytes from byte %d on, of a buffer of %d", call, bytes, at, b.Bytes)
	}
	if !t.d.book.has(b) {
		return 0, fmt.Errorf("%s: %v: this device has no such allocation", call, b)
	}
	return cu.DevicePtr(b.Pointer + uint64(at)), nil
}

// Upload puts a copy of bytes into the stream, to the buffer's byte at and the following. They may be changed when it returns.
func (t *Thread) Upload(to Buffer, at int64, from []byte) error {
	address, err := t.part("upload", to, at, len(from))
	if err != nil || len(from) == 0 {
		return err
	}
	t.d.counts.Uploads++
	return t.check(failed("cuMemcpyHtoDAsync", cu.MemcpyHtoDAsync(address, unsafe.Pointer(unsafe.SliceData(from)), int64(len(from)), t.d.stream)))
}

// Download waits for all that is in the stream and fills bytes from the buffer's byte at on.
func (t *Thread) Download(to []byte, from Buffer, at int64) error {
	address, err := t.part("download", from, at, len(to))
	if err != nil {
		return err
	}
	if len(to) == 0 {
		return t.Synchronize()
	}
	t.d.counts.Downloads++
	err = cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(to)), address, int64(len(to)), t.d.stream)
	if err := t.check(failed("cuMemcpyDtoHAsync", err)); err != nil {
		return err
	}
	return t.Synchronize()
}

// Synchronize waits for all that is in the stream. An error of a kernel shows here.
func (t *Thread) Synchronize() error {
	if err := t.usable(); err != nil {
		return err
	}
	t.d.counts.Synchronizations++
	return t.check(failed("cuStreamSynchronize", t.d.stream.Synchronize()))
}

//go:build cuda

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
)

// arena allocates what a model keeps, and keeps the first error. Without a thread it only
// counts.
type arena struct {
	thread  *driver.Thread
	bytes   int64
	buffers []driver.Buffer
	err     error
}

func (a *arena) alloc(bytes int64) driver.Buffer {
	a.bytes += bytes
	if a.thread == nil || a.err != nil {
		return driver.Buffer{Bytes: bytes}
	}
	b, err := a.thread.Alloc(bytes)
	if err != nil {
		a.err = fmt.Errorf("behind %d bytes that were allocated: %w", a.bytes-bytes, err)
		return driver.Buffer{Bytes: bytes}
	}
	a.buffers = append(a.buffers, b)
	return b
}

// upload fills part of a buffer.
func (a *arena) upload(to driver.Buffer, at int64, from []byte) {
	if a.thread != nil && a.err == nil {
		a.err = a.thread.Upload(to, at, from)
	}
}

// free gives everything back, the last first.
func (a *arena) free(t *driver.Thread) error {
	var errs []error
	for i := len(a.buffers) - 1; i >= 0; i-- {
		errs = append(errs, t.Free(a.buffers[i]))
	}
	a.buffers = nil
	return errors.Join(errs...)
}

// floatBytes are float32 numbers as the device has them.
func floatBytes(values []float32) []byte {
	out := make([]byte, 0, 4*len(values))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}

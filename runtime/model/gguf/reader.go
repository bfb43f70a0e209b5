package gguf

import (
	"encoding/binary"
	"fmt"
)

// reader takes values off the front of what is left. After its first error it gives
// zeros.
type reader struct {
	left []byte
	err  error
}

// bytes takes n of them. An n that is not there costs nothing.
func (r *reader) bytes(n uint64) []byte {
	if r.err == nil && n > uint64(len(r.left)) {
		r.err = fmt.Errorf("%d bytes are needed and %d left: the file is cut short or the number is wrong", n, len(r.left))
	}
	if r.err != nil {
		return nil
	}
	b := r.left[:n:n]
	r.left = r.left[n:]
	return b
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) string() []byte { return r.bytes(r.u64()) }

// count is a number of things of which each takes so many bytes at least.
func (r *reader) count(what string, bytes uint64) uint64 {
	n := r.u64()
	if r.err == nil && n > uint64(len(r.left))/bytes {
		r.err = fmt.Errorf("%d %s of at least %d bytes, and %d bytes left: the file is cut short or the number is wrong", n, what, bytes, len(r.left))
	}
	if r.err != nil {
		return 0
	}
	return n
}

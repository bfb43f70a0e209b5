package tensor

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Mapping is a file mapped for reading.
type Mapping struct {
	Path  string
	Bytes []byte
}

// Map maps the whole file.
func Map(path string) (m *Mapping, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // the mapping stays
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %v, expected a file", path, info.Mode().Type())
	}
	m = &Mapping{Path: path}
	if info.Size() == 0 { // cannot be mapped
		return m, nil
	}
	m.Bytes, err = unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the %d bytes of %s: %w", info.Size(), path, err)
	}
	return m, nil
}

// Close takes the bytes away.
func (m *Mapping) Close() error {
	bytes := m.Bytes
	m.Bytes = nil
	if bytes == nil {
		return nil
	}
	if err := unix.Munmap(bytes); err != nil {
		return fmt.Errorf("unmapping %s: %w", m.Path, err)
	}
	return nil
}

// ReadFile reads a file that must not be larger: what stands beside the tensors.
func ReadFile(path string, limit int64) (raw []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	raw, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return raw, err
}

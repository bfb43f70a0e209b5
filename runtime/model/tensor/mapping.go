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
	f, info, err := open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // the mapping stays
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
	f, _, err := open(path)
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

// open opens what is a file: reading of a pipe may have no end, nor may opening it.
func open(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %v, expected a file", path, info.Mode().Type())
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// MaxFile is the longest bulk file in bytes: more than the largest plan's, and
// few enough to be read whole.
const MaxFile = 1 << 30

// WriteFile writes v as JSON to path and returns its description.
func WriteFile(path string, v any) (File, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return File{}, fmt.Errorf("protocol: encode %T for %s: %w", v, path, err)
	}
	if len(b) > MaxFile {
		return File{}, fmt.Errorf("protocol: %T for %s takes %d bytes, want at most %d", v, path, len(b), MaxFile)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return File{}, fmt.Errorf("protocol: %w", err)
	}
	sum := sha256.Sum256(b)
	return File{Path: path, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(b))}, nil
}

// ReadFile reads the file that f describes into v, after checking its length
// and its hash.
func ReadFile(f File, v any) error {
	b, err := readAll(f)
	if err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
		return fmt.Errorf("protocol: %s has sha256 %s, the line says %q", f.Path, got, f.SHA256)
	}
	if err := decodeStrict(b, v); err != nil {
		return fmt.Errorf("protocol: %s: %w", f.Path, err)
	}
	return nil
}

// readAll reads a regular file of the length that f says. The open file is
// looked at, not the path, which could change in between; opened without
// O_NONBLOCK a FIFO would keep its reader waiting.
func readAll(f File) (_ []byte, err error) {
	if f.Bytes < 0 || f.Bytes > MaxFile {
		return nil, fmt.Errorf("%s: the line says %d bytes, want 0 to %d", f.Path, f.Bytes, MaxFile)
	}
	file, err := os.OpenFile(f.Path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file but %v", f.Path, st.Mode())
	}
	if st.Size() != f.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, the line says %d", f.Path, st.Size(), f.Bytes)
	}
	b := make([]byte, f.Bytes)
	if n, err := io.ReadFull(file, b); err != nil {
		return nil, fmt.Errorf("%s ended after %d of %d bytes: %w", f.Path, n, f.Bytes, err)
	}
	return b, nil
}

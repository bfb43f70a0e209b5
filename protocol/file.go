package protocol

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

// WriteFile writes v as JSON to path and returns its description.
func WriteFile(path string, v any) (File, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return File{}, fmt.Errorf("protocol: encode %T for %s: %w", v, path, err)
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
	st, err := os.Stat(f.Path)
	if err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	if !st.Mode().IsRegular() || st.Size() != f.Bytes {
		return fmt.Errorf("protocol: %s has %d bytes (%s), the line says %d", f.Path, st.Size(), st.Mode().Type(), f.Bytes)
	}
	b, err := os.ReadFile(f.Path)
	if err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != f.SHA256 {
		return fmt.Errorf("protocol: %s has sha256 %s, the line says %s", f.Path, got, f.SHA256)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("protocol: %s: %w", f.Path, err)
	}
	return nil
}

package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// HashFile is the SHA-256 of a regular file's bytes, in hexadecimal digits.
func HashFile(path string) (string, error) {
	// Before opening: to open a pipe would wait for its writer.
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("results: hash: %w", err)
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("results: hash: %s is %s, want a regular file", path, st.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("results: hash: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("results: hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

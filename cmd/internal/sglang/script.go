package sglang

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/scripts"
)

// ScriptSHA256 is the hash of the script that runs trees.
func ScriptSHA256() string {
	sum := sha256.Sum256(scripts.SGLangController)
	return hex.EncodeToString(sum[:])
}

// WriteScript puts the script into the cache and gives its path. One that is there
// is read and, should somebody have changed it, written again.
func WriteScript(cache string) (path string, err error) {
	folder := filepath.Join(cache, "controllers")
	path = filepath.Join(folder, ScriptSHA256()+".py")
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, scripts.SGLangController) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("sglang: cache: %w", err)
	}
	f, err := os.CreateTemp(folder, "making-")
	if err != nil {
		return "", fmt.Errorf("sglang: cache: %w", err)
	}
	_, err = f.Write(scripts.SGLangController)
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("sglang: cache: %w", err), os.Remove(f.Name()))
	}
	return path, nil
}

// Package form has what every file of a run folder keeps to, whatever stands in
// it: one way to write a record, files that are whole or absent, hashes, and
// errors that name the field, its value and what was wanted. Packages results and
// batchrun write their folders with it; results has the reasons (One form).
package form

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Indent is that of a file with one record; a line of a file of many has none.
const Indent = "  "

// Encode is v as JSON with a line end, <, > and & as they are: commands and
// patches are read by people.
func Encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Decode reads b into v and refuses everything but the bytes that encode, which
// encodes v, writes after that: a key that is unknown, missing, doubled, in
// another case or order, and anything behind the record. So no value can be
// hidden in a file, and what was read is all that stands there.
func Decode(b []byte, v any, encode func() ([]byte, error)) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("is empty, want a JSON object")
		}
		return err
	}
	want, err := encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(b, want) {
		return NotAsWritten(b, want)
	}
	return nil
}

// NotAsWritten names the first byte where got leaves the form of want.
func NotAsWritten(got, want []byte) error {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("is not in the form this program writes: byte %d begins %s, want %s", at, excerpt(got, at), excerpt(want, at))
}

// excerpt shows a few bytes from at on, and a few before it for orientation.
func excerpt(b []byte, at int) string {
	if at >= len(b) {
		return "the end"
	}
	return fmt.Sprintf("%q", b[max(0, at-16):min(len(b), at+24)])
}

// ReadFile reads a regular file of at most limit bytes. Anything else under the
// name, a link too, was not put there by this program.
func ReadFile(dir, name string, limit int64) ([]byte, error) {
	path := filepath.Join(dir, name)
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s, want a regular file", name, st.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return b, nil
}

// Replace writes a file under another name, syncs it and renames it, so that
// path is either whole or absent.
func Replace(path string, b []byte) error {
	temporary := path + ".partial"
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(temporary)))
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename last.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sum is the SHA-256 of b in lower-case hexadecimal digits.
func Sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// CheckHash wants a SHA-256 as Sum gives it.
func CheckHash(name, value string) error {
	b, err := hex.DecodeString(value)
	if err != nil || len(b) != sha256.Size || strings.ToLower(value) != value {
		return Unwanted(name, value, "64 lower-case hexadecimal digits")
	}
	return nil
}

// Unwanted is the error of a field: its name, its value and what was wanted.
func Unwanted(field string, value any, wanted string, args ...any) error {
	if s, ok := value.(string); ok {
		value = fmt.Sprintf("%q", Shortened(s))
	}
	return fmt.Errorf("%s is %v, want "+wanted, append([]any{field, value}, args...)...)
}

// Shortened keeps an error readable whatever a file holds.
func Shortened(s string) string {
	if len(s) > 120 {
		return s[:120] + "..."
	}
	return s
}

// Six has six significant digits of a figure: what depends on Log and Exp is the
// same on every architecture only so far.
func Six(v *float64) *float64 {
	if v == nil {
		return nil
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(*v, 'g', 6, 64), 64)
	if err != nil {
		panic(fmt.Sprintf("form: %v does not read back: %v", *v, err)) // FormatFloat wrote it
	}
	return &rounded
}

// OrEmpty and Listed are the map and the list, empty where there is none: null
// would be a second way to write them.
func OrEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

// Listed is the same of a list.
func Listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

package sglang

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// record reads the RECORD of an unpacked wheel: the SHA-256 of each file, in
// hexadecimal digits, by its path; list is RECORD's own.
func record(folder string) (sums map[string]string, list string, err error) {
	found, err := filepath.Glob(filepath.Join(folder, "*.dist-info", "RECORD"))
	if err != nil || len(found) != 1 {
		return nil, "", wrong("the unpacked release %s has %d lists of its files (*.dist-info/RECORD), want 1; remove that folder", folder, len(found))
	}
	list = filepath.Base(filepath.Dir(found[0])) + "/RECORD"
	f, err := os.Open(found[0])
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sums, err = parseRecord(f, list)
	if err != nil {
		err = wrong("the unpacked release %s: %s: %w", folder, list, err)
	}
	return sums, list, err
}

// parseRecord reads lines of path, hash and size; the list itself has no hash.
func parseRecord(in io.Reader, list string) (map[string]string, error) {
	r := csv.NewReader(in)
	r.FieldsPerRecord = 3
	sums := map[string]string{}
	for {
		line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return sums, nil
		}
		if err != nil {
			return nil, err
		}
		if line[0] == list {
			continue
		}
		text, ok := strings.CutPrefix(line[1], "sha256=")
		sum, err := base64.RawURLEncoding.DecodeString(text)
		if !ok || err != nil || len(sum) != 32 {
			return nil, wrong("%s has the hash %q, want sha256= and 43 digits of URL-safe base64", line[0], line[1])
		}
		if _, twice := sums[line[0]]; twice {
			return nil, wrong("%s stands there twice", line[0])
		}
		sums[line[0]] = hex.EncodeToString(sum)
	}
}

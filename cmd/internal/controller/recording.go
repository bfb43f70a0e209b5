package controller

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// The files of a recording; a README.md may lie beside them.
const (
	vocabularyName = "vocabulary.json"
	readmeName     = "README.md"
	frameSuffix    = ".bin" // one frame
	framesSuffix   = ".lpf" // frames, each behind its length as four bytes, big-endian
)

// ReadRecording reads captured BatchTokenIDOutput frames in the order of their
// files' names, with the vocabulary that vocabulary.json has. Consumers are the
// http_worker_ipcs in order of appearance. Errors name the file.
//
// It lies here because this package is the one part of the harness that decodes
// frames: a second reader of MessagePack would be a second definition of them,
// and a process of its own would say the same less directly.
func ReadRecording(dir string) (*stream.Recording, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := recorder{rec: &stream.Recording{}, consumers: map[string]int{}, hash: sha256.New()}
	for _, e := range entries { // sorted by name
		if err := r.file(dir, e); err != nil {
			return nil, fmt.Errorf("recording: %s: %w", filepath.Join(dir, e.Name()), err)
		}
	}
	switch {
	case r.rec.Vocabulary.Kind == "":
		return nil, fmt.Errorf("recording: %s is not there, want the vocabulary", filepath.Join(dir, vocabularyName))
	case len(r.rec.Batches) == 0:
		return nil, fmt.Errorf("recording: %s has no frames, want files that end in %s or %s", dir, frameSuffix, framesSuffix)
	}
	r.rec.SHA256 = hex.EncodeToString(r.hash.Sum(nil))
	return r.rec, nil
}

type recorder struct {
	rec       *stream.Recording
	consumers map[string]int
	hash      hash.Hash
}

func (r *recorder) file(dir string, e os.DirEntry) error {
	kind := filepath.Ext(e.Name())
	switch {
	case e.Name() == readmeName:
		return nil
	case e.Name() != vocabularyName && kind != frameSuffix && kind != framesSuffix:
		return fmt.Errorf("want %s, or frames in files that end in %s or %s", vocabularyName, frameSuffix, framesSuffix)
	}
	b, err := readRegular(filepath.Join(dir, e.Name()))
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(r.hash, "%s %d\n%s", e.Name(), len(b), b); err != nil {
		return err
	}
	switch {
	case e.Name() == vocabularyName:
		return r.vocabulary(b)
	case kind == frameSuffix:
		return r.frame(b)
	}
	return r.frames(b)
}

// readRegular reads a file that is one, or a link to one: a pipe would keep its
// reader waiting.
func readRegular(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > protocol.MaxFile {
		return nil, fmt.Errorf("a %s of %d bytes, want a regular file of at most %d", st.Mode().Type(), st.Size(), protocol.MaxFile)
	}
	return os.ReadFile(path)
}

func (r *recorder) vocabulary(b []byte) error {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.rec.Vocabulary); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	v := r.rec.Vocabulary
	if v.Kind != protocol.VocabularyBytes && v.Kind != protocol.VocabularyWords || len(v.Tokens) == 0 {
		return fmt.Errorf("kind %q with %d tokens, want %q or %q with at least one", v.Kind, len(v.Tokens), protocol.VocabularyBytes, protocol.VocabularyWords)
	}
	return nil
}

// frames reads frames behind their lengths.
func (r *recorder) frames(b []byte) error {
	for n, at := 0, 0; at < len(b); n++ {
		if len(b)-at < 4 {
			return fmt.Errorf("frame %d at byte %d: %d bytes are left, want a length of 4", n, at, len(b)-at)
		}
		size := int64(binary.BigEndian.Uint32(b[at:]))
		if at += 4; size > int64(len(b)-at) {
			return fmt.Errorf("frame %d at byte %d: a length of %d, and %d bytes are left", n, at-4, size, len(b)-at)
		}
		if err := r.frame(b[at : at+int(size)]); err != nil {
			return fmt.Errorf("frame %d at byte %d: %w", n, at-4, err)
		}
		at += int(size)
	}
	return nil
}

package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// maxHeader is the reference code's limit.
const maxHeader = 100_000_000

// metadata is the header's one name that is no tensor's.
const metadata = "__metadata__"

var dtypes = map[string]tensor.DType{"F32": tensor.F32, "F16": tensor.F16, "BF16": tensor.BF16}

// entry is what a header says of one tensor.
type entry struct {
	name    string
	DType   *string  `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// Parse takes a file's bytes apart. The tensors come in the order of their bytes.
// Errors begin with the path.
func Parse(path string, file []byte) ([]tensor.Tensor, error) {
	tensors, err := parse(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return tensors, nil
}

func parse(file []byte) ([]tensor.Tensor, error) {
	if len(file) < 8 {
		return nil, fmt.Errorf("a file of %d bytes, expected 8 for the header's length at least", len(file))
	}
	n, rest := binary.LittleEndian.Uint64(file), file[8:]
	if n > maxHeader {
		return nil, fmt.Errorf("a header of %d bytes, expected at most %d: no safetensors file?", n, maxHeader)
	}
	if n > uint64(len(rest)) {
		return nil, fmt.Errorf("a header of %d bytes, but %d are left: the file is cut short", n, len(rest))
	}
	entries, err := readHeader(rest[:n])
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return place(entries, rest[n:])
}

// readHeader reads the object key by key: they are names, and all but one of tensors.
func readHeader(header []byte) ([]entry, error) {
	d := json.NewDecoder(bytes.NewReader(header))
	if t, err := d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, fmt.Errorf("%v, expected an object", t)
	}
	var entries []entry
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string) // a key: the decoder has seen to it
		if name == metadata {
			var m map[string]string
			if err := d.Decode(&m); err != nil {
				return nil, fmt.Errorf("%s: %w", metadata, err)
			}
			continue
		}
		e := entry{name: name}
		if err := d.Decode(&e); err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", name, err)
		}
		entries = append(entries, e)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if t, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%v, %w behind the object, expected spaces", t, err)
	}
	return entries, jsoncheck.DoubledKey(header)
}

// place gives each entry its bytes.
func place(entries []entry, data []byte) ([]tensor.Tensor, error) {
	for _, e := range entries {
		if e.DType == nil || e.Shape == nil || len(e.Offsets) != 2 {
			return nil, fmt.Errorf("tensor %.100q lacks one of dtype, shape and two data_offsets", e.name)
		}
		if _, known := dtypes[*e.DType]; !known {
			return nil, fmt.Errorf("tensor %.100q has dtype %.100q, expected F32, F16 or BF16", e.name, *e.DType)
		}
	}
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Offsets[0], b.Offsets[0]), cmp.Compare(a.Offsets[1], b.Offsets[1]))
	})
	var tensors []tensor.Tensor
	var end uint64
	for _, e := range entries {
		from, to := e.Offsets[0], e.Offsets[1]
		switch {
		case from != end:
			return nil, fmt.Errorf("tensor %.100q begins at byte %d, expected %d, where the one before it ends", e.name, from, end)
		case to < from:
			return nil, fmt.Errorf("tensor %.100q ends at byte %d, before its start at %d", e.name, to, from)
		case to > uint64(len(data)):
			return nil, fmt.Errorf("tensor %.100q ends at byte %d of %d: the file is cut short", e.name, to, len(data))
		}
		t, err := tensor.New(e.name, dtypes[*e.DType], e.Shape, data[from:to:to])
		if err != nil {
			return nil, err
		}
		tensors, end = append(tensors, t), to
	}
	if end != uint64(len(data)) {
		return nil, fmt.Errorf("%d bytes behind the last tensor, expected none", uint64(len(data))-end)
	}
	return tensors, nil
}

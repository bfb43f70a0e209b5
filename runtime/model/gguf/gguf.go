package gguf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// File is one that was read. Its tensors lie in the mapping.
type File struct {
	Tensors []tensor.Tensor // in the order of their bytes
	values  map[string]value
	mapping *tensor.Mapping
}

// dtypes are the types of tensors that are read, names those of all others that the
// sources know.
var (
	dtypes = map[uint32]tensor.DType{0: tensor.F32, 1: tensor.F16, 2: tensor.Q4_0, 3: tensor.Q4_1, 8: tensor.Q8_0, 30: tensor.BF16}
	names  = map[uint32]string{
		6: "Q5_0", 7: "Q5_1", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS",
		18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64",
		29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
	}
)

// The least bytes that a key or a tensor takes before the data.
const (
	minKey    = 8 + 4 + 1
	minTensor = 8 + 4 + 4 + 8
)

const defaultAlignment = 32

// Open maps a file.
func Open(path string) (*File, error) {
	m, err := tensor.Map(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(path, m.Bytes)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	f.mapping = m
	return f, nil
}

// Close takes the tensors' bytes and the values away.
func (f *File) Close() error {
	f.Tensors, f.values = nil, nil
	if f.mapping == nil {
		return nil
	}
	return f.mapping.Close()
}

// Parse takes a file's bytes apart. Errors begin with the path.
func Parse(path string, file []byte) (*File, error) {
	f := &File{values: map[string]value{}}
	if err := f.parse(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func (f *File) parse(file []byte) error {
	r := &reader{left: file}
	if magic := r.bytes(4); r.err == nil && !bytes.Equal(magic, []byte("GGUF")) {
		return fmt.Errorf("begins with %q, expected \"GGUF\"", magic)
	}
	if version := r.u32(); r.err == nil && version != 2 && version != 3 {
		if swapped := bits.ReverseBytes32(version); swapped <= 3 {
			return fmt.Errorf("version %d in big-endian order, expected little-endian", swapped)
		}
		return fmt.Errorf("version %d, expected 2 or 3", version)
	}
	tensors := r.count("tensors", minTensor)
	keys := r.count("keys", minKey)
	if r.err != nil {
		return r.err
	}
	if err := f.readKeys(r, keys); err != nil {
		return err
	}
	infos, err := readInfos(r, tensors)
	if err != nil {
		return err
	}
	return f.place(infos, r, len(file))
}

func (f *File) readKeys(r *reader, n uint64) error {
	for i := range n {
		key := string(r.string())
		if r.err != nil {
			return fmt.Errorf("key %d of %d: %w", i, n, r.err)
		}
		if f.Has(key) {
			return fmt.Errorf("key %.100q stands twice", key)
		}
		f.values[key] = r.value(kind(r.u32()))
		if r.err != nil {
			return fmt.Errorf("key %.100q: %w", key, r.err)
		}
	}
	return nil
}

// info is what a file says of a tensor.
type info struct {
	name   string
	dtype  tensor.DType
	shape  []uint64 // turned
	offset uint64
}

func readInfos(r *reader, n uint64) ([]info, error) {
	var infos []info
	seen := map[string]bool{}
	for i := range n {
		t := info{name: string(r.string())}
		if r.err != nil {
			return nil, fmt.Errorf("tensor %d of %d: %w", i, n, r.err)
		}
		if seen[t.name] {
			return nil, fmt.Errorf("tensor %.100q stands twice", t.name)
		}
		seen[t.name] = true
		if err := t.read(r); err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", t.name, err)
		}
		infos = append(infos, t)
	}
	return infos, nil
}

// maxRank is ggml's.
const maxRank = 4

func (t *info) read(r *reader) error {
	rank := r.u32()
	if rank > maxRank {
		return fmt.Errorf("%d dimensions, expected at most %d", rank, maxRank)
	}
	for range rank {
		t.shape = append(t.shape, r.u64())
	}
	slices.Reverse(t.shape)
	number := r.u32()
	t.offset = r.u64()
	if r.err != nil {
		return r.err
	}
	dtype, known := dtypes[number]
	if !known {
		return fmt.Errorf("type %d (%s), expected F32, F16, BF16, Q8_0, Q4_0 or Q4_1", number, cmp.Or(names[number], "unknown"))
	}
	t.dtype = dtype
	return nil
}

// place gives each tensor its bytes: r has what is left behind the infos.
func (f *File) place(infos []info, r *reader, size int) error {
	if len(infos) == 0 {
		return nil
	}
	alignment, err := f.alignment()
	if err != nil {
		return err
	}
	head := uint64(size - len(r.left))
	if r.bytes((alignment - head%alignment) % alignment); r.err != nil {
		return fmt.Errorf("padding to %d bytes before the tensors: %w", alignment, r.err)
	}
	slices.SortStableFunc(infos, func(a, b info) int { return cmp.Compare(a.offset, b.offset) })
	var end uint64
	for _, t := range infos {
		n, err := t.dtype.Size(t.shape)
		switch {
		case err != nil:
			return fmt.Errorf("tensor %.100q: %w", t.name, err)
		case t.offset%alignment != 0:
			return fmt.Errorf("tensor %.100q begins at byte %d, expected a multiple of %d", t.name, t.offset, alignment)
		case t.offset < end:
			return fmt.Errorf("tensor %.100q begins at byte %d, before the end of another at %d", t.name, t.offset, end)
		case t.offset > uint64(len(r.left)) || n > uint64(len(r.left))-t.offset:
			return fmt.Errorf("tensor %.100q has %d bytes from byte %d, but there are %d in all: the file is cut short", t.name, n, t.offset, len(r.left))
		}
		end = t.offset + n
		placed, err := tensor.New(t.name, t.dtype, t.shape, r.left[t.offset:end:end])
		if err != nil {
			return err
		}
		f.Tensors = append(f.Tensors, placed)
	}
	return nil
}

func (f *File) alignment() (uint64, error) {
	const key = "general.alignment"
	if !f.Has(key) {
		return defaultAlignment, nil
	}
	n, err := f.Int(key)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > 1<<20 || n&(n-1) != 0 {
		return 0, fmt.Errorf("%s is %d, expected a power of two up to %d", key, n, 1<<20)
	}
	return uint64(n), nil
}

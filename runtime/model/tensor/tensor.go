package tensor

import (
	"fmt"
	"math"
)

// Tensor is one of a file's.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  []byte // of the file's mapping
}

// maxRank is what ggml has; safetensors of language models have no more than three.
const maxRank = 4

// New checks that the data is as long as the shape says.
func New(name string, d DType, shape []uint64, data []byte) (Tensor, error) {
	if len(shape) > maxRank {
		return Tensor{}, fmt.Errorf("tensor %.100q has %d dimensions, expected at most %d", name, len(shape), maxRank)
	}
	size, err := d.Size(shape)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	if size != uint64(len(data)) {
		return Tensor{}, fmt.Errorf("tensor %.100q has %d bytes, expected %d for %v %v", name, len(data), size, d, shape)
	}
	t := Tensor{Name: name, DType: d, Data: data}
	for _, n := range shape {
		if n > math.MaxInt { // beside a dimension of zero
			return Tensor{}, fmt.Errorf("tensor %.100q: %v has a dimension above %d", name, shape, math.MaxInt)
		}
		t.Shape = append(t.Shape, int(n))
	}
	return t, nil
}

// Len is how many numbers there are.
func (t Tensor) Len() int {
	f := formats[t.DType]
	return len(t.Data) / f.bytes * f.values
}

// Rows are a matrix's rows from one up to, not including, another: a part of t.
func (t Tensor) Rows(from, to int) Tensor {
	row := len(t.Data) / t.Shape[0]
	t.Data = t.Data[from*row : to*row]
	t.Shape = []int{to - from, t.Shape[1]}
	return t
}

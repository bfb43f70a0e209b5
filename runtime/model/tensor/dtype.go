package tensor

import (
	"fmt"
	"math"
	"math/bits"
)

// DType is how numbers are held. The names are those of the files.
type DType int

// The dtypes that are read.
const (
	F32 DType = iota + 1
	F16
	BF16
	Q8_0
	Q4_0
	Q4_1
)

// format is a dtype's blocks: so many values in so many bytes.
type format struct {
	name          string
	values, bytes int
}

var formats = map[DType]format{
	F32: {"F32", 1, 4}, F16: {"F16", 1, 2}, BF16: {"BF16", 1, 2},
	Q8_0: {"Q8_0", 32, 34}, Q4_0: {"Q4_0", 32, 18}, Q4_1: {"Q4_1", 32, 20},
}

func (d DType) String() string {
	if f, known := formats[d]; known {
		return f.name
	}
	return fmt.Sprintf("DType(%d)", int(d))
}

// Size is the number of bytes that a tensor of the shape takes. A shape without
// dimensions is one number.
func (d DType) Size(shape []uint64) (uint64, error) {
	f, known := formats[d]
	if !known {
		return 0, fmt.Errorf("no dtype %v", d)
	}
	size := uint64(f.bytes)
	for i, n := range shape {
		if i == len(shape)-1 && f.values > 1 {
			if n%uint64(f.values) != 0 {
				return 0, fmt.Errorf("%v %v: rows of %d, expected a multiple of %d", d, shape, n, f.values)
			}
			n /= uint64(f.values)
		}
		high, low := bits.Mul64(size, n)
		if high != 0 || low > math.MaxInt {
			return 0, fmt.Errorf("%v %v takes more bytes than can be addressed", d, shape)
		}
		size = low
	}
	if len(shape) == 0 && f.values > 1 {
		return 0, fmt.Errorf("%v without dimensions, expected rows of a multiple of %d", d, f.values)
	}
	return size, nil
}

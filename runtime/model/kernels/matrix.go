package kernels

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Format is how a matrix's numbers lie.
type Format int

// The formats there are kernels for.
const (
	F32  Format = iota + 1 // IEEE 754, 4 bytes
	F16                    // IEEE 754 half, 2 bytes
	BF16                   // the upper half of a float32, 2 bytes
	Q8                     // GGML's Q8_0
)

// A block of Q8.
const (
	blockCols  = 32
	blockBytes = 2 + blockCols
)

func (f Format) String() string {
	switch f {
	case F32:
		return "F32"
	case F16:
		return "F16"
	case BF16:
		return "BF16"
	case Q8:
		return "Q8"
	}
	return fmt.Sprintf("Format(%d)", int(f))
}

// rowBytes is the size of a row, 0 for a format that there is not.
func (f Format) rowBytes(cols int) int {
	switch f {
	case F32:
		return 4 * cols
	case F16, BF16:
		return 2 * cols
	case Q8:
		return cols / blockCols * blockBytes
	}
	return 0
}

// whole is how many of the columns are walked eight sums at a time; the others follow
// one by one.
func (f Format) whole(cols int) int {
	if f == BF16 {
		return cols &^ 15
	}
	return cols &^ 7
}

// Matrix is weights [Rows, Cols], row by row; see [NewMatrix].
type Matrix struct {
	Format     Format
	Rows, Cols int
	Data       []byte
}

// NewMatrix is the matrix whose numbers lie in data, which is kept and not copied.
func NewMatrix(f Format, rows, cols int, data []byte) (Matrix, error) {
	m := Matrix{f, rows, cols, data}
	return m, m.check()
}

func (m *Matrix) check() error {
	switch {
	case m.Format < F32 || m.Format > Q8:
		return fmt.Errorf("matrix of %v, expected F32, F16, BF16 or Q8", m.Format)
	case m.Rows < 1 || m.Cols < 1 || m.Cols > math.MaxInt/4/m.Rows:
		return fmt.Errorf("%v matrix [%d, %d], expected positive sizes that can be addressed", m.Format, m.Rows, m.Cols)
	case m.Format == Q8 && m.Cols%blockCols != 0:
		return fmt.Errorf("Q8 matrix [%d, %d], expected columns in a multiple of %d", m.Rows, m.Cols, blockCols)
	case len(m.Data) != m.Rows*m.Format.rowBytes(m.Cols):
		return fmt.Errorf("%v matrix [%d, %d] in %d bytes, expected %d", m.Format, m.Rows, m.Cols, len(m.Data), m.Rows*m.Format.rowBytes(m.Cols))
	}
	return nil
}

// row is the bytes of one.
func (m *Matrix) row(r int) []byte {
	size := m.Format.rowBytes(m.Cols)
	return m.Data[r*size : (r+1)*size]
}

// Row sets dst, Cols numbers, to those of one row.
func Row(dst []float32, w *Matrix, row int) {
	if row < 0 || row >= w.Rows || len(dst) != w.Cols {
		panic(fmt.Sprintf("kernels: row %d of a matrix [%d, %d] into %d numbers", row, w.Rows, w.Cols, len(dst)))
	}
	widen(dst, w.Format, w.row(row))
}

// widen sets dst to the numbers of a row.
func widen(dst []float32, f Format, row []byte) {
	switch f {
	case F32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		}
	case F16:
		for i := range dst {
			dst[i] = tensor.Half(binary.LittleEndian.Uint16(row[2*i:]))
		}
	case BF16:
		for i := range dst {
			dst[i] = fromBF16(row[2*i:])
		}
	case Q8:
		for ; len(row) > 0; row, dst = row[blockBytes:], dst[blockCols:] {
			d := tensor.Half(binary.LittleEndian.Uint16(row))
			for i, q := range row[2:blockBytes] {
				dst[i] = d * float32(int8(q))
			}
		}
	}
}

func fromBF16(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

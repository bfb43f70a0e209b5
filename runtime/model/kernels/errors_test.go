package kernels

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNewMatrixSaysWhatDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		format     Format
		rows, cols int
		size       int
		want       string
	}{
		{0, 1, 1, 4, "matrix of Format(0), expected F32, F16, BF16 or Q8"},
		{Q8 + 1, 1, 1, 4, "matrix of Format(5), expected"},
		{F32, 0, 4, 0, "F32 matrix [0, 4], expected positive sizes"},
		{F16, 4, -1, 0, "F16 matrix [4, -1], expected positive sizes"},
		{F32, 1 << 40, 1 << 40, 0, "expected positive sizes that can be addressed"},
		{Q8, 2, 33, 68, "Q8 matrix [2, 33], expected columns in a multiple of 32"},
		{Q8, 2, 32, 64, "Q8 matrix [2, 32] in 64 bytes, expected 68"},
		{BF16, 3, 5, 31, "BF16 matrix [3, 5] in 31 bytes, expected 30"},
		{F16, 3, 5, 30, ""},
	} {
		_, err := NewMatrix(test.format, test.rows, test.cols, make([]byte, test.size))
		if got := fmt.Sprint(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%v [%d, %d] in %d bytes: %q, want %q", test.format, test.rows, test.cols, test.size, got, test.want)
		}
	}
}

// Calls that do not fit panic with the values, and before anything is written.
func TestCallsThatDoNotFit(t *testing.T) {
	w := matrix(t, F32, 4, 8, make([]float32, 32))
	var in, narrow, half Input
	in.Set(F32, make([]float32, 16), 2, 8)
	narrow.Set(F32, make([]float32, 14), 2, 7)
	half.Set(F16, make([]float32, 16), 2, 8)
	out, short := make([]float32, 8), make([]float32, 7)
	a := Attention{Keys: out, Values: out, Stride: 4, Dim: 4, Slots: []int32{1, 0}}
	bad := a
	bad.Slots = []int32{0, 2}
	wide := a
	wide.Offset = 1
	for want, do := range map[string]func(){
		"F32 matrix [4, 8] times an input for F32 of [2, 7]": func() { Multiply(out, 4, w, &narrow, 0, 4) },
		"F32 matrix [4, 8] times an input for F16 of [2, 8]": func() { Multiply(out, 4, w, &half, 0, 4) },
		"matrix of Format(0)":                                func() { Multiply(out, 4, &Matrix{}, &in, 0, 4) },
		"rows 0 to 5 of 4":                                   func() { Multiply(out, 5, w, &in, 0, 5) },
		"rows 3 to 2 of 4":                                   func() { Multiply(out, 4, w, &in, 3, 2) },
		"rows to 4 of 2 tokens into 7 numbers, 4 apart":      func() { Multiply(short, 4, w, &in, 0, 4) },
		"rows to 4 of 2 tokens into 8 numbers, 3 apart":      func() { Multiply(out, 3, w, &in, 0, 4) },
		"row 4 of a matrix [4, 8] into 8 numbers":            func() { Row(out, w, 4) },
		"row 0 of a matrix [4, 8] into 7 numbers":            func() { Row(short, w, 0) },
		"Dot of 8 and 7 numbers":                             func() { Dot(out, short) },
		"AddScaled of 7 numbers to 8":                        func() { AddScaled(out, 1, short) },
		"RMSNorm of 8 numbers with 7 weights into 8":         func() { RMSNorm(out, out, short, 0) },
		"SiLUMul of 8 and 7 numbers":                         func() { SiLUMul(out, short) },
		"Quantize of 8 numbers, expected a multiple of 32":   func() { Quantize(out) },
		"input for Q8 matrices of [1, 8] numbers":            func() { in.Reset(Q8, 1, 8) },
		"input for Format(9) matrices of [1, 8] numbers":     func() { in.Reset(9, 1, 8) },
		"tokens 1 to 3 of 16 numbers into an input [2, 8]":   func() { in.Fill(make([]float32, 16), 1, 3) },
		"tokens 0 to 2 of 8 numbers into an input [2, 8]":    func() { in.Fill(out, 0, 2) },
		"Attend of 2 tokens from position 1 with 1 heads":    func() { a.Attend(out, out, 4, 2, 1, 1) },
		"with 2 heads of 4 numbers, 4 apart, in 2 slots":     func() { a.Attend(out, out, 4, 1, 2, 0) },
		"Attend of 7 numbers into 8, expected 2 tokens":      func() { a.Attend(out, short, 4, 2, 1, 0) },
		"slot 2 of 2":                           func() { bad.Attend(out, out, 4, 2, 1, 0) },
		"heads of 4 numbers at 1 of slots of 4": func() { wide.Attend(out, out, 4, 1, 1, 0) },
	} {
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			do()
			return ""
		}()
		if !strings.HasPrefix(said, "kernels: ") || !strings.Contains(said, want) {
			t.Errorf("panic %q, want one with %q", said, want)
		}
	}
	if !slices.Equal(out, make([]float32, 8)) {
		t.Errorf("something was written: %v", out)
	}
	Multiply(nil, 4, w, &in, 2, 2)
	a.Attend(nil, nil, 4, 0, 1, 0)
}

package kernels

import "fmt"

// Input is the activations of some tokens, [Tokens, Cols], as the matrices of one format
// take them. It is reused: its memory grows and never shrinks. Any number of goroutines
// may multiply with it once it is filled.
type Input struct {
	format       Format
	tokens, cols int
	floats       []float32 // F32, F16, BF16: [tokens, cols]
	ints         []int8    // Q8: [tokens, cols]
	scales       []float32 // Q8: [tokens, cols/32]
}

// Set makes the input those of x, [tokens, cols], for matrices of a format.
func (in *Input) Set(f Format, x []float32, tokens, cols int) {
	in.Reset(f, tokens, cols)
	in.Fill(x, 0, tokens)
}

// Reset gives the input its size; its numbers are then to be filled. With [Input.Fill] it
// does what Set does, for several goroutines that fill some tokens each.
func (in *Input) Reset(f Format, tokens, cols int) {
	if f < F32 || f > Q8 || tokens < 0 || cols < 1 || f == Q8 && cols%blockCols != 0 {
		panic(fmt.Sprintf("kernels: input for %v matrices of [%d, %d] numbers", f, tokens, cols))
	}
	in.format, in.tokens, in.cols = f, tokens, cols
	if f == Q8 {
		in.ints = grown(in.ints, tokens*cols)
		in.scales = grown(in.scales, tokens*cols/blockCols)
	} else {
		in.floats = grown(in.floats, tokens*cols)
	}
}

func grown[T any](s []T, n int) []T {
	if n > cap(s) {
		return make([]T, n)
	}
	return s[:n]
}

// Tokens is how many the input has.
func (in *Input) Tokens() int { return in.tokens }

// Fill sets the tokens from..to (not including to) to theirs of x, [Tokens, Cols].
func (in *Input) Fill(x []float32, from, to int) {
	if from < 0 || from > to || to > in.tokens || len(x) != in.tokens*in.cols {
		panic(fmt.Sprintf("kernels: tokens %d to %d of %d numbers into an input [%d, %d]", from, to, len(x), in.tokens, in.cols))
	}
	if from == to {
		return
	}
	x = x[from*in.cols : to*in.cols]
	switch in.format {
	case F32, F16:
		copy(in.floats[from*in.cols:], x)
	case BF16:
		for ; len(x) > 0; x, from = x[in.cols:], from+1 {
			chosen.apart(in.floats[from*in.cols:][:in.cols], x[:in.cols])
		}
	case Q8:
		chosen.quantizeInput(in.ints[from*in.cols:], in.scales[from*in.cols/blockCols:], x)
	}
}

// apartPlain copies a row, of every whole 16 numbers first the even ones, then the odd ones.
func apartPlain(dst, src []float32) {
	i := 0
	for ; i+16 <= len(src); i += 16 {
		d, s := dst[i:i+16], src[i:i+16]
		for j := range 8 {
			d[j], d[8+j] = s[2*j], s[2*j+1]
		}
	}
	copy(dst[i:], src[i:])
}

// quantizeInputPlain makes blocks of x, a multiple of 32 numbers. Quotients are rounded to
// the nearest integer, halves to the even one.
func quantizeInputPlain(ints []int8, scales, x []float32) {
	for b := range len(x) / blockCols {
		block, q := x[b*blockCols:][:blockCols], ints[b*blockCols:][:blockCols]
		d, inverse := factor(block)
		scales[b] = d
		if inverse == 0 {
			clear(q)
			continue
		}
		for i, v := range block {
			q[i] = int8(float32(v*inverse) + roundingBias - roundingBias)
		}
	}
}

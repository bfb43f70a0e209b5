package kernels

import "fmt"

// Multiply sets out[t*ldo + r] for the rows r of from..to (not including to) and every
// token t of the input to row r times the token's activation, and nothing else of out.
// The bits of a product depend on the row and the activation alone; see the package's
// documentation. Different goroutines may do different rows.
//
// Rows are done four at a time, so that to - from is best a multiple of four.
func Multiply(out []float32, ldo int, w *Matrix, in *Input, from, to int) {
	if err := w.check(); err != nil {
		panic("kernels: " + err.Error())
	}
	if w.Format != in.format || w.Cols != in.cols {
		panic(fmt.Sprintf("kernels: %v matrix [%d, %d] times an input for %v of [%d, %d]", w.Format, w.Rows, w.Cols, in.format, in.tokens, in.cols))
	}
	if from < 0 || from > to || to > w.Rows {
		panic(fmt.Sprintf("kernels: rows %d to %d of %d", from, to, w.Rows))
	}
	if from == to || in.tokens == 0 {
		return
	}
	if ldo < to || len(out) < (in.tokens-1)*ldo+to {
		panic(fmt.Sprintf("kernels: rows to %d of %d tokens into %d numbers, %d apart", to, in.tokens, len(out), ldo))
	}
	chosen.multiply(out, ldo, w, in, from, to)
}

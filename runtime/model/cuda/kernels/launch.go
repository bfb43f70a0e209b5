//go:build cuda

package kernels

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
)

// Product is a matrix W [Rows, Cols] times activations X [Tokens, Cols]. Addresses are of the
// device's memory and multiples of 16.
type Product struct {
	Out, W, X          uint64
	Rows, Cols, Tokens int

	// MatVec and MatVecGated only: X is normalized first, by these weights [Cols], where there
	// are some; MatVec adds to what Out has where Add is set.
	Norm uint64
	Eps  float32
	Add  bool
}

// Embed sets out [tokens, dim] to rows of a table, by ids (int64).
func (s *Set) Embed(t *driver.Thread, f Format, out, table, ids uint64, tokens, width int) error {
	l := launch{name: "embed_" + f.String(), grid: dim(tokens), block: dim(threadsFor(width, 8, 256)), args: []uint64{out, table, ids, uint64(width)}}
	l.some("tokens", tokens)
	l.wide("dim", width)
	return s.put(t, &l)
}

// Gather sets out [count, dim] to rows of x, by numbers (int64).
func (s *Set) Gather(t *driver.Thread, out, x, rows uint64, count, width int) error {
	return s.Embed(t, F32, out, x, rows, count, width)
}

// AddNorm adds delta to x [tokens, dim], unless delta is 0, and sets out to its norm.
func (s *Set) AddNorm(t *driver.Thread, x, delta, weight, out uint64, tokens, width int, eps float32) error {
	l := launch{
		name: "add_norm", grid: dim(tokens), block: dim(threadsFor(width, 4, 1024)),
		args: []uint64{x, delta, weight, out, uint64(width), driver.F32(eps)},
	}
	l.some("tokens", tokens)
	l.wide("dim", width)
	l.want(width <= MostHidden, "dim", width, fmt.Sprintf("at most %d", MostHidden))
	return s.put(t, &l)
}

// SiLUMul sets out [tokens, inner] to silu of the first halves of the rows of gateup times the
// second.
func (s *Set) SiLUMul(t *driver.Thread, out, gateup uint64, tokens, inner int) error {
	l := launch{
		name: "silu_mul", grid: dim(min(blocks(tokens*inner, 256), 8*s.multiprocessors)), block: dim(256),
		args: []uint64{out, gateup, uint64(tokens), uint64(inner)},
	}
	l.some("tokens", tokens)
	l.some("inner", inner)
	return s.put(t, &l)
}

// MatVec sets Out [Tokens, Rows] to the products, reading W once for every 8 tokens.
func (s *Set) MatVec(t *driver.Thread, f Format, p Product) error {
	name, made := "matvec_", matvecWarps
	if f == BF16 && p.Rows >= wideRows {
		name, made = "matvec_wide_", 4*matvecWarps
	}
	return s.matvec(t, name+f.String(), made, p)
}

// MatVecGated sets Out [Tokens, Rows] to silu of the products of the first Rows rows of W
// [2·Rows, Cols] times those of the second.
func (s *Set) MatVecGated(t *driver.Thread, f Format, p Product) error {
	return s.matvec(t, "matvec_gated_"+f.String(), matvecWarps, p)
}

func (s *Set) matvec(t *driver.Thread, name string, made int, p Product) error {
	held := 1 // tokens in shared memory
	for held < min(p.Tokens, MatVecTokens) {
		held *= 2
	}
	add := uint64(0)
	if p.Add {
		add = 1
	}
	l := launch{
		name: name, grid: dim(min(blocks(p.Rows, made), 4*s.multiprocessors), blocks(p.Tokens, MatVecTokens)), block: dim(32 * matvecWarps),
		shared: held * matvecChunk * 4,
		args:   []uint64{p.Out, p.W, p.X, p.Norm, uint64(p.Rows), uint64(p.Cols), uint64(p.Tokens), add, driver.F32(p.Eps)},
	}
	l.some("rows", p.Rows)
	l.some("tokens", p.Tokens)
	l.wide("cols", p.Cols)
	return s.put(t, &l)
}

// GEMM sets Out [Tokens, Rows] to the products, for many tokens. With BF16 weights an
// activation is the sum of three bf16 numbers.
func (s *Set) GEMM(t *driver.Thread, f Format, p Product) error {
	name, rows, threads := "gemm_f32", gemmTile, 256
	if f == BF16 {
		name, threads = "gemm_bf16", 128
		if blocks(p.Rows, 2*gemmTile)*blocks(p.Tokens, gemmTile) >= s.multiprocessors {
			name, rows, threads = "gemm_large_bf16", 2*gemmTile, 256
		}
	}
	l := launch{
		name: name, grid: dim(blocks(p.Rows, rows), blocks(p.Tokens, gemmTile)), block: dim(threads),
		args: []uint64{p.Out, p.W, p.X, uint64(p.Rows), uint64(p.Cols), uint64(p.Tokens)},
	}
	l.some("rows", p.Rows)
	l.some("tokens", p.Tokens)
	l.wide("cols", p.Cols)
	l.want(p.Norm == 0 && !p.Add, "norm", int(p.Norm), "0, and no Add: GEMM has neither")
	return s.put(t, &l)
}

// threadsFor is a block for a row of so many numbers, each a thread: whole warps, at most most.
func threadsFor(width, each, most int) int { return min(32*blocks(blocks(width, each), 32), most) }

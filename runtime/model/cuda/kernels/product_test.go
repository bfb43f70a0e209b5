//go:build cuda

package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// A row of a table, and of activations, comes as it is.
func TestEmbed(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, dim := range []int{8, 24, 1024, 2056} {
				const rows = 11
				table := normal(random(1), f, rows*dim)
				for _, ids := range [][]int{{10}, {3, 0, 3, 10, 7, 1, 9, 5}} {
					out := d.room(4 * len(ids) * dim)
					check(d.Embed(d.t, f, out, d.put(f, table), d.int64s(ids), len(ids), dim))
					var want []float32
					for _, id := range ids {
						want = append(want, table[id*dim:][:dim]...)
					}
					same(name(f, " dim ", dim), d.get(F32, out), want)
					if f == F32 {
						check(d.Gather(d.t, out, d.floats(table), d.int64s(ids), len(ids), dim))
						same(name(f, " gathered, dim ", dim), d.get(F32, out), want)
					}
				}
				d.free()
			}
		}
	})
}

// normTwin is x / sqrt(mean of squares + eps) * weight.
func normTwin(x, weight []float32, eps float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) / math.Sqrt(sum/float64(len(x))+eps) * float64(weight[i])
	}
	return out
}

// Of at most 16384 squares a thread adds 16 and a tree of 10 the rest: the sum is within 26 units, its
// root within 13, and five roundings follow.
const normError = 18 * unit

func TestAddNorm(t *testing.T) {
	const eps = 1e-6
	inOrders(t, func(d *device) {
		for _, dim := range []int{8, 24, 128, 136, 1000, 1024, 4104, 16384} {
			for _, tokens := range []int{1, 3} {
				for _, added := range []bool{false, true} {
					r := random(uint64(dim))
					x, delta, weight := normal(r, F32, tokens*dim), normal(r, F32, tokens*dim), normal(r, F32, dim)
					at, out, by := d.floats(x), d.room(4*len(x)), uint64(0)
					if added {
						by = d.floats(delta)
						for i, v := range delta {
							x[i] += v
						}
					}
					check(d.AddNorm(d.t, at, by, d.floats(weight), out, tokens, dim, eps))
					what := fmt.Sprint("dim ", dim, " added ", added)
					same(what+": x", d.get(F32, at), x)
					for i := range tokens {
						want := normTwin(x[i*dim:][:dim], weight, eps)
						var tolerance []float64
						for _, v := range want {
							tolerance = append(tolerance, normError*math.Abs(v))
						}
						near(what, d.get(F32, out)[i*dim:][:dim], want, tolerance)
					}
					d.free()
				}
			}
		}
	})
}

func silu(v float64) float64 { return v / (1 + math.Exp(-v)) }

// e^-gate is infinite in float32 where silu is below this.
const least = 1e-36

func TestSiLUMul(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, shape := range [][2]int{{1, 8}, {1, 3}, {8, 96}, {3, 1000}} {
			tokens, inner := shape[0], shape[1]
			x := normal(random(2), F32, 2*tokens*inner)
			x[0], x[inner-1] = -100, 90
			out := d.room(4 * tokens * inner)
			check(d.SiLUMul(d.t, out, d.floats(x), tokens, inner))
			var want, tolerance []float64
			for i := range tokens * inner {
				row := x[i/inner*2*inner+i%inner:]
				v := silu(float64(row[0])) * float64(row[inner])
				want, tolerance = append(want, v), append(tolerance, 8*unit*math.Abs(v)+least*math.Abs(float64(row[inner]))) // expf within 2 units in the last place, three roundings
			}
			near(fmt.Sprint(shape), d.get(F32, out), want, tolerance)
			d.free()
		}
	})
}

// productTwin is [tokens, rows], and the sums of the products' absolute values.
func productTwin(w, x []float32, rows, cols, tokens int) (out, size []float64) {
	for t := range tokens {
		for r := range rows {
			sum, abs := 0.0, 0.0
			for c := range cols {
				p := float64(w[r*cols+c]) * float64(x[t*cols+c])
				sum, abs = sum+p, abs+math.Abs(p)
			}
			out, size = append(out, sum), append(size, abs)
		}
	}
	return out, size
}

// scaledBy is what a product may be off: so many roundings of at most the sum of its absolute values.
func scaledBy(roundings int, size []float64) []float64 {
	out := make([]float64, len(size))
	for i, v := range size {
		out[i] = float64(roundings) * unit * v
	}
	return out
}

// A lane's sum has 8 columns of each 256, and five more additions follow.
func matvecRoundings(cols int) int { return 8*blocks(cols, 256) + 5 }

var matvecShapes = []struct{ rows, cols, tokens int }{
	{1, 8, 1}, {7, 24, 2}, {8, 256, 3}, {9, 264, 5}, {33, 1024, 1}, {33, 1024, 8}, {65, 1032, 4}, {5, 2056, 1}, {3, 2048, 17}, {70, 136, 9},
}

func TestMatVec(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, s := range matvecShapes {
				r := random(uint64(s.rows))
				w, x := normal(r, f, s.rows*s.cols), normal(r, F32, s.tokens*s.cols)
				p := Product{Out: d.room(4 * s.rows * s.tokens), W: d.put(f, w), X: d.floats(x), Rows: s.rows, Cols: s.cols, Tokens: s.tokens}
				check(d.MatVec(d.t, f, p))
				want, size := productTwin(w, x, s.rows, s.cols, s.tokens)
				got := d.get(F32, p.Out)
				near(name(f, " ", s), got, want, scaledBy(matvecRoundings(s.cols), size))
				d.alone(name(f, " ", s), p, got, func(p Product) error { return d.MatVec(d.t, f, p) })

				p.Add = true
				check(d.MatVec(d.t, f, p))
				for i, v := range got {
					got[i] = v + v
				}
				same(name(f, " ", s, " added"), d.get(F32, p.Out), got)
				d.free()
			}
		}
	})
}

// alone computes each token by itself: the bits are those that it had among the others.
func (d *device) alone(what string, p Product, want []float32, run func(Product) error) {
	x := d.get(F32, p.X)
	for i := range p.Tokens {
		one := p
		one.Tokens, one.X, one.Out = 1, d.floats(x[i*p.Cols:][:p.Cols]), d.room(4*p.Rows)
		check(run(one))
		same(fmt.Sprint(what, " token ", i, " alone"), d.get(F32, one.Out), want[i*p.Rows:][:p.Rows])
	}
}

// A large matrix has four rows a warp; its sums are those of one row a warp.
func TestMatVecOfManyRows(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, s := range []struct{ rows, cols, tokens int }{{wideRows + 1, 8, 1}, {wideRows + 2, 264, 3}} {
			r := random(3)
			w, x := normal(r, BF16, s.rows*s.cols), normal(r, F32, s.tokens*s.cols)
			p := Product{Out: d.room(4 * s.rows * s.tokens), W: d.put(BF16, w), X: d.floats(x), Rows: s.rows, Cols: s.cols, Tokens: s.tokens}
			check(d.MatVec(d.t, BF16, p))
			want, size := productTwin(w, x, s.rows, s.cols, s.tokens)
			got := d.get(F32, p.Out)
			near(fmt.Sprint(s), got, want, scaledBy(matvecRoundings(s.cols), size))

			const few = 37 // rows, the last ones
			p.Out, p.W, p.Rows = d.room(4*few*s.tokens), d.put(BF16, w[(s.rows-few)*s.cols:]), few
			check(d.MatVec(d.t, BF16, p))
			for i := range s.tokens {
				same(fmt.Sprint(s, " token ", i, " by another kernel"), d.get(F32, p.Out)[i*few:][:few], got[(i+1)*s.rows-few:][:few])
			}
			d.free()
		}
	})
}

// The norm before a product is that of add_norm, but for the order of its sum.
func TestMatVecOfANorm(t *testing.T) {
	const eps = 1e-5
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, s := range matvecShapes {
				r := random(uint64(s.cols))
				w, x, weight := normal(r, f, s.rows*s.cols), normal(r, F32, s.tokens*s.cols), normal(r, F32, s.cols)
				p := Product{
					Out: d.room(4 * s.rows * s.tokens), W: d.put(f, w), X: d.floats(x), Rows: s.rows, Cols: s.cols, Tokens: s.tokens,
					Norm: d.floats(weight), Eps: eps,
				}
				check(d.MatVec(d.t, f, p))
				want, size := productTwin(w, normed(x, weight, s.cols, eps), s.rows, s.cols, s.tokens)
				got := d.get(F32, p.Out)
				near(name(f, " ", s), got, want, scaledBy(matvecRoundings(s.cols)+20, size)) // normError, and the twin's own rounding
				d.alone(name(f, " ", s), p, got, func(p Product) error { return d.MatVec(d.t, f, p) })
				d.free()
			}
		}
	})
}

func normed(x, weight []float32, cols int, eps float64) []float32 {
	var out []float32
	for ; len(x) > 0; x = x[cols:] {
		for _, v := range normTwin(x[:cols], weight, eps) {
			out = append(out, float32(v))
		}
	}
	return out
}

func TestMatVecGated(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, s := range matvecShapes {
				r := random(uint64(s.rows))
				w, x := normal(r, f, 2*s.rows*s.cols), normal(r, F32, s.tokens*s.cols)
				p := Product{Out: d.room(4 * s.rows * s.tokens), W: d.put(f, w), X: d.floats(x), Rows: s.rows, Cols: s.cols, Tokens: s.tokens}
				check(d.MatVecGated(d.t, f, p))
				gates, gateSize := productTwin(w, x, s.rows, s.cols, s.tokens)
				ups, upSize := productTwin(w[s.rows*s.cols:], x, s.rows, s.cols, s.tokens)
				var want, tolerance []float64
				for i, gate := range gates { // the slope of silu is below 1.1
					v, off := silu(gate)*ups[i], float64(matvecRoundings(s.cols))*unit
					want = append(want, v)
					tolerance = append(tolerance, 1.1*off*gateSize[i]*math.Abs(ups[i])+off*upSize[i]*math.Abs(silu(gate))+off*off*gateSize[i]*upSize[i]+8*unit*math.Abs(v))
				}
				got := d.get(F32, p.Out)
				near(name(f, " ", s), got, want, tolerance)
				d.alone(name(f, " ", s), p, got, func(p Product) error { return d.MatVecGated(d.t, f, p) })
				d.free()
			}
		}
	})
}

// With one multiprocessor the large tiles are taken, with very many the small ones.
func TestGEMM(t *testing.T) {
	inOrders(t, func(d *device) {
		for _, f := range []Format{BF16, F32} {
			for _, s := range []struct{ rows, cols, tokens int }{{1, 8, 1}, {63, 24, 9}, {65, 72, 64}, {129, 40, 65}, {70, 264, 130}} {
				for _, d.multiprocessors = range []int{1, 1 << 20} {
					r := random(uint64(s.cols))
					w, x := normal(r, f, s.rows*s.cols), normal(r, F32, s.tokens*s.cols)
					p := Product{Out: d.room(4 * s.rows * s.tokens), W: d.put(f, w), X: d.floats(x), Rows: s.rows, Cols: s.cols, Tokens: s.tokens}
					check(d.GEMM(d.t, f, p))
					want, size := productTwin(w, x, s.rows, s.cols, s.tokens)
					got, roundings := d.get(F32, p.Out), s.cols
					if f == BF16 { // three are added for each column, which together are within a rounding of it
						roundings = 3*s.cols + 1
					}
					near(name(f, " ", s), got, want, scaledBy(roundings, size))
					p.X = d.floats(d.get(F32, p.X)[(s.tokens-1)*s.cols:])
					p.Out, p.Tokens = d.room(4*s.rows), 1
					check(d.GEMM(d.t, f, p))
					same(name(f, " ", s, " last token alone"), d.get(F32, p.Out), got[(s.tokens-1)*s.rows:])
					d.free()
				}
			}
		}
	})
}

// The parts of an activation are all of it: by the unit matrix it comes out, within a rounding.
func TestGEMMByTheUnitMatrix(t *testing.T) {
	inOrders(t, func(d *device) {
		const size, tokens = 24, 9
		w, x := make([]float32, size*size), normal(random(1), F32, tokens*size)
		for i := range size {
			w[i*size+i] = 1
		}
		var want, tolerance []float64
		for _, v := range x {
			want, tolerance = append(want, float64(v)), append(tolerance, 2*unit*math.Abs(float64(v)))
		}
		for _, d.multiprocessors = range []int{1, 1 << 20} {
			p := Product{Out: d.room(4 * tokens * size), W: d.put(BF16, w), X: d.floats(x), Rows: size, Cols: size, Tokens: tokens}
			check(d.GEMM(d.t, BF16, p))
			near("by the unit matrix", d.get(F32, p.Out), want, tolerance)
		}
		d.free()
	})
}

// What is no number, or larger than the largest bf16, goes through as with the other kernels: an infinity is one.
func TestGEMMOfNoNumbers(t *testing.T) {
	inOrders(t, func(d *device) {
		const rows, cols, tokens = 3, 8, 9
		w, x := slices.Repeat([]float32{1}, rows*cols), make([]float32, tokens*cols)
		inf := float32(math.Inf(1))
		for i, v := range []float32{inf, -inf, float32(math.NaN()), math.MaxFloat32} {
			x[i*cols+i] = v
		}
		for _, d.multiprocessors = range []int{1, 1 << 20} {
			p := Product{Out: d.room(4 * rows * tokens), W: d.put(BF16, w), X: d.floats(x), Rows: rows, Cols: cols, Tokens: tokens}
			check(d.GEMM(d.t, BF16, p))
			var want []float32
			for _, v := range []float32{inf, -inf, float32(math.NaN()), inf, 0, 0, 0, 0, 0} {
				want = append(want, v, v, v)
			}
			same("by ones", d.get(F32, p.Out), want)
		}
		d.free()
	})
}

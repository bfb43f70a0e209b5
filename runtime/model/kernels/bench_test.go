package kernels

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// read is a plain read of some bytes: what memory gives, to compare with.
func read(data []float32) float32 { return Dot(data[:len(data)/2], data[len(data)/2:]) }

var sink float32

// BenchmarkMatvec multiplies matrices that no cache holds with one token, by one and by two
// goroutines. Beside the bytes a second it says which share that is of a plain read of as
// many bytes by as many goroutines, measured in turns with it.
func BenchmarkMatvec(b *testing.B) {
	for _, f := range formats {
		for _, goroutines := range []int{1, 2} {
			b.Run(fmt.Sprintf("%v/%d", f, goroutines), func(b *testing.B) { matvec(b, f, goroutines) })
		}
	}
}

func matvec(b *testing.B, f Format, goroutines int) {
	const rows, cols = 65536, 1024
	r := random(1)
	one := encode(f, normal(r, cols))
	data := make([]byte, 0, rows*len(one))
	for range rows {
		data = append(data, one...)
	}
	w, err := NewMatrix(f, rows, cols, data)
	if err != nil {
		b.Fatal(err)
	}
	var in Input
	in.Set(f, normal(r, cols), 1, cols)
	out, plainly := make([]float32, rows), make([]float32, len(data)/4)
	// Pages that nobody wrote to are all one page of zeros, in cache.
	for i := range plainly {
		plainly[i] = 1
	}
	var reading time.Duration
	split := func(n int, do func(from, to int)) {
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() { do(n*g/goroutines, n*(g+1)/goroutines) })
		}
		all.Wait()
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		split(rows, func(from, to int) { Multiply(out, rows, &w, &in, from, to) })
		b.StopTimer()
		begin := time.Now()
		split(len(plainly), func(from, to int) { read(plainly[from:to]) })
		reading += time.Since(begin)
		b.StartTimer()
	}
	each := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(len(data))/each/1e9, "GB/s")
	b.ReportMetric(reading.Seconds()/float64(b.N)/each, "of-read")
}

// BenchmarkGEMM multiplies a layer's matrices with a prompt's tokens, on one goroutine.
func BenchmarkGEMM(b *testing.B) {
	for _, f := range formats {
		for _, shape := range [][2]int{{3072, 1024}, {1024, 3072}} {
			for _, tokens := range []int{4, 32, 300} {
				rows, cols := shape[0], shape[1]
				b.Run(fmt.Sprintf("%v/%dx%d/%d", f, rows, cols, tokens), func(b *testing.B) {
					r := random(1)
					w := matrix(b, f, rows, cols, normal(r, rows*cols))
					var in Input
					in.Set(f, normal(r, tokens*cols), tokens, cols)
					out := make([]float32, rows*tokens)
					for b.Loop() {
						Multiply(out, rows, w, &in, 0, rows)
					}
					b.ReportMetric(2*float64(rows)*float64(cols)*float64(tokens)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}

// BenchmarkAttend is a prompt's attention with one head of keys and two of queries, and a
// token's behind it.
func BenchmarkAttend(b *testing.B) {
	const positions, dim, heads = 300, 128, 2
	r := random(1)
	a := Attention{Keys: normal(r, positions*dim), Values: normal(r, positions*dim), Stride: dim, Dim: dim, Scale: 0.1}
	for p := range positions {
		a.Slots = append(a.Slots, int32(p))
	}
	q := normal(r, positions*heads*dim)
	out := make([]float32, len(q))
	for _, tokens := range []int{1, positions} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			first := positions - tokens
			for b.Loop() {
				a.Attend(out, q, heads*dim, tokens, heads, first)
			}
			pairs := float64(tokens) * float64(first+positions+1) / 2 * heads
			b.ReportMetric(4*dim*pairs*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

// BenchmarkVectors is what is done to each number.
func BenchmarkVectors(b *testing.B) {
	const n = 3072
	r := random(1)
	x, y, w := normal(r, n), normal(r, n), normal(r, n)
	ints, scales := make([]int8, n), make([]float32, n/blockCols)
	for name, do := range map[string]func(){
		"Exp":      func() { copy(x, y); Exp(x) },
		"Softmax":  func() { copy(x, y); Softmax(x) },
		"SiLUMul":  func() { copy(x, y); SiLUMul(x, w) },
		"RMSNorm":  func() { RMSNorm(x, y, w, 1e-6) },
		"apart":    func() { chosen.apart(x, y) },
		"quantize": func() { chosen.quantizeInput(ints, scales, y) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				do()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/n*1e9, "ns/number")
		})
	}
}

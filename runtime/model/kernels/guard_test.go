//go:build linux || darwin

package kernels

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded is memory of so many bytes with a page on each side that must not be touched.
type guarded struct{ all, free []byte }

func newGuarded(t *testing.T, size int) guarded {
	t.Helper()
	page := unix.Getpagesize()
	pages := (size + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, pages+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+pages:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return guarded{all, all[page : page+pages]}
}

// atEnd is size bytes right before the guard, atStart right behind the one in front.
func (g guarded) atEnd(size int) []byte   { return g.free[len(g.free)-size:] }
func (g guarded) atStart(size int) []byte { return g.free[:size] }

func floats(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// floatsAt copies x to the end or the start of guarded memory.
func floatsAt(t *testing.T, end bool, x []float32) []float32 {
	g := newGuarded(t, 4*len(x))
	there := g.atStart(4 * len(x))
	if end {
		there = g.atEnd(4 * len(x))
	}
	copy(floats(there), x)
	return floats(there)
}

// Reading or writing beside anything ends the test with a fault.
func TestNothingBesideIsTouched(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(18)
		for _, end := range []bool{true, false} {
			for _, f := range formats {
				for range 40 {
					rows, cols, tokens := shape(r, f)
					data := encode(f, normal(r, rows*cols))
					g := newGuarded(t, len(data))
					there := g.atStart(len(data))
					if end {
						there = g.atEnd(len(data))
					}
					copy(there, data)
					w, err := NewMatrix(f, rows, cols, there)
					if err != nil {
						t.Fatal(err)
					}
					// The input's own memory is guarded too.
					x := floatsAt(t, end, normal(r, tokens*cols))
					in := Input{floats: floatsAt(t, end, make([]float32, tokens*cols))}
					in.Set(f, x, tokens, cols)
					out := floatsAt(t, end, make([]float32, tokens*rows))
					Multiply(out, rows, &w, &in, 0, rows)
					Row(floatsAt(t, end, make([]float32, cols)), &w, rows-1)
				}
			}
			for n := range 40 {
				touchVectors(t, end, normal(r, n+1), normal(r, n+1))
				p := newPrompt(r, dims[n%len(dims)])
				p.Keys, p.Values, p.q = floatsAt(t, end, p.Keys), floatsAt(t, end, p.Values), floatsAt(t, end, p.q)
				p.Attend(p.q, p.q, p.ld, p.tokens, p.heads, p.first)
			}
		}
	})
}

func touchVectors(t *testing.T, end bool, x, y []float32) {
	x, y = floatsAt(t, end, x), floatsAt(t, end, y)
	sink += Dot(x, y)
	AddScaled(x, 0.5, y)
	RMSNorm(x, x, y, 1e-6)
	SiLUMul(x, y)
	Softmax(x)
	Exp(x)
}

// A matrix may lie at any address, as files have them.
func TestAnyAddress(t *testing.T) {
	each(t, func(t *testing.T) {
		r := random(19)
		for _, f := range formats {
			const rows, cols, tokens = 7, 96, 3
			data := encode(f, normal(r, rows*cols))
			x := normal(r, tokens*cols)
			for shift := range 9 {
				g := newGuarded(t, len(data)+shift)
				copy(g.free[shift:], data)
				w, err := NewMatrix(f, rows, cols, g.free[shift:][:len(data)])
				if err != nil {
					t.Fatal(err)
				}
				checkDocumented(t, &w, x, tokens)
			}
		}
	})
}

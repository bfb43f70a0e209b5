//go:build cuda

package kernels

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
)

// The PTX that scripts/cuda_ptx made of the sources, with their hashes.
//
//go:embed ptx/*.ptx
var texts embed.FS

// Set is the kernels, loaded on a device. Its methods only put launches into the thread's
// stream; each has an error where the arguments do not fit.
type Set struct {
	kernels         map[string]driver.Kernel
	multiprocessors int
}

// sources are the kernels of each source.
var sources = map[string][]string{
	"embed":         {"embed_bf16", "embed_f32"},
	"norm":          {"add_norm", "silu_mul"},
	"matvec":        {"matvec_bf16", "matvec_wide_bf16", "matvec_gated_bf16", "matvec_f32", "matvec_gated_f32"},
	"gemm":          {"gemm_bf16", "gemm_large_bf16", "gemm_f32"},
	"store":         {"qkv_store_bf16", "qkv_store_f32"},
	"attend":        {"attend_bf16", "attend_f32"},
	"attend_decode": {"attend_split1_bf16", "attend_split2_bf16", "attend_split4_bf16", "attend_split1_f32", "attend_split2_f32", "attend_split4_f32", "attend_join"},
	"choose":        {"argmax", "top_k"},
}

// Load loads all kernels. The number of the device's multiprocessors says how many blocks a
// matrix is cut into; results do not depend on it.
func Load(t *driver.Thread, multiprocessors int) (*Set, error) {
	if multiprocessors < 1 {
		return nil, fmt.Errorf("kernels: %d multiprocessors, expected at least 1", multiprocessors)
	}
	s := &Set{kernels: map[string]driver.Kernel{}, multiprocessors: multiprocessors}
	for source, names := range sources {
		text, err := fs.ReadFile(texts, "ptx/"+source+".ptx")
		if err != nil {
			return nil, fmt.Errorf("kernels: %w", err)
		}
		module, err := t.Load(source, text)
		if err != nil {
			return nil, fmt.Errorf("kernels: %w", err)
		}
		for _, name := range names {
			if s.kernels[name], err = module.Kernel(name); err != nil {
				return nil, fmt.Errorf("kernels: %w", err)
			}
		}
	}
	return s, nil
}

// launch is a kernel's launch, with the checks before it.
type launch struct {
	name        string
	grid, block driver.Dim
	shared      int // bytes of dynamic shared memory
	args        []uint64
	wrong       []string
}

// want notes what must hold of a named number.
func (l *launch) want(ok bool, name string, value int, expected string) {
	if !ok {
		l.wrong = append(l.wrong, fmt.Sprintf("%s %d, expected %s", name, value, expected))
	}
}

func (l *launch) wide(name string, value int) {
	l.want(value >= 8 && value%8 == 0, name, value, "a multiple of 8")
}

func (l *launch) some(name string, value int) {
	l.want(value >= 1, name, value, "at least 1")
}

// heads checks a shape of attention.
func (l *launch) heads(h HeadShape) {
	l.some("kvheads", h.KVHeads)
	l.want(h.Heads >= 1 && h.KVHeads >= 1 && h.Heads%h.KVHeads == 0, "heads", h.Heads, fmt.Sprintf("a multiple of %d kvheads", h.KVHeads))
	l.want(h.Dim >= HeadDimStep && h.Dim%HeadDimStep == 0 && h.Dim <= MostHeadDim, "headdim", h.Dim, fmt.Sprintf("a multiple of %d up to %d", HeadDimStep, MostHeadDim))
}

// put launches it, or says what does not fit.
func (s *Set) put(t *driver.Thread, l *launch) error {
	if l.wrong != nil {
		return fmt.Errorf("kernels: %s: %s", l.name, l.wrong[0])
	}
	return t.Launch(s.kernels[l.name], l.grid, l.block, l.shared, l.args...)
}

// dim is a grid or block of up to three numbers.
func dim(x int, yz ...int) driver.Dim {
	d := driver.Dim{X: x, Y: 1, Z: 1}
	if len(yz) > 0 {
		d.Y = yz[0]
	}
	if len(yz) > 1 {
		d.Z = yz[1]
	}
	return d
}

//go:build cuda

package cuda

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/checkpoint"
	"github.com/fanoutbench/fanoutbench/runtime/model/cpu"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
)

const files = "../checkpoint/testdata"

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func open(t testing.TB, name string) *checkpoint.Checkpoint {
	t.Helper()
	return stored.Open(t, filepath.Join(files, name))
}

// newModel makes a model on the fake device, which has nothing left when the test ends.
func newModel(t testing.TB, c *checkpoint.Checkpoint, o Options) *Model {
	t.Helper()
	drivertest.Fake(t)
	m, err := New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// subject is a checkpoint on the device; change is done to each model of it, whose number
// it gets.
func subject(c *checkpoint.Checkpoint, o Options, change func(m *Model, made int)) modeltest.Subject {
	made := 0
	return modeltest.Subject{VocabSize: c.VocabSize, New: func(t testing.TB, slots int, k *modeltest.Keeper) model.Model {
		o.Slots, o.Sampler = slots, k
		m := newModel(t, c, o)
		if change != nil {
			change(m, made)
		}
		made++
		return m
	}}
}

// oneWay has every token computed by the same kernels, in blocks of another size in each model, down
// to a token: then what a batch has in it shows in no bit.
func oneWay(m *Model, made int) {
	r := &m.block.room
	r.few, r.splits = 0, 0
	if made%4 != 0 {
		r.tokens, r.rows, r.table = 1+made*7%60, 1+made*3%8, m.config.ContextLength
	}
}

// onCPU is the same by package cpu.
func onCPU(c *checkpoint.Checkpoint, o Options) modeltest.Subject {
	return modeltest.Subject{VocabSize: c.VocabSize, New: func(t testing.TB, slots int, k *modeltest.Keeper) model.Model {
		m, err := cpu.New(c, cpu.Options{DType: o.DType, Slots: slots, Sampler: k})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Close)
		return m
	}}
}

// distance is the largest difference among the logits; where one is -Inf so is the other.
func distance(t *testing.T, got, want [][]float32) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("logits at %d positions, want %d", len(got), len(want))
	}
	worst := 0.0
	for p := range want {
		if len(got[p]) != len(want[p]) {
			t.Fatalf("%d logits at position %d, want %d", len(got[p]), p, len(want[p]))
		}
		for id, v := range got[p] {
			if v == want[p][id] { // padding is
				continue
			}
			off := math.Abs(float64(v) - float64(want[p][id]))
			if !(off < math.MaxFloat64) {
				t.Fatalf("position %d, id %d: logit %v, want %v", p, id, v, want[p][id])
			}
			worst = max(worst, off)
		}
	}
	return worst
}

func drawn(n, vocab int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(7*i*i+3*i+i/5) % int64(vocab)
	}
	return ids
}

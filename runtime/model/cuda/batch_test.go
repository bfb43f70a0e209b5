//go:build cuda

package cuda

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver/drivertest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest"
	"github.com/fanoutbench/fanoutbench/runtime/model/modeltest/stored"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/tensor"
)

// Batches drawn anyhow, in blocks of any size down to a token, prefixes found in slots: by one way through the
// kernels logits are equal bit for bit to those of each request alone; as it is served, with
// few tokens on another way than many, they are near, and near to package cpu's.
func TestBatches(t *testing.T) {
	for name, c := range map[string]qwen3.Config{"qwen3": stored.Small(), "llama": stored.Tied()} {
		w := stored.Seeded(t, c, 5)
		for d, near := range bounds {
			from := stored.Checkpoint(t, c, w, d)
			exact, served := subject(from, Options{}, oneWay), subject(from, Options{}, nil)
			served.Within = near
			cpu := onCPU(from, Options{DType: d})
			beside := served
			beside.Twin = &cpu
			var draws modeltest.Draws
			for seed := range uint64(2) {
				exact.TestBatches(t, seed, 16, &draws)
				served.TestBatches(t, seed, 16, &draws)
				beside.TestBatches(t, seed, 16, &draws)
			}
			if draws.Batches < 15 || draws.Shared == 0 || draws.Cut == 0 {
				t.Errorf("%s, %v: %+v: the test shows too little", name, d, draws)
			}
		}
	}
}

// One to eight requests decode together, over the bound between two parts of a context: each one's logits
// are those that it has alone, bit for bit, which are package cpu's within their bound.
func TestDecodesTogether(t *testing.T) {
	for name, c := range map[string]qwen3.Config{"qwen3": stored.Small(), "llama": stored.Tied()} {
		for d := range bounds {
			t.Run(fmt.Sprint(name, " ", d), func(t *testing.T) { decodeTogether(t, c, d) })
		}
	}
}

func decodeTogether(t *testing.T, c qwen3.Config, d tensor.DType) {
	const steps = 3
	from := stored.Checkpoint(t, c, stored.Seeded(t, c, 2), d)
	s := subject(from, Options{}, nil)
	var prompts [][]int64
	var tokens [][]int64
	var alone [][][]float32
	for i := range 8 {
		prompt := drawn(124+i, c.VocabSize)
		prompt[i] = int64(i)
		ids, logits := s.Alone(t, prompt, steps)
		if same, want := onCPU(from, Options{DType: d}).Alone(t, prompt, steps); !slices.Equal(ids, same) || distance(t, logits, want) > bounds[d] {
			t.Errorf("request %d: tokens %v and on the CPU %v, logits %v apart, want at most %v", i, ids, same, distance(t, logits, want), bounds[d])
		}
		prompts, tokens, alone = append(prompts, prompt), append(tokens, ids), append(alone, logits)
	}
	k := &modeltest.Keeper{}
	m, slots := s.New(t, 8*140, k), modeltest.ShuffledSlots(8*140, 1)
	for i := range 8 {
		modeltest.Forward(t, m, model.Work{IDs: prompts[i], Slots: slots[i*140:][:len(prompts[i])], Next: 1})
	}
	for n := 1; n <= 8; n++ { // the same positions each time
		k.Logits = nil
		for step := 1; step < steps; step++ {
			var works []model.Work
			for i := range n {
				start := len(prompts[i]) + step - 1
				works = append(works, model.Work{RID: fmt.Sprint(i), IDs: tokens[i][step-1 : step], Start: start, Slots: slots[i*140:][:start+1], Next: -1, Sample: true})
			}
			modeltest.Forward(t, m, works...)
			for i := range n {
				if !slices.Equal(k.Logits[(step-1)*n+i], alone[i][step]) {
					t.Fatalf("%v, %d requests: the %dth has other logits than alone in step %d", d, n, i, step)
				}
			}
		}
	}
}

// A kernel that relied on the order of threads would show here: every order of the fake driver's gives
// the same bits.
func TestOrdersOfThreads(t *testing.T) {
	c := stored.Tied()
	from := stored.Checkpoint(t, c, stored.Seeded(t, c, 4), tensor.BF16)
	var first [][]float32
	for _, order := range drivertest.Orders {
		t.Setenv("FAKECUDA_ORDER", order)
		ids, got := subject(from, Options{}, nil).Alone(t, drawn(40, c.VocabSize), 3)
		if first == nil {
			first = got
		}
		if !slices.EqualFunc(got, first, func(a, b []float32) bool { return slices.Equal(a, b) }) {
			t.Errorf("order %s: other logits than in the first order, tokens %v", order, ids)
		}
	}
}

// Batches that cannot be are refused, and no slot is written.
func TestRefusals(t *testing.T) {
	c := stored.Small()
	from := stored.Checkpoint(t, c, stored.Seeded(t, c, 1), tensor.F32)
	subject(from, Options{}, nil).TestRefusals(t, "cuda", func(m model.Model) bool {
		d := m.(*Model).device
		before, err := d.Counts()
		return err == nil && before.Launches == 0
	})
}

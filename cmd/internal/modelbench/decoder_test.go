package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// likeliest against sorting everything, with ties and padding.
func TestLikeliestIsThatOfSortingAll(t *testing.T) {
	r := seeded(3)
	for range 300 {
		logits := make([]float32, 1+r.IntN(30))
		for i := range logits {
			logits[i] = float32(r.IntN(8))
			if i > 0 && r.IntN(5) == 0 {
				logits[i] = float32(math.Inf(-1))
			}
		}
		var total float64
		var all []candidate
		for id, l := range logits {
			total += math.Exp(float64(l))
			if !math.IsInf(float64(l), -1) {
				all = append(all, candidate{ID: int64(id), Logit: float64(l)})
			}
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return int(b.Logit - a.Logit) })
		n := 1 + r.IntN(6)
		all = all[:min(n, len(all))]
		got := likeliest(logits, n)
		if len(got) != len(all) {
			t.Fatalf("%v: %d candidates %v, want %d", logits, len(got), got, len(all))
		}
		for i, c := range got {
			if c.ID != all[i].ID || c.Logit != all[i].Logit || math.Abs(c.Logprob-(c.Logit-math.Log(total))) > 1e-12 {
				t.Fatalf("%v: candidate %d is %+v, want %+v", logits, i, c, all[i])
			}
		}
	}
}

// The tokens of a decode are those of prefilling each longer prompt anew, in both runtimes, which agree.
func TestGenerateIsOneStepAfterAnother(t *testing.T) {
	// The file of Llama has matrices in Q8_0, which cpu multiplies with activations of 8 bits.
	for file, limit := range map[string]float64{qwen3File: 1e-4, llamaFile: 0.05} {
		var first generated
		for _, kind := range []string{runtimeCPU, runtimePlain} {
			d, err := openDecoder(file, kind, 40, 1)
			if err != nil {
				t.Fatal(err)
			}
			prompt := []int64{3, 1, 4, 1, 5, 9, 2, 6}
			whole, err := d.generate(generate{Prompt: prompt, Tokens: 10, Top: 5})
			if err != nil {
				t.Fatal(err)
			}
			for i, id := range whole.IDs {
				one, err := d.generate(generate{Prompt: append(slices.Clone(prompt), whole.IDs[:i]...), Tokens: 1, Top: 5})
				if err != nil || one.IDs[0] != id || !slices.Equal(one.Top[0], whole.Top[i]) {
					t.Fatalf("%s %s: token %d is %v %v (%v), want %v %v", file, kind, i, one.IDs, one.Top, err, id, whole.Top[i])
				}
			}
			if whole.PrefillSeconds <= 0 || whole.DecodeSeconds <= 0 || whole.CPUSeconds <= 0 || len(whole.IDs) != 10 {
				t.Errorf("%s %s: %+v, want times above 0 and 10 ids", file, kind, whole)
			}
			if kind == runtimeCPU {
				first = whole
			} else if c, n, err := agreed(first, whole, limit); err != nil || c.Differs {
				t.Errorf("%s: cpu and plain: %+v %+v (%v), want equal tokens", file, c, n, err)
			}
			if err := d.model.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// With Stop the token that ends a text is the last one.
func TestGenerateStops(t *testing.T) {
	d, err := openDecoder(qwen3File, runtimeCPU, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	ask := generate{Prompt: []int64{3, 1, 4}, Tokens: 10}
	whole, err := d.generate(ask)
	if err != nil {
		t.Fatal(err)
	}
	d.ready.EOS, ask.Stop = whole.IDs[4:5], true
	stopped, err := d.generate(ask)
	if want := whole.IDs[:1+slices.Index(whole.IDs, whole.IDs[4])]; err != nil || !slices.Equal(stopped.IDs, want) {
		t.Errorf("%v (%v), want %v", stopped.IDs, err, want)
	}
	if err := d.model.close(); err != nil {
		t.Error(err)
	}
}

func TestDecoderRefuses(t *testing.T) {
	d, err := openDecoder(qwen3File, runtimeCPU, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		ask  generate
		want string
	}{
		{generate{Tokens: 1}, "a prompt of 0 ids"},
		{generate{Prompt: []int64{1}, Tokens: 0}, "0 tokens"},
		{generate{Prompt: []int64{1}, Tokens: 11}, "room for 10"},
		{generate{Prompt: []int64{1, 99}, Tokens: 1}, "id 1 is 99, expected 0 to 63"},
		{generate{Prompt: []int64{-1}, Tokens: 1}, "id 0 is -1"},
		{generate{Prompt: []int64{1}, Tokens: 1, Top: -1}, "-1 candidates"},
	} {
		if _, err := d.generate(test.ask); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want an error with %q", test.ask, err, test.want)
		}
	}
	if err := d.model.close(); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		file, kind      string
		tokens, threads int
		want            string
	}{
		{"nowhere.gguf", runtimeCPU, 10, 1, "nowhere.gguf"},
		{qwen3File, "other", 10, 1, `runtime other, expected cpu or plain`},
		{qwen3File, runtimePlain, 10, 2, "2 threads, expected 1"},
		{qwen3File, runtimeCPU, 0, 1, "room for 0 tokens"},
		{qwen3File, runtimeCPU, 1 << 20, 1, "expected 1 to 4096"},
		{qwen3File, runtimeCPU, 10, 0, "0 threads"},
	} {
		if _, err := openDecoder(test.file, test.kind, test.tokens, test.threads); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want an error with %q", test, err, test.want)
		}
	}
}

// A pass adds every word once, however it is cut.
func TestPassReadsEverything(t *testing.T) {
	for _, threads := range []int{1, 2, 3} {
		r, err := newReader(int64(64*threads*5), threads)
		if err != nil {
			t.Fatal(err)
		}
		words := uint64(8 * threads * 5)
		if got, want := r.pass(), words*(words-1)/2; got != want {
			t.Errorf("%d threads: %d, want %d", threads, got, want)
		}
	}
	for _, test := range []struct {
		bytes   int64
		threads int
	}{{0, 1}, {100, 1}, {64, 2}, {64, 0}, {-64, 1}} {
		if _, err := newReader(test.bytes, test.threads); err == nil {
			t.Errorf("%+v: no error", test)
		}
	}
}

// So many bytes as memory has to give: an empty loop would be quicker than that.
func BenchmarkPass(b *testing.B) {
	const size = 256 << 20
	r, err := newReader(size, 2)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		r.pass()
	}
}

// counting keeps how many ids each call computes.
type counting struct {
	model.Model
	ids []int
}

func (c *counting) Forward(b *model.Batch) (model.Output, error) {
	c.ids = append(c.ids, len(b.Work[0].IDs))
	return c.Model.Forward(b)
}

// A prompt is computed at once, and each further token by itself: what is timed as decoding is.
func TestGenerateComputesEachTokenOnce(t *testing.T) {
	d, err := openDecoder(qwen3File, runtimeCPU, 40, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{Model: d.model.Model}
	d.model.Model = c
	for _, prompt := range [][]int64{{3, 1, 4, 1, 5}, {3}} {
		c.ids = nil
		if _, err := d.generate(generate{Prompt: prompt, Tokens: 4}); err != nil || !slices.Equal(c.ids, []int{len(prompt), 1, 1, 1}) {
			t.Errorf("ids in each call %v (%v), want %d and three times 1", c.ids, err, len(prompt))
		}
	}
	if err := d.model.close(); err != nil {
		t.Error(err)
	}
}

package sampling

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// number is a JSON number, or one that JSON has none for, as a string.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if u, err := strconv.Unquote(s); err == nil {
		s = u
	}
	f, err := strconv.ParseFloat(s, 64)
	*n = number(f)
	return err
}

// golden is what scripts/sampling_golden.py wrote.
type golden struct {
	Vocab int
	EOS   []int64
	Cases []struct {
		Params map[string]json.RawMessage

		Generated []int64
		Logits    []float32
		Adjusted  []number
		Logprobs  []number
		Left      []float64
	}
	Warpers []struct {
		Kind   string
		Value  float64
		Logits []float32
		Kept   []int
	}
	Verify []struct {
		Name  string
		Value json.RawMessage
		Taken bool
	}
	Philox []struct {
		Key, Counter, Words []string
	}
}

func readGolden(t *testing.T) golden {
	t.Helper()
	b, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Cases) < 30 || len(g.Warpers) < 20 || len(g.Verify) < 50 || len(g.Philox) == 0 {
		t.Fatalf("%d cases, %d warpers, %d values and %d random numbers, expected more", len(g.Cases), len(g.Warpers), len(g.Verify), len(g.Philox))
	}
	return g
}

// set fills in a parameter by SGLang's name and returns max_new_tokens.
func set(t *testing.T, p *model.Sampling, name string, value json.RawMessage) int {
	t.Helper()
	maxNew := 128
	var err error
	number := func(to *float64) {
		var n number
		err = json.Unmarshal(value, &n)
		*to = float64(n)
	}
	switch name {
	case "temperature":
		number(&p.Temperature)
	case "top_p":
		number(&p.TopP)
	case "top_k":
		err = json.Unmarshal(value, &p.TopK)
	case "min_p":
		number(&p.MinP)
	case "frequency_penalty":
		number(&p.FrequencyPenalty)
	case "presence_penalty":
		number(&p.PresencePenalty)
	case "repetition_penalty":
		number(&p.RepetitionPenalty)
	case "min_new_tokens":
		err = json.Unmarshal(value, &p.MinNewTokens)
	case "max_new_tokens":
		err = json.Unmarshal(value, &maxNew)
	case "stop_token_ids":
		err = json.Unmarshal(value, &p.StopTokenIDs)
	case "logit_bias":
		err = json.Unmarshal(value, &p.LogitBias)
	default:
		t.Fatalf("no parameter %s", name)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return maxNew
}

// weightsOf are the sampler's weights after its filters, which sum to 1.
func weightsOf(s *Sampler, p *model.Sampling) []float64 {
	s.draw(p, s.logits[argmax(s.logits)], 0)
	total := 0.0
	for _, w := range s.weights {
		total += w
	}
	out := slices.Clone(s.weights)
	for i := range out {
		out[i] /= total
	}
	return out
}

func TestSGLangGoldens(t *testing.T) {
	g := readGolden(t)
	s := newSampler(t, g.Vocab, g.EOS...)
	for n, c := range g.Cases {
		p := Default()
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			set(t, &p, name, c.Params[name])
		}
		w := &model.Work{RID: "r", Tokens: c.Generated, Sampling: &p, Logprobs: model.Logprobs{Want: true, Top: g.Vocab}}
		choice, err := s.Choose(w, c.Logits)
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range c.Adjusted {
			if got := s.logits[id]; !(math.Abs(got-float64(want)) < 1e-5) && got != float64(want) {
				t.Errorf("case %d: the logit of id %d is %g after penalties, SGLang has %g", n, id, got, want)
			}
		}
		for _, top := range choice.Step.Top {
			want := max(float64(c.Logprobs[top.ID]), -math.MaxFloat32)
			if !(math.Abs(top.Val-want) <= 2e-5*max(1, math.Abs(want))) && top.Val != want {
				t.Errorf("case %d: the log-probability of id %d is %g, SGLang has %g", n, top.ID, top.Val, want)
			}
		}
		for id, got := range weightsOf(s, &p) {
			if want := c.Left[id]; !(math.Abs(got-want) < 2e-6) {
				t.Errorf("case %d: id %d is left with %g, SGLang has %g", n, id, got, want)
			}
		}
	}
}

func TestTransformersGoldens(t *testing.T) {
	g := readGolden(t)
	s := newSampler(t, g.Vocab)
	for n, c := range g.Warpers {
		p := Default()
		switch c.Kind {
		case "top_k":
			p.TopK = int(c.Value)
		case "top_p":
			p.TopP = c.Value
		case "min_p":
			p.MinP = c.Value
		}
		if err := s.take(c.Logits); err != nil {
			t.Fatal(err)
		}
		var kept []int
		for id, w := range weightsOf(s, &p) {
			if w > 0 {
				kept = append(kept, id)
			}
		}
		if !slices.Equal(kept, c.Kept) {
			t.Errorf("warper %d, %s %g: keeps %v, transformers %v", n, c.Kind, c.Value, kept, c.Kept)
		}
	}
}

// What SGLang refuses is refused, and the rest is taken.
func TestSGLangVerifies(t *testing.T) {
	g := readGolden(t)
	for _, c := range g.Verify {
		p := Default()
		maxNew := set(t, &p, c.Name, c.Value)
		if err := Check(&p, maxNew, g.Vocab); (err == nil) != c.Taken {
			t.Errorf("%s %s: %v; SGLang takes it: %t", c.Name, c.Value, err, c.Taken)
		}
	}
}

func TestNumpyPhilox(t *testing.T) {
	words := func(list []string) []uint64 {
		var out []uint64
		for _, s := range list {
			v, err := strconv.ParseUint(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	for _, c := range readGolden(t).Philox {
		key, counter := words(c.Key), words(c.Counter)
		got := Random([2]uint64(key), [4]uint64(counter))
		if want := words(c.Words); !slices.Equal(got[:], want) {
			t.Errorf("key %v, counter %v: %v, numpy has %v", key, counter, got, want)
		}
	}
}

// The known answers of Random123 (its kat_vectors).
func TestPhiloxKnownAnswers(t *testing.T) {
	got := Random([2]uint64{}, [4]uint64{})
	want := [4]uint64{0x16554d9eca36314c, 0xdb20fe9d672d0fdc, 0xd7e772cee186176b, 0x7e68b68aec7ba23b}
	if got != want {
		t.Errorf("zeros: %x, want %x", got, want)
	}
}

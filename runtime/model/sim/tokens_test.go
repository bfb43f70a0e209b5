package sim

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

var mixed = Shares{MultiByte: 0.3, Empty: 0.1, Special: 0.05, Stop: 0.01}

func seeded(w model.Work, seed int64) model.Work {
	w.Sampling = &model.Sampling{Seed: &seed}
	return w
}

// generate gives the first n tokens of a seed behind a prompt.
func generate(t *testing.T, m *Model, seed int64, n int, prompt ...int64) []int64 {
	t.Helper()
	tokens := slices.Clone(prompt)
	for len(tokens) < len(prompt)+n {
		w := seeded(work("r", len(prompt), len(tokens)-1, tokens...), seed)
		tokens = append(tokens, forward(t, m, w).Chosen[0].Token)
	}
	return tokens[len(prompt):]
}

// twin makes whole characters one after the other, and never looks back.
func twin(m *Model, seed int64, n int) []int64 {
	var out []int64
	for len(out) < n {
		words := sampling.Random(sampling.Key(&seed, 0, ""), [4]uint64{uint64(len(out)), forTokens})
		switch k := m.kinds.at(sampling.Uniform(words[0])); k {
		case ascii:
			out = append(out, int64(' '+words[1]%95))
		case empty:
			out = append(out, 256)
		case special:
			out = append(out, 259+int64(words[1]%5))
		case stop:
			out = append(out, 257+int64(words[1]%2))
		default:
			for _, b := range character(int(k), words[1]) {
				out = append(out, int64(b))
			}
		}
	}
	return out[:n]
}

func TestTwin(t *testing.T) {
	m := device(t, Config{Shares: mixed})
	for seed := range int64(20) {
		got, want := generate(t, m, seed, 300, 65, 66), twin(m, seed, 300)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
		// The prompt does not matter, though it ends within a character.
		if got := generate(t, m, seed, 50, 0xf0); !slices.Equal(got, want[:50]) {
			t.Fatalf("seed %d, another prompt: %v, want %v", seed, got, want[:50])
		}
	}
}

// The stated shares are those of the tokens. The seed is fixed.
func TestShares(t *testing.T) {
	const n = 200_000
	for _, shares := range []Shares{{}, mixed, {MultiByte: 1}, {Empty: 0.5, Special: 0.5}, {MultiByte: 0.5, Stop: 0.25}} {
		m := device(t, Config{Shares: shares})
		tokens := twin(m, 5, n)
		var got Shares
		widths := map[int]float64{}
		for i, id := range tokens {
			switch {
			case id == emptyID:
				got.Empty += 1. / n
			case id >= firstSpecial:
				got.Special += 1. / n
			case id >= firstStop:
				got.Stop += 1. / n
			case id >= 0x80:
				got.MultiByte += 1. / n
				if k := width(tokens[i]); k > 1 {
					widths[k] += float64(k) / n
				}
			}
		}
		for what, pair := range map[string][2]float64{
			"multi-byte": {got.MultiByte, shares.MultiByte}, "empty": {got.Empty, shares.Empty},
			"special": {got.Special, shares.Special}, "stop": {got.Stop, shares.Stop},
			"of two bytes": {widths[2], shares.MultiByte / 3}, "of three": {widths[3], shares.MultiByte / 3}, "of four": {widths[4], shares.MultiByte / 3},
		} {
			if !(math.Abs(pair[0]-pair[1]) < 0.005) {
				t.Errorf("%+v: a share of %g is %s, want %g", shares, pair[0], what, pair[1])
			}
		}
	}
}

// Decoded, the tokens are characters: no U+FFFD, except in one cut off.
func TestTextIsUTF8(t *testing.T) {
	decoder, err := tokenizer.NewBytes(Vocabulary())
	if err != nil {
		t.Fatal(err)
	}
	m := device(t, Config{Shares: mixed})
	tokens := twin(m, 3, 5000)
	tokens = tokens[:open(tokens)]
	text := decoder.AppendDecode(nil, tokens, true, true)
	if strings.ContainsRune(string(text), utf8.RuneError) || utf8.RuneCount(text) == len(text) {
		t.Errorf("%q has U+FFFD, or one byte a character", text)
	}
	if with := decoder.AppendDecode(nil, tokens, false, true); !strings.Contains(string(with), "<|im_end|>") || len(with) <= len(text) {
		t.Error("special tokens have no text")
	}
	if n := len(Vocabulary()); n != m.Limits().VocabSize || Vocabulary()[n-1].ID != int64(n-1) {
		t.Errorf("%d tokens in the vocabulary, want %d with ids up to it", n, m.Limits().VocabSize)
	}
	for _, id := range m.Limits().EOS {
		if !Vocabulary()[id].Special {
			t.Errorf("EOS %d is not special", id)
		}
	}
}

func TestRequestsDiffer(t *testing.T) {
	m := device(t, Config{Seed: 1})
	w := []model.Work{seeded(work("a", 1, 0, 65), 1), seeded(work("b", 1, 0, 65), 1), work("c", 1, 0, 65), work("d", 1, 0, 65), work("c", 1, 0, 66)}
	c := forward(t, m, w...).Chosen
	if c[0].Token != c[1].Token || c[2].Token != c[4].Token {
		t.Errorf("one seed, or one rid without a seed, has two tokens: %+v", c)
	}
	other := device(t, Config{Seed: 2})
	if d := forward(t, other, w...).Chosen; d[0].Token != c[0].Token || d[2].Token == c[2].Token {
		t.Errorf("the device's seed is not for requests without one, and for these only: %+v and %+v", c, d)
	}
	if c[2].Token == c[3].Token || c[0].Token == c[2].Token {
		t.Errorf("requests have one token: %+v", c)
	}
}

func TestMinNewTokens(t *testing.T) {
	m := device(t, Config{Shares: Shares{Stop: 1}})
	w := seeded(work("a", 1, 0, 65), 4)
	w.Sampling.MinNewTokens = 1
	for id := int64(' '); id <= '~'; id++ {
		if id != 'q' {
			w.Sampling.StopTokenIDs = append(w.Sampling.StopTokenIDs, id)
		}
	}
	if got := forward(t, m, w).Chosen[0].Token; got != 'q' {
		t.Errorf("too early to stop: token %d, want %d, the only one left", got, 'q')
	}
	w.Sampling.MinNewTokens = 0
	if got := forward(t, m, w).Chosen[0].Token; !slices.Contains(m.Limits().EOS, got) {
		t.Errorf("token %d, want an EOS", got)
	}
}

func TestScores(t *testing.T) {
	m := device(t, Config{Shares: mixed})
	w := seeded(work("a", 3, 1, 70, 71, 72), 8)
	w.Logprobs = model.Logprobs{Want: true, InputStart: 1, Top: vocabSize, IDs: []int64{9, 9}}
	c := forward(t, m, w).Chosen[0]
	if c.Step.Token.ID != c.Token || c.Step.Top[0] != c.Step.Token || c.Step.IDs[0] != c.Step.IDs[1] || c.Step.IDs[0].ID != 9 {
		t.Errorf("chosen %d: %+v", c.Token, c.Step)
	}
	if len(c.Input) != 1 || c.Input[0].Token.ID != 72 {
		t.Fatalf("input %+v, want that of token 72 alone: before it stands the one position from 1 on with a token behind it", c.Input)
	}
	for _, p := range append(c.Input, c.Step) {
		sum := 0.0
		for _, top := range p.Top {
			sum += math.Exp(top.Val)
		}
		if !(math.Abs(sum-1) < 1e-5) || len(p.Top) != vocabSize {
			t.Errorf("%d probabilities sum to %g, want 1", len(p.Top), sum)
		}
	}
	// In two chunks the scores are the same.
	first, second := seeded(work("a", 3, 0, 70, 71), 8), w
	first.Sample, first.Next, first.Logprobs = false, 72, w.Logprobs
	second.IDs, second.Start = w.Tokens[2:], 2
	a, b := forward(t, m, first).Chosen[0], forward(t, m, second).Chosen[0]
	if len(a.Input) != 1 || a.Input[0].Token != c.Input[0].Token || len(b.Input) != 0 || b.Step.Token != c.Step.Token {
		t.Errorf("in chunks: %+v and %+v, whole: %+v", a.Input, b.Step.Token, c)
	}
	w.Logprobs = model.Logprobs{}
	if c := forward(t, m, w).Chosen[0]; c.Step.Token.Val != 0 || c.Input != nil || c.Step.Token.ID != c.Token {
		t.Errorf("not wanted: %+v", c)
	}
}

// What is said of a text does not depend on the request that it is in, but on the text.
func TestScoresOfText(t *testing.T) {
	m := device(t, Config{Shares: mixed, Seed: 5})
	said := func(rid string, tokens ...int64) model.Choice {
		w := work(rid, len(tokens), 0, tokens...)
		w.Logprobs = model.Logprobs{Want: true, InputStart: 0, IDs: []int64{9}}
		return forward(t, m, w).Chosen[0]
	}
	a, b, other := said("a", 70, 71, 72), said("b", 70, 71, 72), said("a", 70, 73, 72)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v and %+v, want one text to have the same scores in both requests", a, b)
	}
	if a.Step.IDs[0] == other.Step.IDs[0] {
		t.Errorf("score %v after another text too", a.Step.IDs[0])
	}
}

// Whatever was generated before, the next token is one of the vocabulary.
func FuzzNext(f *testing.F) {
	f.Add([]byte{0xf0, 0x9f}, uint64(1))
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0xff}, uint64(2))
	f.Fuzz(func(t *testing.T, before []byte, seed uint64) {
		m := device(t, Config{Shares: mixed})
		tokens := make([]int64, len(before))
		for i, b := range before {
			tokens[i] = int64(b)
		}
		if id := m.next([2]uint64{seed}, tokens); id < 0 || id >= vocabSize {
			t.Errorf("token %d behind %v", id, tokens)
		}
	})
}

package bpe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func cutBy(t *testing.T, steps []splitter, text string) []string {
	t.Helper()
	var out []string
	err := splitAll(steps, text, func(w string) error {
		out = append(out, w)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The splitters by hand cut as regexp2 does by the pattern itself.
func TestSplitTwin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		pattern string
		hand    splitter
	}{{patternGPT2, splitGPT2}, {patternQwen, splitQwen}, {patternLlama3, splitLlama3}} {
		known, err := pattern(c.pattern)
		if err != nil || known == nil {
			t.Fatalf("%q: %v", c.pattern, err)
		}
		twin, err := expression(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for range cases(3000) {
			text := randomText(rng)
			if text == "" || hasNewLetter(text) {
				continue
			}
			got, want := cutBy(t, []splitter{c.hand}, text), cutBy(t, []splitter{twin}, text)
			if !slices.Equal(got, want) {
				t.Fatalf("%q cuts %+q into %+q, want %+q", c.pattern, text, got, want)
			}
		}
	}
}

// A splitter emits the whole text, in words that are not empty.
func TestSplitWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	gpt4o, err := pattern(patternGPT4o)
	if err != nil {
		t.Fatal(err)
	}
	for range cases(2000) {
		text := randomText(rng)
		if text == "" {
			continue
		}
		for _, steps := range [][]splitter{{digits, splitGPT2}, {splitQwen, digits}, {gpt4o}, {splitLlama3}} {
			words := cutBy(t, steps, text)
			if strings.Join(words, "") != text || slices.Contains(words, "") {
				t.Fatalf("%+q is cut into %+q", text, words)
			}
		}
	}
}

func TestDigits(t *testing.T) {
	if got, want := cutBy(t, []splitter{digits}, "a12²b٣"), []string{"a", "1", "2", "²", "b", "٣"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

package bpe

import (
	"fmt"

	"github.com/dlclark/regexp2/v2"
)

// The patterns that are known, as tokenizer.json writes them.
const (
	patternGPT2   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	patternQwen   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternLlama3 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternQwen35 = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	patternGPT4o  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n/]+|\s+(?!\S)|\s+`
)

var (
	splitGPT2   = words(gpt2)
	splitQwen   = words(func(s string, i int) int { return llama3(s, i, 1) })
	splitLlama3 = words(func(s string, i int) int { return llama3(s, i, 3) })
)

// pattern is the splitter of a pattern that is known.
func pattern(text string) (splitter, error) {
	switch text {
	case patternGPT2:
		return splitGPT2, nil
	case patternQwen:
		return splitQwen, nil
	case patternLlama3:
		return splitLlama3, nil
	case patternQwen35, patternGPT4o:
		return expression(text)
	}
	return nil, fmt.Errorf("the pattern %q is not known, expected that of GPT-2, Llama 3, Qwen2 and 3, Qwen3.5 or GPT-4o", text)
}

// expression is the splitter that regexp2 makes of a pattern. What no match
// covers is a word too.
func expression(text string) (splitter, error) {
	re, err := regexp2.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", text, err)
	}
	return func(s string, emit func(string) error) error {
		matches, err := re.FindAllStringIndex(s, -1)
		if err != nil {
			return fmt.Errorf("the pattern %q: %w", text, err)
		}
		start := 0
		for _, m := range append(matches, []int{len(s), len(s)}) {
			for _, end := range m {
				if start < end {
					if err := emit(s[start:end]); err != nil {
						return err
					}
				}
				start = end
			}
		}
		return nil
	}, nil
}

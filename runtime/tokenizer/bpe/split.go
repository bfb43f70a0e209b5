package bpe

import (
	"strings"
	"unicode/utf8"
)

// A splitter cuts a text, which is not empty, into words and emits all of it in
// order. It fails when a regular expression does.
type splitter func(text string, emit func(word string) error) error

// splitAll cuts text with each splitter in turn, the next one cutting the words
// of the one before.
func splitAll(steps []splitter, text string, emit func(string) error) error {
	if len(steps) == 0 {
		return emit(text)
	}
	return steps[0](text, func(word string) error { return splitAll(steps[1:], word, emit) })
}

// digits makes every digit a word.
func digits(text string, emit func(string) error) error {
	start := 0
	for i, r := range text {
		if !isNumeric(r) {
			continue
		}
		if start < i {
			if err := emit(text[start:i]); err != nil {
				return err
			}
		}
		start = i + utf8.RuneLen(r)
		if err := emit(text[i:start]); err != nil {
			return err
		}
	}
	if start < len(text) {
		return emit(text[start:])
	}
	return nil
}

// words makes a splitter of a function that says where the word at s[i] ends.
func words(end func(s string, i int) int) splitter {
	return func(text string, emit func(string) error) error {
		for i := 0; i < len(text); {
			e := end(text, i)
			if err := emit(text[i:e]); err != nil {
				return err
			}
			i = e
		}
		return nil
	}
}

// gpt2 is where patternGPT2 ends a word.
func gpt2(s string, i int) int {
	if n := contraction(s[i:], false); n > 0 {
		return i + n
	}
	j := i
	if s[i] == ' ' {
		j++
	}
	switch c, _ := at(s, j); c {
	case letter, number, other:
		return run(s, j, c)
	}
	return blanks(s, i, false)
}

// llama3 is where patternLlama3 ends a word, and patternQwen, where a number has
// one digit instead of up to three.
func llama3(s string, i, digits int) int {
	if n := contraction(s[i:], true); n > 0 {
		return i + n
	}
	c, n := at(s, i)
	next, _ := at(s, i+n)
	switch {
	case c == letter:
		return run(s, i, letter)
	case c == number:
		return numbers(s, i, digits)
	case c != newline && next == letter:
		return run(s, i+n, letter)
	case c == other, s[i] == ' ' && next == other:
		return run(s, run(s, i+n, other), newline)
	}
	return blanks(s, i, true)
}

// numbers is where the numbers that begin at s[i] end, at most limit of them.
func numbers(s string, i, limit int) int {
	for ; limit > 0; limit-- {
		c, n := at(s, i)
		if c != number {
			break
		}
		i += n
	}
	return i
}

// blanks is where a word of white space ends that begins at s[i]: with lines
// (\s*[\r\n]+), behind the last line end of the run, if it has one. Otherwise the
// run's last blank is left to the next word (\s+(?!\S)), unless there is none or
// the blank is alone (\s+).
func blanks(s string, i int, lines bool) int {
	end, last, line := i, i, -1
	for {
		c, n := at(s, end)
		if c != space && c != newline {
			break
		}
		last = end
		end += n
		if c == newline {
			line = end
		}
	}
	switch {
	case lines && line >= 0:
		return line
	case end == len(s) || last == i:
		return end
	}
	return last
}

// contraction is the length of the English ending that s begins with, or 0: 's,
// 't, 're, 've, 'm, 'll or 'd. With fold, upper case counts, and the long s, which
// Unicode folds to s.
func contraction(s string, fold bool) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	s = s[1:]
	if fold && strings.HasPrefix(s, "ſ") {
		return 1 + len("ſ")
	}
	two := [2]byte{s[0]}
	if len(s) > 1 {
		two[1] = s[1]
	}
	if fold {
		two[0], two[1] = lower(two[0]), lower(two[1])
	}
	switch two[0] {
	case 's', 't', 'm', 'd':
		return 2
	}
	switch string(two[:]) {
	case "re", "ve", "ll":
		return 3
	}
	return 0
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

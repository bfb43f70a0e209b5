package sim

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
)

// Counters of Random, in their second word.
const (
	forTokens = 1
	forScores = 2
)

// characters has the ranges that characters of 2, 3 and 4 bytes are taken from.
var characters = [5]struct{ first, last rune }{
	2: {'\u00c0', '\u024f'},         // Latin
	3: {'\u4e00', '\u9fff'},         // CJK ideographs
	4: {'\U0001f300', '\U0001f5ff'}, // pictographs
}

// kind is what can begin at a position: a character of 2 to 4 bytes, or
type kind int

const (
	ascii kind = 1
	empty kind = iota + 4
	special
	stop
)

// kinds are the ranges of a uniform number that stand for each kind; what is
// left is ASCII. Something of n tokens that begins with probability q makes
// n · q of the tokens, so a share is divided by n, and by the sum of all.
type kinds []struct {
	kind  kind
	below float64
}

func (s Shares) kinds() kinds {
	var out kinds
	total := max(s.ascii(), 0)
	add := func(k kind, weight float64) {
		total += weight
		out = append(out, struct {
			kind  kind
			below float64
		}{k, weight})
	}
	for n := kind(2); n <= 4; n++ {
		add(n, s.MultiByte/3/float64(n))
	}
	add(empty, s.Empty)
	add(special, s.Special)
	add(stop, s.Stop)
	below := 0.0
	for i := range out {
		below += out[i].below / total
		out[i].below = below
	}
	return out
}

func (k kinds) at(u float64) kind {
	for _, r := range k {
		if u < r.below {
			return r.kind
		}
	}
	return ascii
}

// next is the token behind the generated ones.
func (m *Model) next(key [2]uint64, generated []int64) int64 {
	if begin := open(generated); begin < len(generated) {
		words := sampling.Random(key, [4]uint64{uint64(begin), forTokens})
		return int64(character(width(generated[begin]), words[1])[len(generated)-begin])
	}
	words := sampling.Random(key, [4]uint64{uint64(len(generated)), forTokens})
	switch k := m.kinds.at(sampling.Uniform(words[0])); k {
	case empty:
		return emptyID
	case special:
		return firstSpecial + int64(words[1]%(vocabSize-firstSpecial))
	case stop:
		return firstStop + int64(words[1]%(firstSpecial-firstStop))
	case ascii:
		return printable(words[1])
	default:
		return int64(character(int(k), words[1])[0])
	}
}

// printable is an ASCII character, from the blank to the tilde.
func printable(word uint64) int64 { return ' ' + int64(word%('~'-' '+1)) }

// character is the UTF-8 of one with that many bytes.
func character(width int, word uint64) []byte {
	c := characters[width]
	return utf8.AppendRune(nil, c.first+rune(word%uint64(c.last-c.first+1)))
}

// open is where a character begins whose last bytes are still to come; where
// none is open, the number of tokens.
func open(generated []int64) int {
	for n := 1; n <= min(3, len(generated)); n++ {
		id := generated[len(generated)-n]
		if id >= 0x80 && id < 0xc0 {
			continue
		}
		if width(id) > n {
			return len(generated) - n
		}
		break
	}
	return len(generated)
}

// width is how many bytes a character has that begins with the token.
func width(id int64) int {
	switch {
	case id >= 0xc2 && id < 0xe0:
		return 2
	case id >= 0xe0 && id < 0xf0:
		return 3
	case id >= 0xf0 && id < 0xf5:
		return 4
	}
	return 1
}

// choose is next, with an ASCII character for a stop token that comes too early.
func (m *Model) choose(w *model.Work, key [2]uint64) (int64, error) {
	generated := w.Tokens[w.Prompt:]
	id := m.next(key, generated)
	if w.Sampling == nil || len(generated) >= w.Sampling.MinNewTokens {
		return id, nil
	}
	banned := func(id int64) bool {
		return slices.Contains(m.limits.EOS, id) || slices.Contains(w.Sampling.StopTokenIDs, id)
	}
	if !banned(id) {
		return id, nil
	}
	word := sampling.Random(key, [4]uint64{uint64(len(generated)), forTokens})[2]
	for i := range uint64('~' - ' ' + 1) {
		if id := printable(word%1000 + i); !banned(id) {
			return id, nil
		}
	}
	return 0, fmt.Errorf("sim: rid %q: min_new_tokens is %d, and every printable ASCII character is a stop token", w.RID, w.Sampling.MinNewTokens)
}

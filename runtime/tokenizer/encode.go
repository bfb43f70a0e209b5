package tokenizer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// encoder finds the tokens of a text.
type encoder struct {
	bytes    [256]int64    // the token of a byte; -1: there is none
	specials [256][]*Token // by first byte, the longest first
	longest  int           // bytes of text that one token stands for, at most
}

func newEncoder(v *vocabulary) encoder {
	e := encoder{longest: 1}
	for i := range e.bytes {
		e.bytes[i] = -1
	}
	for i := range v.tokens {
		t := &v.tokens[i]
		switch {
		case len(t.Bytes) == 0:
		case t.Special:
			e.specials[t.Bytes[0]] = append(e.specials[t.Bytes[0]], t)
			e.longest = max(e.longest, len(t.Bytes))
		case len(t.Bytes) == 1 && e.bytes[t.Bytes[0]] < 0:
			e.bytes[t.Bytes[0]] = t.ID
		}
	}
	for _, list := range e.specials {
		slices.SortStableFunc(list, func(a, b *Token) int { return cmp.Compare(len(b.Bytes), len(a.Bytes)) })
	}
	return e
}

// Encode gives the ids of text: the text of a special token is that token, of
// several that begin at one place the longest, and every other byte is a token
// of its own. Of tokens with the same text the lowest id is used. Tokens of
// several bytes that are not special are not used.
func (b *Bytes) Encode(text string) ([]int64, error) {
	ids := make([]int64, 0, len(text))
	for i := 0; i < len(text); {
		if t := b.encoder.special(text[i:]); t != nil {
			ids = append(ids, t.ID)
			i += len(t.Bytes)
			continue
		}
		id := b.encoder.bytes[text[i]]
		if id < 0 {
			return nil, fmt.Errorf("tokenizer: byte %d of the text is 0x%02x, expected one that the vocabulary has a token for", i, text[i])
		}
		ids = append(ids, id)
		i++
	}
	return ids, nil
}

// LeastTokens is a number of tokens that text has at least, found without encoding
// it: its bytes over those of the longest token that Encode uses.
func (b *Bytes) LeastTokens(text string) int {
	return (len(text) + b.encoder.longest - 1) / b.encoder.longest
}

// special is the longest special token that text begins with, or nil.
func (e *encoder) special(text string) *Token {
	for _, t := range e.specials[text[0]] {
		if len(t.Bytes) <= len(text) && strings.HasPrefix(text, string(t.Bytes)) {
			return t
		}
	}
	return nil
}

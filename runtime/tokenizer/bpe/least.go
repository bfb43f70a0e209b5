package bpe

import (
	"unicode"
	"unicode/utf8"
)

// nfcShrinks is how many bytes of text NFC makes one byte of at most: U+1FBE, U+0308
// and U+0301 are seven, and become the two of U+0390.
const nfcShrinks = 4

// least is what [Tokenizer.LeastTokens] knows of the vocabulary.
type least struct {
	longest int  // bytes of text that one token stands for, blanks around it apart
	partial bool // some bytes have no token, and are left out
	blanks  bool // an added token takes the blanks around it, however many
}

func newLeast(d *definition, t *Tokenizer) least {
	l := least{longest: 1}
	for text := range d.tokens {
		l.longest = max(l.longest, len(spelled(text)))
	}
	for i := range d.added {
		a := &d.added[i]
		l.longest = max(l.longest, len(a.content), len(d.form(a)))
		l.blanks = l.blanks || a.left || a.right
	}
	for _, id := range t.bytes {
		l.partial = l.partial || id < 0
	}
	return l
}

// LeastTokens is a number of tokens that text has at least, found without encoding
// it: its bytes over those of the longest token. 0 where nothing can be said.
func (t *Tokenizer) LeastTokens(text string) int {
	n, each := t.certain(text), t.least.longest
	if t.nfc {
		each *= nfcShrinks
	}
	return (n + each - 1) / each
}

// certain is how many bytes of text are part of some token for certain.
func (t *Tokenizer) certain(text string) int {
	switch {
	case !t.least.partial && !t.least.blanks:
		return len(text)
	case t.least.partial && t.nfc:
		return 0 // NFC may make of a byte with a token one without
	}
	n := 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !t.least.blanks || !unicode.IsSpace(r) {
			n += t.known(text[i : i+size])
		}
		i += size
	}
	return n
}

// known is how many bytes of text have a token.
func (t *Tokenizer) known(text string) (n int) {
	for i := range len(text) {
		if t.bytes[text[i]] >= 0 {
			n++
		}
	}
	return n
}

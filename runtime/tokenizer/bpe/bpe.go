package bpe

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// Tokenizer is a byte-level BPE. It is safe for concurrent use.
type Tokenizer struct {
	text       *tokenizer.Bytes // makes bytes of ids
	size       int
	bytes      [256]int32 // the token of a byte; -1: there is none
	merges     merges
	whole      map[string]int32 // words that are tokens without a merge
	literal    *trie
	normalized *trie
	nfc        bool
	steps      []splitter
	cache      *cache
	least      least
	prefix     []int64 // before a prompt
}

// VocabSize is the largest id and one.
func (t *Tokenizer) VocabSize() int { return t.size }

// AppendDecode appends the text of ids to dst, with U+FFFD for what is no UTF-8,
// as [tokenizer.Bytes.AppendDecode] does.
func (t *Tokenizer) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	return t.text.AppendDecode(dst, ids, skipSpecial, spacesBetween)
}

// AppendBytes appends the bytes of ids to dst: what AppendDecode makes text of.
func (t *Tokenizer) AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte {
	return t.text.AppendBytes(dst, ids, skipSpecial)
}

// EncodePrompt gives the ids of a text that is a whole prompt: those of Encode, and
// before them those of the special tokens that the file has before every text.
func (t *Tokenizer) EncodePrompt(text string) ([]int64, error) {
	ids, err := t.Encode(text)
	if err != nil || len(t.prefix) == 0 {
		return ids, err
	}
	return slices.Concat(t.prefix, ids), nil
}

// Encode gives the ids of text, which must be UTF-8. No token is added to them.
func (t *Tokenizer) Encode(text string) ([]int64, error) {
	if len(text) > math.MaxInt32 {
		return nil, fmt.Errorf("bpe: a text of %d bytes, expected at most %d", len(text), math.MaxInt32)
	}
	if i := notUTF8(text); i >= 0 {
		return nil, fmt.Errorf("bpe: byte %d of the text is 0x%02x, expected UTF-8", i, text[i])
	}
	e := encoding{t: t, ids: make([]int64, 0, len(text)/4+4)}
	if err := t.literal.cut(text, e.plain, e.token); err != nil {
		return nil, fmt.Errorf("bpe: %w", err)
	}
	return e.ids, nil
}

// notUTF8 is where text stops being UTF-8, or -1.
func notUTF8(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// encoding is one call of Encode.
type encoding struct {
	t       *Tokenizer
	ids     []int64
	symbols []int32 // a word's bytes, and behind them what they become
}

func (e *encoding) token(id int32) { e.ids = append(e.ids, int64(id)) }

// plain encodes text without literal added tokens.
func (e *encoding) plain(text string) error {
	if e.t.nfc {
		text = nfc(text)
	}
	return e.t.normalized.cut(text, func(text string) error {
		return splitAll(e.t.steps, text, e.word)
	}, e.token)
}

// word encodes one word.
func (e *encoding) word(word string) error {
	ids, ok := e.t.cache.get(word)
	if !ok {
		ids = e.merged(word)
		e.t.cache.put(word, ids)
	}
	for _, id := range ids {
		e.token(id)
	}
	return nil
}

// merged are the tokens of a word, valid until the next call.
func (e *encoding) merged(word string) []int32 {
	if id, ok := e.t.whole[word]; ok {
		e.symbols = append(e.symbols[:0], id)
		return e.symbols
	}
	e.symbols = e.symbols[:0]
	for i := range len(word) {
		if id := e.t.bytes[word[i]]; id >= 0 {
			e.symbols = append(e.symbols, id)
		}
	}
	n := len(e.symbols)
	e.symbols = e.t.merges.appendMerged(e.symbols, e.symbols)
	return e.symbols[n:]
}

package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// unknownWord is the token that stands for words outside the vocabulary.
const unknownWord = "[UNK]"

// WordLevel is a vocabulary of words joined by single blanks. It is safe for
// concurrent use.
type WordLevel struct {
	vocabulary
	ids map[string]int64
}

// NewWordLevel makes a tokenizer from vocab, in any order. Of two tokens with
// the same word, Encode uses the lower id.
func NewWordLevel(vocab []Token) (*WordLevel, error) {
	v, err := newVocabulary(vocab)
	if err != nil {
		return nil, err
	}
	w := &WordLevel{vocabulary: v, ids: make(map[string]int64, len(v.tokens))}
	for _, t := range v.tokens {
		if !utf8.Valid(t.Bytes) {
			return nil, fmt.Errorf("tokenizer: the word %q of id %d is not UTF-8; a vocabulary of bytes may hold parts of characters, one of words may not", t.Bytes, t.ID)
		}
		if _, taken := w.ids[string(t.Bytes)]; !taken {
			w.ids[string(t.Bytes)] = t.ID
		}
	}
	return w, nil
}

// AppendDecode appends the words of ids, joined by single blanks, to dst. The
// package documentation says what the flags do.
func (w *WordLevel) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	first := true
	for _, id := range ids {
		t := w.lookup(id)
		if t == nil || t.Special && skipSpecial {
			continue
		}
		if !first {
			dst = append(dst, ' ')
		}
		first = false
		dst = append(dst, t.Bytes...)
	}
	return dst
}

// Encode splits text at blanks and returns the ids of its words. A word outside
// the vocabulary becomes [UNK]; without an [UNK] token it is an error.
func (w *WordLevel) Encode(text string) ([]int64, error) {
	words := strings.Fields(text)
	ids := make([]int64, len(words))
	unknown, hasUnknown := w.ids[unknownWord]
	for i, word := range words {
		id, ok := w.ids[word]
		if !ok && !hasUnknown {
			return nil, fmt.Errorf("tokenizer: word %d, %q, is not in the vocabulary, which has no %s token", i, word, unknownWord)
		}
		if !ok {
			id = unknown
		}
		ids[i] = id
	}
	return ids, nil
}

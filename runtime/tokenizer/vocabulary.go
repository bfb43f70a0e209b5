package tokenizer

import (
	"errors"
	"fmt"
	"slices"
)

// Token is one entry of a vocabulary.
type Token struct {
	ID      int64
	Bytes   []byte
	Special bool
}

// vocabulary holds tokens sorted by id.
type vocabulary struct {
	tokens []Token
	zero   *Token // the piece for ids outside the vocabulary; nil without id 0
}

func newVocabulary(tokens []Token) (vocabulary, error) {
	if len(tokens) == 0 {
		return vocabulary{}, errors.New("tokenizer: empty vocabulary, expected at least one token")
	}
	sorted := make([]Token, len(tokens))
	for i, t := range tokens {
		if t.ID < 0 {
			return vocabulary{}, fmt.Errorf("tokenizer: token %q has id %d, expected 0 or more", t.Bytes, t.ID)
		}
		t.Bytes = slices.Clone(t.Bytes)
		sorted[i] = t
	}
	slices.SortStableFunc(sorted, func(a, b Token) int {
		switch {
		case a.ID < b.ID:
			return -1
		case a.ID > b.ID:
			return 1
		}
		return 0
	})
	for i := 1; i < len(sorted); i++ {
		if a, b := sorted[i-1], sorted[i]; a.ID == b.ID {
			return vocabulary{}, fmt.Errorf("tokenizer: id %d is given twice, to %q and to %q", a.ID, a.Bytes, b.Bytes)
		}
	}
	v := vocabulary{tokens: sorted}
	if sorted[0].ID == 0 {
		v.zero = &v.tokens[0]
	}
	return v, nil
}

// lookup returns the token that id decodes to, or nil when it decodes to nothing.
func (v *vocabulary) lookup(id int64) *Token {
	// Ids are distinct and not negative, so token i has an id of at least i:
	// without gaps before it, a token lies at its own index.
	if uint64(id) < uint64(len(v.tokens)) && v.tokens[id].ID == id {
		return &v.tokens[id]
	}
	low, high := 0, len(v.tokens)
	for low < high {
		mid := int(uint(low+high) >> 1)
		if v.tokens[mid].ID < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(v.tokens) && v.tokens[low].ID == id {
		return &v.tokens[low]
	}
	return v.zero
}

package bpe

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// maxID is above every id, and maxAdded is the length of the longest added token:
// what is more is a broken file, and costs memory, or time with every text.
const (
	maxID    = 1 << 24
	maxAdded = 4096
)

// definition is what a file says, whatever its format.
type definition struct {
	tokens map[string]int32 // of the model, in the vocabulary's letters
	merges [][2]string      // the first of them first
	added  []added
	nfc    bool
	steps  []splitter
	whole  bool    // a word that is a token needs no merges
	prefix []int32 // the tokens before a prompt
}

// build checks d and makes the tokenizer of it.
func (d *definition) build() (*Tokenizer, error) {
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	t := &Tokenizer{steps: d.steps, nfc: d.nfc, cache: newCache()}
	if t.merges, err = d.rules(); err != nil {
		return nil, err
	}
	if t.text, err = tokenizer.NewBytes(names); err != nil {
		return nil, err
	}
	for b, r := range letters {
		id, ok := d.tokens[string(r)]
		if !ok {
			id = -1
		}
		t.bytes[b] = id
	}
	if d.whole {
		t.whole = make(map[string]int32, len(d.tokens))
		for text, id := range d.tokens {
			t.whole[string(spelled(text))] = id
		}
	}
	for _, n := range names {
		t.size = max(t.size, int(n.ID)+1)
	}
	t.literal, t.normalized = d.tries()
	for _, id := range d.prefix {
		if !slices.ContainsFunc(names, func(n tokenizer.Token) bool { return n.ID == int64(id) }) {
			return nil, fmt.Errorf("the id %d is to stand before a prompt, and the vocabulary has no token of it", id)
		}
		t.prefix = append(t.prefix, int64(id))
	}
	t.least = newLeast(d, t)
	return t, nil
}

// names are the tokens with their ids, all distinct.
func (d *definition) names() ([]tokenizer.Token, error) {
	taken := make(map[int32]string, len(d.tokens)+len(d.added))
	tokens := make([]tokenizer.Token, 0, len(d.tokens)+len(d.added))
	add := func(id int32, text string, special bool) error {
		if id < 0 || id >= maxID {
			return fmt.Errorf("the token %q has the id %d, expected 0 to %d", text, id, maxID-1)
		}
		if other, ok := taken[id]; ok {
			return fmt.Errorf("the id %d is given twice, to %q and to %q", id, min(other, text), max(other, text))
		}
		taken[id] = text
		tokens = append(tokens, tokenizer.Token{ID: int64(id), Bytes: spelled(text), Special: special})
		return nil
	}
	seen := make(map[string]bool, len(d.added))
	for _, a := range d.added {
		if a.content == "" || len(a.content) > maxAdded || !utf8.ValidString(a.content) {
			return nil, fmt.Errorf("the added token of id %d is %.40q, of %d bytes, expected UTF-8 of 1 to %d", a.id, a.content, len(a.content), maxAdded)
		}
		if seen[a.content] {
			return nil, fmt.Errorf("the added token %q is given twice", a.content)
		}
		seen[a.content] = true
		if id, ok := d.tokens[a.content]; ok && id != a.id {
			return nil, fmt.Errorf("the added token %q has the id %d, and %d in the vocabulary", a.content, a.id, id)
		}
		if err := add(a.id, d.form(&a), a.special); err != nil {
			return nil, err
		}
	}
	for text, id := range d.tokens {
		if seen[text] {
			continue
		}
		if text == "" {
			return nil, fmt.Errorf("the token of id %d is empty", id)
		}
		if err := add(id, text, false); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// rules are the merges by the ids of their tokens.
func (d *definition) rules() (merges, error) {
	out := make(merges, len(d.merges))
	for rank, m := range d.merges {
		var ids [3]int32
		for i, text := range []string{m[0], m[1], m[0] + m[1]} {
			id, ok := d.tokens[text]
			if !ok {
				return nil, fmt.Errorf("merge %d joins %q and %q, and the vocabulary has no token %q", rank, m[0], m[1], text)
			}
			ids[i] = id
		}
		pair := pairOf(ids[0], ids[1])
		if r, ok := out[pair]; ok {
			return nil, fmt.Errorf("merge %d joins %q and %q, as merge %d does", rank, m[0], m[1], r.rank)
		}
		out[pair] = rule{int32(rank), ids[2]}
	}
	return out, nil
}

// tries are those of the added tokens that are looked for in the text as it is,
// and in what the normalizer makes of it.
func (d *definition) tries() (literal, normalized *trie) {
	literal, normalized = newTrie(), newTrie()
	for i := range d.added {
		a := &d.added[i]
		if a.normalized {
			normalized.add(d.form(a), a)
		} else {
			literal.add(a.content, a)
		}
	}
	return literal, normalized
}

// form is the text that a is found by, and decodes to.
func (d *definition) form(a *added) string {
	if a.normalized && d.nfc {
		return nfc(a.content)
	}
	return a.content
}

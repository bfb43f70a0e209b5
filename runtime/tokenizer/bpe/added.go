package bpe

import (
	"strings"
	"unicode"
)

// added is an added token: text that stands for it wherever it occurs.
type added struct {
	id          int32
	content     string
	special     bool // left out by skipSpecial
	left, right bool // the blanks before it, after it, are part of it
	normalized  bool // found in the normalised text
}

// trie finds added tokens: a node a byte, from node 0. Its cost for a text is its
// length times that of the longest token.
type trie struct {
	nodes []node
}

type node struct {
	next  map[byte]int32
	token *added // that ends here
}

func newTrie() *trie { return &trie{nodes: make([]node, 1)} }

// add puts text into the trie for token; of two with one text the first stays.
func (t *trie) add(text string, token *added) {
	at := int32(0)
	for i := range len(text) {
		n := &t.nodes[at]
		if n.next == nil {
			n.next = make(map[byte]int32)
		}
		to, ok := n.next[text[i]]
		if !ok {
			to = int32(len(t.nodes))
			n.next[text[i]] = to
			t.nodes = append(t.nodes, node{})
		}
		at = to
	}
	if t.nodes[at].token == nil {
		t.nodes[at].token = token
	}
}

// match is the longest token that text[i:] begins with, and where it ends.
func (t *trie) match(text string, i int) (token *added, end int) {
	for at, ok := int32(0), true; ; i++ {
		if f := t.nodes[at].token; f != nil {
			token, end = f, i
		}
		if i == len(text) {
			return token, end
		}
		if at, ok = t.nodes[at].next[text[i]]; !ok {
			return token, end
		}
	}
}

// cut hands each added token's id to token, and the text between them to plain, in
// order. A token with blanks of its own takes them from the text, but not from a
// token before it; one that follows is found even where it begins with such a
// blank, as in the library followed.
func (t *trie) cut(text string, plain func(string) error, token func(id int32)) error {
	start := 0
	for i := 0; i < len(text); {
		if _, begins := t.nodes[0].next[text[i]]; !begins {
			i++
			continue
		}
		a, end := t.match(text, i)
		if a == nil {
			i++
			continue
		}
		from, to := i, end
		if a.left && start < i {
			from = start + len(strings.TrimRightFunc(text[start:i], unicode.IsSpace))
		}
		if a.right {
			to = len(text) - len(strings.TrimLeftFunc(text[max(start, end):], unicode.IsSpace))
		}
		if start < from {
			if err := plain(text[start:from]); err != nil {
				return err
			}
		}
		token(a.id)
		i, start = end, to
	}
	if start < len(text) {
		return plain(text[start:])
	}
	return nil
}

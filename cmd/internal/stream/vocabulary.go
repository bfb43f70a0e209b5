package stream

import (
	"math/rand/v2"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// The vocabulary of a mixed stream: id 0 stands for ids that are none, then a
// token for each byte, then pieces of text cut at any byte, then special tokens
// and tokens of nothing.
const (
	firstByte  = 1
	firstPiece = firstByte + 256
	pieces     = 700
	longest    = 8 // bytes of a piece
	empties    = 2
)

// specials are texts of special tokens; what they spell is in no other text.
var specials = []string{"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|ü|>"}

// Texts of mixed streams are these words with these between them. No word has
// the beginning of a stop string.
var (
	words = []string{
		"the", "of", "déjà", "naïve", "中文", "日本語", "かな", "Ελλάδα", "🙂", "👩‍👩‍👧", "über", "a", "I", "e\u0301",
		"x=1;", "\t", "{}", "Größe", "ไทย", "한국어", "�",
	}
	betweenWords = []string{" ", " ", " ", "\n", "", "，", "  "}
)

// stopStrings each begin with what no word has. "\n\n" is two of what may stand
// alone between words.
var stopStrings = []string{"\n\n", "###", "⟂END", "🛑", "Σtop é!", "</s>"}

// lexicon is a vocabulary with the way back from text to ids.
type lexicon struct {
	protocol.Vocabulary
	ids      map[string]int64 // of pieces
	specials []int64
	empties  []int64
	outside  int64 // the first id that is none
}

// lexiconStream separates its random numbers from others of the seed.
const lexiconStream = 0x6c657869

// newLexicon is a function of the seed alone: every stream of a run has the same.
func newLexicon(seed uint64) lexicon {
	r := rand.New(rand.NewPCG(seed, lexiconStream))
	l := lexicon{Vocabulary: protocol.Vocabulary{Kind: protocol.VocabularyBytes}, ids: map[string]int64{}}
	l.add("[UNK]", false)
	for b := range 256 {
		l.add(string([]byte{byte(b)}), false)
	}
	for len(l.Tokens) < firstPiece+pieces {
		text := phrase(r, 4)
		from := r.IntN(len(text))
		piece := text[from:min(len(text), from+2+r.IntN(longest-1))]
		if _, taken := l.ids[piece]; !taken && len(piece) > 1 {
			l.ids[piece] = l.add(piece, false)
		}
	}
	for _, text := range specials {
		l.specials = append(l.specials, l.add(text, true))
	}
	for range empties {
		l.empties = append(l.empties, l.add("", false))
	}
	l.outside = int64(len(l.Tokens))
	return l
}

func (l *lexicon) add(piece string, special bool) int64 {
	id := int64(len(l.Tokens))
	l.Tokens = append(l.Tokens, protocol.Token{ID: id, Bytes: []byte(piece), Special: special})
	return id
}

// phrase is so many words with what stands between them.
func phrase(r *rand.Rand, n int) string {
	text := ""
	for range n {
		text += pick(r, words) + pick(r, betweenWords)
	}
	return text
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// piece is what an id adds to a text as bytes.
func (l *lexicon) piece(id int64, skip bool) []byte {
	if id < 0 || id >= l.outside {
		id = 0
	}
	t := l.Tokens[id]
	if t.Special && skip {
		return nil
	}
	return t.Bytes
}

package oracle

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// vocabulary is what texts are joined from.
type vocabulary struct {
	kind   string
	pieces map[int64]protocol.Token
}

func newVocabulary(v protocol.Vocabulary) (vocabulary, error) {
	out := vocabulary{kind: v.Kind, pieces: make(map[int64]protocol.Token, len(v.Tokens))}
	if v.Kind != protocol.VocabularyWords && v.Kind != protocol.VocabularyBytes {
		return out, fmt.Errorf("vocabulary kind %q, want %q or %q", v.Kind, protocol.VocabularyWords, protocol.VocabularyBytes)
	}
	for _, t := range v.Tokens {
		if _, twice := out.pieces[t.ID]; twice {
			return out, fmt.Errorf("vocabulary: id %d is given twice", t.ID)
		}
		if v.Kind == protocol.VocabularyWords && !utf8.Valid(t.Bytes) {
			return out, fmt.Errorf("vocabulary: the word %q of id %d is not UTF-8", t.Bytes, t.ID)
		}
		out.pieces[t.ID] = t
	}
	return out, nil
}

// text is what a rid's rows must bring in all: the text that its first row
// brings, and behind it what all ids decode to at once, without as many
// characters as the prompt's ids alone decode to, trimmed as the finish reason
// says. It is by characters and not by bytes: the end of the prompt may be half
// a character, U+FFFD when decoded alone.
func (v vocabulary) text(rows []*row) (string, error) {
	end, err := ending(rows)
	if err != nil {
		return "", err
	}
	q, err := collect(rows)
	if err != nil {
		return "", err
	}
	ids := q.ids
	if end.token {
		if ids, err = withoutStop(q, end); err != nil {
			return "", err
		}
	}
	prompt := utf8.RuneCountInString(v.join(q.ids[:q.prompt], q.skip))
	whole := q.before + behind(v.join(ids, q.skip), prompt)
	cut := end.cut(whole)
	if cut == len(whole) || len(rows) == 1 {
		return whole[:cut], nil
	}
	early := q.before + behind(v.join(q.ids[:q.early], q.skip), prompt)
	// Half a character at its end is kept back, whatever it becomes.
	if early = strings.TrimSuffix(early, string(utf8.RuneError)); len(early) > cut {
		return "", fmt.Errorf("the rows before the last bring the text %s, which the stop string %q cuts to %s: text that may have been sent cannot be judged",
			excerpt(early, len(early)), end.matched, excerpt(whole[:cut], cut))
	}
	return whole[:cut], nil
}

// gathered is what a rid's rows say of its text together.
type gathered struct {
	ids    []int64
	prompt int // how many of ids are the prompt's
	early  int // how many of ids came before the last row
	skip   bool
	before string // text from before the first row
}

func collect(rows []*row) (gathered, error) {
	var q gathered
	first := rows[0].fields
	for name, into := range map[string]any{"read_offsets": &q.prompt, "skip_special_tokens": &q.skip, "decoded_texts": &q.before} {
		if err := read(first, name, into); err != nil {
			return q, err
		}
	}
	for i, r := range rows {
		var more []int64
		if err := read(r.fields, "decode_ids", &more); err != nil {
			return q, err
		}
		q.early = len(q.ids)
		q.ids = append(q.ids, more...)
		if q.prompt < 0 || q.prompt > len(q.ids) { // of the first row: later ones only have more
			return q, fmt.Errorf("read_offsets is %d, want 0 to %d, the first row's ids", q.prompt, len(q.ids))
		}
		if !Same(r.fields["skip_special_tokens"], first["skip_special_tokens"], 0) {
			return q, fmt.Errorf("skip_special_tokens of row %d is %s, want %t as in the first row", i, show(r.fields["skip_special_tokens"]), q.skip)
		}
	}
	return q, nil
}

// behind is s without its first n characters.
func behind(s string, n int) string {
	r := []rune(s)
	return string(r[min(n, len(r)):])
}

// join decodes ids. An id that the vocabulary lacks counts as 0.
func (v vocabulary) join(ids []int64, skip bool) string {
	var parts []string
	for _, id := range ids {
		t, ok := v.pieces[id]
		if !ok {
			t, ok = v.pieces[0]
		}
		if ok && !(t.Special && skip) {
			parts = append(parts, string(t.Bytes))
		}
	}
	if v.kind == protocol.VocabularyWords {
		return strings.Join(parts, " ")
	}
	return replaced(strings.Join(parts, ""))
}

// replaced writes U+FFFD for each part of s that could have begun a character
// and does not go on as one, as Unicode recommends and Python does.
func replaced(s string) string {
	var out strings.Builder
	for s != "" {
		_, n := utf8.DecodeRuneInString(s)
		if utf8.ValidString(s[:n]) {
			out.WriteString(s[:n])
			s = s[n:]
			continue
		}
		for n < len(s) && !utf8.FullRuneInString(s[:n+1]) {
			n++
		}
		out.WriteRune(utf8.RuneError)
		s = s[n:]
	}
	return out.String()
}

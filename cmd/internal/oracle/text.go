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

// Finish reasons that cut nothing off the text. One that does ("stop") has
// rules of its own, which joining pieces cannot decide.
var uncut = map[string]bool{"length": true, "abort": true}

// checkFinish wants the last row to finish the request, by a reason that cuts
// nothing, and no row before it: a state that goes on keeps text back, and one
// that has ended begins anew.
func checkFinish(rows []*row) error {
	for i, r := range rows {
		raw := r.fields["finished_reasons"]
		last := i == len(rows)-1
		switch {
		case isNull(raw) && last:
			return fmt.Errorf("row %d is the last, and finished_reasons is null, want a reason", i)
		case isNull(raw):
			continue
		case !last:
			return fmt.Errorf("row %d of %d finishes by %s, want only the last one to finish", i, len(rows), show(raw))
		}
		var reason struct {
			Type string `json:"type"`
		}
		if err := read(r.fields, "finished_reasons", &reason); err != nil {
			return err
		}
		if !uncut[reason.Type] {
			return fmt.Errorf("finished_reasons is %s: for type %q the text cannot be worked out, only for \"length\" and \"abort\"", show(raw), reason.Type)
		}
	}
	return nil
}

// text is what all of a rid's ids decode to at once, behind as many characters
// as the prompt's ids alone decode to, and behind the text that its first row
// brings. It is by characters and not by bytes: the end of the prompt may be
// half a character, U+FFFD when decoded alone.
func (v vocabulary) text(rows []*row) (string, error) {
	if err := checkFinish(rows); err != nil {
		return "", err
	}
	var ids []int64
	var prompt int
	var skip bool
	var before string
	first := rows[0].fields
	for name, into := range map[string]any{"read_offsets": &prompt, "skip_special_tokens": &skip, "decoded_texts": &before} {
		if err := read(first, name, into); err != nil {
			return "", err
		}
	}
	for i, r := range rows {
		var more []int64
		if err := read(r.fields, "decode_ids", &more); err != nil {
			return "", err
		}
		ids = append(ids, more...)
		if prompt < 0 || prompt > len(ids) { // of the first row: later ones only have more
			return "", fmt.Errorf("read_offsets is %d, want 0 to %d, the first row's ids", prompt, len(ids))
		}
		if !Same(r.fields["skip_special_tokens"], first["skip_special_tokens"], 0) {
			return "", fmt.Errorf("skip_special_tokens of row %d is %s, want %t as in the first row", i, show(r.fields["skip_special_tokens"]), skip)
		}
	}
	return before + behind(v.join(ids, skip), utf8.RuneCountInString(v.join(ids[:prompt], skip))), nil
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

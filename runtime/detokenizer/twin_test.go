package detokenizer

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// han is the character class of transformers' _is_chinese_char, whose ranges
// are CJK Unified Ideographs, extensions A to E and the compatibility blocks.
var han = regexp.MustCompile(`[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}` +
	`\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]`)

// twin is the dumb Detokenizer of either method: it keeps every id, decodes
// everything at every row and cuts.
type twin struct {
	method   Method
	decoder  Decoder
	requests map[string]*twinRequest
	early    map[string]bool // so many ids waited that text may come earlier than this twin gives it
}

type twinRequest struct {
	before    []rune
	ids       []int64
	prompt    int
	committed int // characters of the output
	waiting   int // ids since the last commit
	sent      int // characters of before and output
}

func newTwin(m Method, d Decoder) *twin {
	return &twin{m, d, map[string]*twinRequest{}, map[string]bool{}}
}

func (w *twin) append(r Row) string {
	q := w.requests[r.RID]
	if q == nil {
		q = &twinRequest{before: []rune(string(r.DecodedText)), prompt: r.ReadOffset}
		w.requests[r.RID] = q
	}
	q.ids = append(q.ids, r.DecodeIDs...)
	ids := q.ids
	if r.Finish.MatchedToken && !r.NoStopTrim && len(r.DecodeIDs) > 0 {
		ids = ids[:len(ids)-1]
	}
	output := w.output(ids, q.prompt, r)
	if r.Finish.Done {
		delete(w.requests, r.RID)
		return q.emit(trim(append(q.before, output...), r))
	}
	if w.method == MethodBytes {
		if n := len(output); n > 0 && w.unfinished(q.ids, r) {
			output = output[:n-1]
		}
		return q.emit(append(slices.Clone(q.before), output...))
	}
	q.waiting += len(r.DecodeIDs)
	if q.waiting > longest {
		w.early[r.RID] = true
	}
	tail := output[q.committed:]
	if n := len(tail); n > 0 && tail[n-1] != '�' {
		q.committed, q.waiting = len(output), 0
	}
	shown := append(slices.Clone(q.before), output[:q.committed]...)
	if q.committed < len(output) {
		shown = append(shown, printableTwin(tail)...)
	}
	return q.emit(shown)
}

// unfinished says whether the bytes of ids end in half a character: a
// continuation makes one character of the end.
func (w *twin) unfinished(ids []int64, r Row) bool {
	raw := w.decoder.(ByteDecoder).AppendBytes(nil, ids, r.SkipSpecial)
	for n := 1; n <= 3 && n <= len(raw); n++ {
		for _, next := range []string{"\x80", "\x90", "\xa0"} {
			for _, more := range []string{"", "\x80", "\x80\x80"} {
				c := string(raw[len(raw)-n:]) + next + more
				if utf8.ValidString(c) && utf8.RuneCountInString(c) == 1 {
					return true
				}
			}
		}
	}
	return false
}

// output decodes ids at once and leaves out the prompt's characters.
func (w *twin) output(ids []int64, prompt int, r Row) []rune {
	decode := func(ids []int64) []rune {
		return []rune(string(w.decoder.AppendDecode(nil, ids, r.SkipSpecial, r.SpacesBetween)))
	}
	all := decode(ids)
	return all[min(len(all), len(decode(ids[:min(len(ids), prompt)]))):]
}

func (q *twinRequest) emit(shown []rune) string {
	if len(shown) <= q.sent {
		return ""
	}
	text := string(shown[q.sent:])
	q.sent = len(shown)
	return text
}

func trim(text []rune, r Row) []rune {
	before, _, found := strings.Cut(string(text), r.Finish.MatchedText)
	if r.Finish.MatchedText == "" || !found {
		return text
	}
	if r.NoStopTrim {
		before += r.Finish.MatchedText
	}
	return []rune(before)
}

func printableTwin(text []rune) []rune {
	n := len(text)
	switch {
	case n > 0 && (text[n-1] == '\n' || han.MatchString(string(text[n-1]))):
		return text
	case n > 1 && han.MatchString(string(text[n-2])):
		return text[:n-1]
	}
	for n > 0 && text[n-1] != ' ' {
		n--
	}
	return text[:n]
}

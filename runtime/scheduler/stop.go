package scheduler

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Decoder turns ids into text. It must append valid UTF-8 to dst and return it.
// What package detokenizer asks of one holds here too.
type Decoder interface {
	AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte
}

// margin is how many ids with text separate two that cannot change each other's
// text, as in package detokenizer.
const margin = 3

// longestWait is how many ids may wait for the end of a character.
const longestWait = 8

// replacement is U+FFFD: at the end of a text it may be half a character.
const replacement = "�"

// stopper follows a request's text, as its detokenizer makes it, and looks for
// its stop strings. Text is settled up to an unfinished character at its end.
type stopper struct {
	decoder      Decoder
	skip, spaces bool
	keep         bool // no_stop_trim: nothing is held back
	stops        []stopString

	window  []int64 // the last ids whose text is settled, then those that wait
	around  int     // how many of window are the former
	shown   int     // characters of the others that are settled
	settled int     // bytes of text
	ends    []int   // of it after each token that was not sent

	read, surr, probe []byte
}

// stopString is a stop string and how much of its beginning the text ends with
// (Knuth, Morris and Pratt).
type stopString struct {
	text   string
	border []int // of each beginning, the longest other beginning that ends it
	at     int
}

func newStopper(d Decoder, p *SamplingParams, promptTail []int64) *stopper {
	s := &stopper{
		decoder: d, skip: p.SkipSpecialTokens, spaces: p.SpacesBetweenSpecialTokens, keep: p.NoStopTrim,
		window: promptTail, around: len(promptTail),
	}
	for _, text := range p.Stop {
		s.stops = append(s.stops, newStopString(text))
	}
	return s
}

func newStopString(text string) stopString {
	s := stopString{text: text, border: make([]int, len(text)+1)}
	for i := 1; i < len(text); i++ {
		s.next(text[i])
		s.border[i+1] = s.at
	}
	s.at = 0
	return s
}

// next takes a byte and says whether the text now ends with the stop string.
func (s *stopString) next(b byte) bool {
	if s.at == len(s.text) {
		s.at = s.border[s.at]
	}
	for s.at > 0 && s.text[s.at] != b {
		s.at = s.border[s.at]
	}
	if s.text[s.at] == b {
		s.at++
	}
	return s.at == len(s.text)
}

// add takes the request's next token, and says which stop string its text ends,
// if any: the one that ends first, of several that end together the longest.
func (s *stopper) add(id int64) string {
	fresh := s.settle(id)
	s.settled += len(fresh)
	s.ends = append(s.ends, s.settled)
	for _, b := range fresh {
		matched := ""
		for i := range s.stops {
			if stop := &s.stops[i]; stop.next(b) && len(stop.text) > len(matched) {
				matched = stop.text
			}
		}
		if matched != "" {
			return matched
		}
	}
	return ""
}

// settle returns the text that the token settles. It is valid until the next call.
func (s *stopper) settle(id int64) []byte {
	s.window = append(s.window, id)
	s.read = s.decoder.AppendDecode(s.read[:0], s.window, s.skip, s.spaces)
	s.surr = s.decoder.AppendDecode(s.surr[:0], s.window[:s.around], s.skip, s.spaces)
	behind := skipRunes(s.read, utf8.RuneCount(s.surr))
	whole := bytes.TrimSuffix(behind, []byte(replacement))
	fresh := skipRunes(whole, s.shown)
	if len(behind) > 0 && len(whole) == len(behind) {
		s.move(len(s.window))
		s.shown = 0
		return fresh
	}
	s.shown = max(s.shown, utf8.RuneCount(whole))
	if s.textless(id) {
		s.window = s.window[:len(s.window)-1]
	}
	if len(s.window)-s.around > longestWait {
		// An unfinished character has at most three bytes, so it lies behind the
		// cut; one that the cut divides counts as one on both sides.
		cut := len(s.window) - margin
		before := utf8.RuneCount(s.surr)
		s.surr = s.decoder.AppendDecode(s.surr[:0], s.window[:cut], s.skip, s.spaces)
		s.shown = max(0, s.shown-(utf8.RuneCount(s.surr)-before))
		s.move(cut)
	}
	return fresh
}

// move makes the ids before the cut the surrounding ones, of which few are kept.
func (s *stopper) move(cut int) {
	from := max(0, cut-margin)
	kept := copy(s.window, s.window[from:])
	s.window, s.around = s.window[:kept], cut-from
}

// textless says whether the id adds nothing to any text; see package detokenizer.
func (s *stopper) textless(id int64) bool {
	s.probe = s.decoder.AppendDecode(s.probe[:0], []int64{id, id}, s.skip, s.spaces)
	return len(s.probe) == 0
}

// free is how many of the tokens that were not sent may be: those whose settled
// text is not the beginning of a stop string that may still come.
func (s *stopper) free() int {
	held := 0
	if !s.keep {
		for i := range s.stops {
			held = max(held, s.stops[i].at)
		}
	}
	n := len(s.ends)
	for n > 0 && s.ends[n-1] > s.settled-held {
		n--
	}
	return n
}

// skipRunes returns text behind its first n characters, empty if it has fewer.
func skipRunes(text []byte, n int) []byte {
	for ; n > 0 && len(text) > 0; n-- {
		_, size := utf8.DecodeRune(text)
		text = text[size:]
	}
	return text
}

// checkStop says why the stop strings cannot be.
func (c *Config) checkStop(stop []string) *FinishReason {
	if c.Decoder == nil && len(stop) > 0 {
		return badRequest("stop has %d strings, expected none: without a decoder there is no text to find them in", len(stop))
	}
	for i, text := range stop {
		if text == "" || !utf8.ValidString(text) || strings.Contains(text, replacement) {
			return badRequest("stop[%d] is %q, expected UTF-8 of at least one byte, without U+FFFD", i, text)
		}
	}
	return nil
}

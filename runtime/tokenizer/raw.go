package tokenizer

import "unicode/utf8"

// AppendBytes appends the bytes of ids to dst as the vocabulary has them: what
// AppendDecode makes text of. Cut anywhere, the parts joined are the whole.
func (b *Bytes) AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte {
	for _, id := range ids {
		if t := b.lookup(id); t != nil && !(t.Special && skipSpecial) {
			dst = append(dst, t.Bytes...)
		}
	}
	return dst
}

// AppendText appends the text of raw to dst, with U+FFFD as AppendDecode counts
// it, up to the bytes at the end of raw that may be the beginning of a character.
// It returns their number, at most 3: they belong before the bytes that follow.
func AppendText(dst, raw []byte) (text []byte, held int) {
	held = unfinished(raw)
	start := len(dst)
	dst = append(dst, raw[:len(raw)-held]...)
	if utf8.Valid(dst[start:]) {
		return dst, held
	}
	return appendReplaced(dst, start), held
}

// unfinished is how many bytes at the end of raw are a character's beginning.
func unfinished(raw []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(raw); n++ {
		if !utf8.FullRune(raw[len(raw)-n:]) {
			return n
		}
	}
	return 0
}

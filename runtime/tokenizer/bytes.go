package tokenizer

import "unicode/utf8"

// Bytes is a vocabulary of byte strings put one after another. A token may hold
// part of a character. It is safe for concurrent use.
type Bytes struct {
	vocabulary
	encoder encoder
}

// NewBytes makes a tokenizer from vocab, in any order.
func NewBytes(vocab []Token) (*Bytes, error) {
	v, err := newVocabulary(vocab)
	if err != nil {
		return nil, err
	}
	return &Bytes{vocabulary: v, encoder: newEncoder(&v)}, nil
}

// AppendDecode appends the text of ids to dst, with U+FFFD for what is no UTF-8.
// The package documentation says what the flags do.
func (b *Bytes) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	start := len(dst)
	dst = b.AppendBytes(dst, ids, skipSpecial)
	if utf8.Valid(dst[start:]) {
		return dst
	}
	return appendReplaced(dst, start)
}

// appendReplaced rewrites dst[start:] with U+FFFD for every part that is no
// UTF-8. A replacement can be longer than what it stands for, so the rewritten
// text is built behind the raw one and then moved over it.
func appendReplaced(dst []byte, start int) []byte {
	end := len(dst)
	for i := start; i < end; {
		r, size := utf8.DecodeRune(dst[i:end])
		if r == utf8.RuneError && size == 1 {
			i += maximalSubpart(dst[i:end])
			dst = utf8.AppendRune(dst, utf8.RuneError)
			continue
		}
		dst = append(dst, dst[i:i+size]...)
		i += size
	}
	n := copy(dst[start:], dst[end:])
	return dst[:start+n]
}

// maximalSubpart returns how many of the bytes at the start of b, which begin no
// character, one U+FFFD stands for: the longest prefix of a well-formed
// sequence, and at least one byte. The ranges are those of Unicode 16.0, table 3-7.
func maximalSubpart(b []byte) int {
	low, high, length := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		length = 2
	case c >= 0xe0 && c <= 0xef:
		length = 3
	case c >= 0xf0 && c <= 0xf4:
		length = 4
	}
	switch b[0] {
	case 0xe0:
		low = 0xa0
	case 0xed:
		high = 0x9f
	case 0xf0:
		low = 0x90
	case 0xf4:
		high = 0x8f
	}
	n := 1
	for n < length && n < len(b) && b[n] >= low && b[n] <= high {
		n++
		low, high = 0x80, 0xbf
	}
	return n
}

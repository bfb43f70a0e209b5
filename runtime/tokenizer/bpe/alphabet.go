package bpe

// Vocabularies write bytes as characters: those of Latin-1 that can be printed
// stand for themselves, the other 68 are U+0100 and up, in order.

// letters has each byte's character, and lettered each character's byte.
var (
	letters  [256]rune
	lettered map[rune]byte
)

func init() {
	lettered = make(map[rune]byte, 256)
	next := rune(256)
	for b := range letters {
		r := rune(b)
		if !(b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae) {
			r = next
			next++
		}
		letters[b] = r
		lettered[r] = byte(b)
	}
}

// spelled are the bytes that a token's text stands for: of a text with any other
// character, an added token's as a rule, its own.
func spelled(text string) []byte {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		b, ok := lettered[r]
		if !ok {
			return []byte(text)
		}
		out = append(out, b)
	}
	return out
}

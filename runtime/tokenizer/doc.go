// Package tokenizer turns token ids into text and text into ids for
// vocabularies that are lists of pieces.
//
// Two kinds of vocabulary exist, as in the harness's streams:
//
//   - words (WordLevel): pieces are whole words, joined by single blanks. This
//     is the published fixture, [UNK], a, b, c with ids 0..3, whose text for
//     1, 2, 3 is "a b c".
//   - bytes (Bytes): pieces are byte strings put one after another, so a piece
//     may hold part of a character.
//
// # Decoding
//
// Both decoders append valid UTF-8 and never fail, because SGLang's
// detokenizer cannot refuse an id either:
//
//   - An id outside the vocabulary counts as id 0 before decoding, as SGLang
//     replaces it. A vocabulary without id 0 then has no piece for it, and the
//     id is left out, as the tokenizers library does with an id it lacks.
//   - skipSpecial drops the tokens marked Special, and with them their blank.
//   - spacesBetween is accepted and has no effect: of the Hugging Face
//     tokenizers only the slow, pure Python ones read
//     spaces_between_special_tokens, and these two kinds are fast ones there.
//   - Bytes that are no UTF-8 become U+FFFD, one for each maximal part that
//     could have begun a character (Unicode 16.0, section 3.9, practice for
//     U+FFFD substitution), as Python's errors="replace" counts them. Go's own
//     conversion counts one for each byte, and character counts must agree with
//     Python's because the detokenizer cuts by characters.
//
// Appending to a buffer with enough room allocates nothing.
//
// A vocabulary of bytes can also be read without making text of it:
// [Bytes.AppendBytes] gives a token's own bytes, and [AppendText] makes text of
// bytes that come in parts, holding back the beginning of a character. Joined,
// the parts have the text that AppendDecode has for all ids at once.
//
// # Encoding bytes
//
// Every byte is a token of its own, whether the text is UTF-8 or not; there are
// no merges. Where the text of a special token begins, the token stands for it,
// the longest one of several, as Hugging Face finds added tokens: leftmost, then
// longest. What was encoded decodes to the same bytes (AppendBytes, special
// tokens kept). The work is the length of the text times that of the special
// tokens which begin with one byte.
//
// # Errors
//
// The constructors refuse an empty vocabulary, a negative id, an id given twice
// and, for words, a word that is not UTF-8; the error names the id. Encode
// refuses a word that the vocabulary lacks when there is no [UNK] token, and a
// byte without a token, with its place.
//
// # Designs dropped
//
// A table indexed by id is the fastest look-up, but one id of 2^40 in a
// vocabulary of four would ask for terabytes. A map costs a hash for each
// token. The vocabulary is a slice sorted by id instead: ids without gaps, the
// usual case, are found at their own index, others by bisection.
package tokenizer

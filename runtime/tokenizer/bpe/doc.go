// Package bpe is a tokenizer of byte-level BPE, as GPT-2, Llama 3, Qwen and
// SmolLM have it, read from a tokenizer.json or from the vocabulary inside a GGUF.
//
// # A text's way to ids
//
//  1. Added tokens are found in the text as it was given: leftmost, then longest.
//     Those whose "normalized" is set are looked for after step 2 instead.
//  2. What lies between them is brought to Unicode's form NFC, if the file says so.
//  3. It is cut into words by the file's pattern.
//  4. A word's bytes are tokens; the pair whose merge stands first in the file
//     becomes one, the leftmost of several, until no pair has a merge.
//
// The ids are those that Python's tokenizers (0.23.3, its wheel for Linux) gives
// (Encode with add_special_tokens=False, EncodePrompt with True), on Qwen3's and SmolLM2's files exactly: testdata
// holds small cases, and the tests with the build tag python compare the whole
// files on some ten thousand texts and on every character that has a meaning.
//
// Bytes that the vocabulary has no token for are left out, as there. SmolLM2 has
// none for six control characters, and for those beyond U+3FFFF that begin with
// 0xf1 and 0xf2. So a text comes back from AppendDecode as NFC has it (or, without
// a normalizer, unchanged) less those bytes.
//
// # A prompt
//
// EncodePrompt puts before the ids those that the file has before every text:
// BOS, for Llama 3. A tokenizer.json says so by a post_processor
// TemplateProcessing, whose single is special tokens and then the sequence A; a
// template with anything behind A is refused. (transformers makes another one of
// tokenizer_config.json's add_bos_token for some of its classes; that file is
// not read here.) In a GGUF it is AddBOS and BOS. A chat's template writes BOS
// itself, so a rendered chat is for Encode.
//
// # Decoding
//
// Tokens have bytes, and package [tokenizer] makes text of them: its
// documentation tells of ids outside the vocabulary, of what is no UTF-8, and of
// spacesBetween, which has no effect. The rows of a model beyond the last id
// (Qwen3's padding) are outside the vocabulary. An added token whose characters
// are all letters of the vocabulary has the bytes that they stand for, as there.
//
// # Files
//
// tokenizer.json is the format of Hugging Face's tokenizers; there is no document
// of it beside that library's source, whose rules this package follows. Read are
// a model of type BPE, the normalizer NFC or none, the pre-tokenizers Split
// (Isolated), Digits (individual) and ByteLevel at the end, the post-processor
// ByteLevel, TemplateProcessing, a Sequence of both or none, and the decoder
// ByteLevel. Anything else is refused by its
// name, so that no file is half understood: also a field that is not known here.
// Ids are those of the file. (The library counts added tokens from the end of the
// vocabulary, whatever their ids; files that people use have them so.)
//
// A GGUF has the tokens, their types and the merges, but no pattern: the name in
// tokenizer.ggml.pre stands for pattern and normalizer. See [Vocabulary].
//
// Patterns are not compiled from the file. One is known when its whole text
// equals one of a list; GPT-2's, Qwen's and Llama 3's are cut by hand and the
// others by regexp2, and one that is not in the list is refused with its text.
//
// # Unicode
//
// The library that is followed mixes versions of Unicode: letters and digits of
// 16 in patterns, numbers of 17 in Digits, and NFC of 9. Go 1.26 has 15. The
// splitters by hand and nfc have tables for the difference; a pattern that
// regexp2 cuts takes the letters that came with Unicode 16 for symbols. NFC of
// golang.org/x/text cuts a run of more than 30 marks with U+034F, which
// the library does not do, so such runs are put in order here.
//
// # Errors
//
// The errors name what in the file is wrong, its value and what was expected: ids
// given twice or too large (2^24 and more), keys of an object given twice (a token
// of the vocabulary among them), merges of tokens
// that do not exist, or twice the same. Encode refuses a text that is not UTF-8,
// and one of 2 GiB and more.
//
// # Cost
//
// A word of n bytes costs n log n, whatever its letters and the merges: a heap
// holds the pairs that have one. Words of at most 64 bytes are remembered, in a
// table of fixed size where a new word takes the place of an old one; it is
// shared by all goroutines without a lock.
//
// # Designs dropped
//
// A loop that looks for the best pair anew after each merge is shorter, and is
// quadratic in a word of a million letters; it is the twin in the tests. Python's
// cache is a map that takes nothing more when it is full, so that the first words
// a server ever sees stay for ever. Patterns compiled from the file would let a
// file choose one that takes exponential time, and dialects differ in what they
// match.
package bpe

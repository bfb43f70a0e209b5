package bpe

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// tiny is a tokenizer.json of a few bytes and one merge.
const tiny = `{"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":4,"content":"<x>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":null,
"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"post_processor":null,
"decoder":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":"","end_of_word_suffix":"","fuse_unk":false,
"byte_fallback":false,"ignore_merges":false,"vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":["a b"]}}`

func TestTiny(t *testing.T) {
	for _, text := range []string{tiny, strings.Replace(tiny, `"a b"`, `["a","b"]`, 1)} {
		tok, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode("ab<x> baz")
		if want := []int64{2, 4, 3, 1, 0}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("%v, %v, want %v", ids, err, want)
		}
		for skip, want := range map[bool]string{false: "ab<x> ba", true: "ab ba"} {
			if got := string(tok.AppendDecode(nil, ids, skip, true)); got != want {
				t.Errorf("skip %v: %q, want %q", skip, got, want)
			}
		}
		if tok.VocabSize() != 5 {
			t.Errorf("a vocabulary of %d, want 5", tok.VocabSize())
		}
	}
}

// With ignore_merges a word that is a token is taken as it is.
func TestIgnoreMerges(t *testing.T) {
	for whole, want := range map[string][]int64{"false": {0, 1}, "true": {2}} {
		text := strings.Replace(strings.Replace(tiny, `"a b"`, "", 1), `"ignore_merges":false`, `"ignore_merges":`+whole, 1)
		tok, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if ids, err := tok.Encode("ab"); err != nil || !slices.Equal(ids, want) {
			t.Errorf("ignore_merges %s: %v, %v, want %v", whole, ids, err, want)
		}
	}
}

// What is wrong in a file is named.
func TestBadFiles(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{tiny, "", "EOF"},
		{tiny, "[]", "cannot unmarshal array"},
		{tiny, "{}", "it has no model"},
		{tiny, tiny + "{}", "there is more at byte"},
		{`"version"`, `"wersion"`, `unknown field "wersion"`},
		{`"truncation":null`, `"truncation":{"max_length":5}`, `truncation is {"max_length":5}, expected null`},
		{`"padding":null`, `"padding":{}`, "padding is {}, expected null"},
		{`"normalizer":null`, `"normalizer":{"type":"NFKC"}`, `the normalizer is "NFKC", expected NFC or null`},
		{`"post_processor":null`, `"post_processor":{"type":"RobertaProcessing"}`, `the post_processor: it is "RobertaProcessing", expected ByteLevel`},
		{`"decoder":{"type":"ByteLevel"`, `"decoder":{"type":"Metaspace"`, `the decoder is "Metaspace", expected ByteLevel`},
		{`"pre_tokenizer":{"type":"ByteLevel"`, `"pre_tokenizer":{"type":"Whitespace"`, "expected ByteLevel, alone or at the end"},
		{`"add_prefix_space":false`, `"add_prefix_space":true`, "add_prefix_space is true, or missing"},
		{`"pre_tokenizer":{`, `"pre_tokenizer":null,"x":{`, `unknown field "x"`},
		{`"type":"BPE"`, `"type":"Unigram"`, `the model is of type "Unigram", expected BPE`},
		{`"dropout":null`, `"dropout":0.5`, "dropout 0.5, expected none"},
		{`"unk_token":null`, `"unk_token":"<x>"`, `unk_token "<x>" and no token for the byte 0x00`},
		{`"continuing_subword_prefix":""`, `"continuing_subword_prefix":"##"`, `continuing_subword_prefix "##", expected none`},
		{`"end_of_word_suffix":""`, `"end_of_word_suffix":"</w>"`, `end_of_word_suffix "</w>", expected none`},
		{`"byte_fallback":false`, `"byte_fallback":true`, "byte_fallback true, expected false"},
		{`"vocab":{"a":0,"b":1,"ab":2,"Ġ":3},`, "", "vocab is empty or missing"},
		{`,"merges":["a b"]`, "", "the model has no merges"},
		{`"b":1`, `"b":0`, `the id 0 is given twice, to "a" and to "b"`},
		{`"b":1`, `"a":1`, `the key "a" is given twice in model.vocab`},
		{`"b":1`, `"b":1,"\u0061":7`, `the key "a" is given twice in model.vocab`},
		{tiny, strings.TrimSuffix(tiny, "}") + `,"model":` + tiny[strings.LastIndex(tiny, `{"type":"BPE"`):], `the key "model" is given twice at the top`},
		{`"version":"1.0"`, `"version":"1.0","version":"1.0"`, `the key "version" is given twice at the top`},
		{`"id":4`, `"id":7,"id":4`, `the key "id" is given twice in added_tokens[0]`},
		{`"decoder":{`, `"decoder":{"trim_offsets":true,`, `the key "trim_offsets" is given twice in decoder`},
		{`"b":1`, `"b":-1`, `the token "b" has the id -1, expected 0 to 16777215`},
		{`"b":1`, `"b":16777216`, `the token "b" has the id 16777216`},
		{`"b":1`, `"b":1e40`, "cannot unmarshal number 1e40"},
		{`"b":1`, `"b":null`, `the token "b" has the id null`},
		{`"b":1`, `"b":1,"":9`, `the token of id 9 is empty`},
		{`"a b"`, `"a b","a b"`, `merge 1 joins "a" and "b", as merge 0 does`},
		{`"a b"`, `"a b","b a"`, `merge 1 joins "b" and "a", and the vocabulary has no token "ba"`},
		{`"a b"`, `" ab"`, `the vocabulary has no token ""`},
		{`"a b"`, `"a b c"`, `the merge "a b c" has 3 parts, expected 2`},
		{`"a b"`, `["a"]`, `the merge ["a"] has 1 parts, expected 2`},
		{`"a b"`, `7`, "cannot unmarshal number"},
		{`"id":4,`, "", `added token 0, "<x>", has no id`},
		{`"id":4`, `"id":2`, `the id 2 is given twice, to "<x>" and to "ab"`},
		{`"content":"<x>"`, `"content":"ab"`, `the added token "ab" has the id 4, and 2 in the vocabulary`},
		{`"content":"<x>"`, `"content":""`, "of 0 bytes, expected UTF-8 of 1 to 4096"},
		{`"content":"<x>"`, `"content":"` + strings.Repeat("x", 4097) + `"`, "of 4097 bytes, expected UTF-8 of 1 to 4096"},
		{`"single_word":false`, `"single_word":true`, "single_word true, expected false"},
	} {
		text := strings.Replace(tiny, c.old, c.new, 1)
		if text == tiny {
			t.Fatalf("%s is not in the file", c.old)
		}
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60s instead of %.60s: %v, want %s", c.new, c.old, err, c.want)
		}
	}
}

// Pre-tokenizers that are not known are refused, a pattern with its text.
func TestBadPreTokenizers(t *testing.T) {
	const level = `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`
	for _, c := range [][2]string{
		{`{"type":"Sequence","pretokenizers":[]}`, "expected ByteLevel"},
		{`{"type":"Sequence","pretokenizers":[` + level + `,{"type":"Digits","individual_digits":true}]}`, "expected ByteLevel"},
		{`{"type":"Sequence","pretokenizers":[` + level + `,` + level + `]}`, "expected ByteLevel"},
		{`{"type":"Sequence","pretokenizers":[{"type":"Digits"},` + level + `]}`, "individual_digits is false"},
		{`{"type":"Sequence","pretokenizers":[{"type":"Punctuation"},` + level + `]}`, "Punctuation: it is not known"},
		{`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":" "},"behavior":"Isolated"},` + level + `]}`, "no pattern of type Regex"},
		{`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":" "},"behavior":"Removed"},` + level + `]}`, `behavior is "Removed"`},
		{`{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(a+)+b"},"behavior":"Isolated"},` + level + `]}`, `the pattern "(a+)+b" is not known`},
		{`{"type":"ByteLevel"}`, "add_prefix_space is true, or missing"},
		{`null`, "expected ByteLevel"},
	} {
		before, after, _ := strings.Cut(tiny, `"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}`)
		if _, err := Parse([]byte(before + `"pre_tokenizer":` + c[0] + after)); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %s", c[0], err, c[1])
		}
	}
}

func TestBadVocabularies(t *testing.T) {
	for _, c := range []struct {
		change func(*Vocabulary)
		want   string
	}{
		{func(v *Vocabulary) { v.Pre = "chameleon" }, `tokenizer.ggml.pre is "chameleon", expected qwen2`},
		{func(v *Vocabulary) { v.AddBOS, v.BOS = true, 6 }, "bos_token_id is 6, expected 0 to 5 as add_bos_token is true"},
		{func(v *Vocabulary) { v.AddBOS, v.BOS = true, -1 }, "bos_token_id is -1"},
		{func(v *Vocabulary) { v.AddBOS, v.BOS = true, 5 }, "the id 5 is to stand before a prompt, and the vocabulary has no token of it"}, // unused
		{func(v *Vocabulary) { v.Kinds = v.Kinds[1:] }, "it has 6 tokens and 5 token types"},
		{func(v *Vocabulary) { v.Tokens, v.Kinds = nil, nil }, "it has 0 tokens and 0 token types"},
		{func(v *Vocabulary) { v.Kinds[0] = 6 }, `the token "a" of id 0 has type 6`},
		{func(v *Vocabulary) { v.Tokens[1] = "a" }, `the token "a" is given twice, with the ids 0 and 1`},
		{func(v *Vocabulary) { v.Tokens[4] = "b" }, `the added token "b" has the id 4, and 1 in the vocabulary`},
		{func(v *Vocabulary) { v.Merges[0] = "ab" }, `merge 0 is "ab", expected two tokens`},
		{func(v *Vocabulary) { v.Merges[0] = "a  b" }, `merge 0 is "a  b", expected two tokens`},
		{func(v *Vocabulary) { v.Merges[0] = "a c" }, `has no token "c"`},
		{func(v *Vocabulary) { v.Tokens[4] = "\xff" }, "expected UTF-8"},
	} {
		v := tinyVocabulary()
		c.change(&v)
		if _, err := New(v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func tinyVocabulary() Vocabulary {
	return Vocabulary{
		Pre:    "smollm",
		Tokens: []string{"a", "b", "ab", "Ġ", "<x>", "[PAD]"},
		Kinds:  []int64{Normal, Normal, Normal, Normal, Control, Unused},
		Merges: []string{"a b"},
	}
}

// A GGUF's control tokens are special, those defined by a user are not, and what
// is unused is no token.
func TestVocabulary(t *testing.T) {
	for _, pre := range []string{"qwen2", "qwen35", "smollm", "gpt-2", "llama-bpe"} {
		v := tinyVocabulary()
		v.Pre, v.Kinds[3] = pre, UserDefined
		tok, err := New(v)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := tok.Encode("ab<x>Ġ[PAD]")
		if want := []int64{2, 4, 3}; err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: %v, %v, want %v", pre, ids, err, want)
		}
		if got := string(tok.AppendDecode(nil, ids, true, true)); got != "ab " {
			t.Errorf("%s: %q, want %q", pre, got, "ab ")
		}
	}
}

func TestBadTexts(t *testing.T) {
	tok := small(t, "qwen3")
	for text, want := range map[string]string{
		"ab\xff":               "byte 2 of the text is 0xff, expected UTF-8",
		"\ufffd\xed\xa0\x80":   "byte 3 of the text is 0xed",
		"<|im_end|>\xf0\x9f":   "byte 10 of the text is 0xf0",
		"\xf4\x90\x80\x80 abc": "byte 0 of the text is 0xf4",
	} {
		if ids, err := tok.Encode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, ids, err, want)
		}
	}
}

// Ids that are none count as id 0, as the package tokenizer says.
func TestIdsOutside(t *testing.T) {
	tok := small(t, "qwen3")
	if got := string(tok.AppendDecode(nil, []int64{-1, 1 << 40, math.MinInt64}, false, false)); got != "!!!" {
		t.Errorf("%q, want !!!", got)
	}
}

// Load names the file.
func TestLoadErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file that is missing: %v", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || err.Error() != fmt.Sprintf("bpe: tokenizer.json: it has no model (in %s)", path) {
		t.Errorf("an empty file: %v", err)
	}
	if err := os.Truncate(path, maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "268435457 bytes, expected at most 268435456") {
		t.Errorf("a huge file: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe") // that nobody writes to
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe); err == nil || err.Error() != "bpe: "+pipe+": is p---------, expected a file" {
		t.Errorf("a pipe: %v", err)
	}
}

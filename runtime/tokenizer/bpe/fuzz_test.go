package bpe

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// use has tok encode text and decode it, and checks what holds for every tokenizer.
func use(t *testing.T, tok *Tokenizer, text string) {
	t.Helper()
	ids, err := tok.Encode(text)
	if err != nil {
		if utf8.ValidString(text) {
			t.Fatalf("%q: %v", text, err)
		}
		return
	}
	for _, id := range ids {
		if id < 0 || id >= int64(tok.VocabSize()) {
			t.Fatalf("%q has the id %d, beyond %d", text, id, tok.VocabSize())
		}
	}
	again, err := tok.Encode(text)
	if err != nil || !slices.Equal(again, ids) {
		t.Fatalf("%q: %v, then %v, %v", text, ids, again, err)
	}
	prompt, err := tok.EncodePrompt(text)
	if err != nil || len(prompt) < len(ids) || !slices.Equal(prompt[len(prompt)-len(ids):], ids) {
		t.Fatalf("%q: the prompt is %v, %v, expected %v at its end", text, prompt, err, ids)
	}
	if out := tok.AppendDecode(nil, ids, false, true); !utf8.Valid(out) {
		t.Fatalf("%q: the text %q of %v is not UTF-8", text, out, ids)
	}
}

// FuzzParse looks for a tokenizer.json that crashes the reader, or a tokenizer
// made of one.
func FuzzParse(f *testing.F) {
	f.Add([]byte(tiny), "ab<x> ba")
	f.Add([]byte(strings.Replace(tiny, `"normalizer":null`, `"normalizer":{"type":"NFC"}`, 1)), "e\u0301")
	f.Add([]byte(strings.Replace(tiny, `"normalized":false`, `"normalized":true`, 1)), "a<x>")
	f.Add([]byte(strings.Replace(tiny, `"lstrip":false,"rstrip":false`, `"lstrip":true,"rstrip":true`, 1)), "  <x>  <x>")
	f.Add(withPostProcessor(template(before, sequence)), "a<x>")
	f.Add(withPostProcessor(`{"type":"Sequence","processors":[`+byteLevel+`,`+template(before, before, sequence)+`]}`), "a<x>")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Parse(data)
		if err != nil {
			if tok != nil || !strings.HasPrefix(err.Error(), "bpe: tokenizer.json: ") {
				t.Fatalf("%v, %v", tok, err)
			}
			return
		}
		use(t, tok, text)
	})
}

// FuzzVocabulary does the same with what a GGUF says: data is lines of tokens, a
// digit before each for its type, and behind an empty line merges.
func FuzzVocabulary(f *testing.F) {
	f.Add("smollm", "1a\n1b\n1ab\n1Ġ\n3<x>\n5[PAD]\n\na b", "ab<x>")
	f.Add("qwen2", "1a\n1aa\n1aaaa\n4 b\n\naa aa\na a", "aaaaaaa b")
	f.Fuzz(func(t *testing.T, pre, data, text string) {
		tokens, merges, _ := strings.Cut(data, "\n\n")
		v := Vocabulary{Pre: pre, Merges: strings.Split(merges, "\n")}
		for line := range strings.SplitSeq(tokens, "\n") {
			if line != "" {
				v.Kinds = append(v.Kinds, int64(line[0])-'0')
				v.Tokens = append(v.Tokens, line[1:])
			}
		}
		tok, err := New(v)
		if err != nil {
			return
		}
		use(t, tok, text)
	})
}

// FuzzEncode looks for a text that does not come back.
func FuzzEncode(f *testing.F) {
	b, err := os.ReadFile("testdata/qwen3-small.json")
	if err != nil {
		f.Fatal(err)
	}
	tok, err := Parse(b)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("Hello, don't <|im_end|>\n 12 e\u0301")
	f.Fuzz(func(t *testing.T, text string) {
		use(t, tok, text)
		ids, err := tok.Encode(text)
		if err != nil {
			return
		}
		// What came back comes back again.
		out := tok.AppendBytes(nil, ids, false)
		again, err := tok.Encode(string(out))
		if err != nil || !bytes.Equal(tok.AppendBytes(nil, again, false), out) {
			t.Fatalf("%q: comes back as %q, which gives %v, %v", text, out, again, err)
		}
	})
}

package backend

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A tokenizer is that of the model's folder, or of another place; BOS stands before a
// prompt, which Encode does not know of.
func TestTokenizerOfFolder(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "other.json")
	write(t, alone, contents(t, filepath.Join(files, "qwen3", "tokenizer.json")))
	for model, tokenizer := range map[string]string{
		"qwen3": "", "qwen3.gguf": filepath.Join(files, "qwen3"), "llama": alone, "llama.gguf": filepath.Join(files, "qwen3", "tokenizer.json"),
	} {
		a := served(model)
		a.TokenizerPath = tokenizer
		tok, err := NewTokenizer(a)
		if err != nil {
			t.Errorf("%s: %v", model, err)
			continue
		}
		want := []int64{54, 55, 58, 15, 7} // as Python's tokenizers gives
		if ids, err := tok.Encode("hello the world"); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%s: %v, %v, want %v", model, ids, err, want)
		}
		if ids, err := tok.EncodePrompt("hello the world"); err != nil || !slices.Equal(ids, append([]int64{1}, want...)) {
			t.Errorf("%s: %v, %v, want 1 and %v", model, ids, err, want)
		}
		if text := tok.AppendDecode(nil, []int64{1, 54, 55, 2}, true, true); string(text) != "hello the" || tok.VocabSize() != 60 {
			t.Errorf("%s: %q, a vocabulary of %d", model, text, tok.VocabSize())
		}
	}
}

// field of a GGUF: a string, a bool, a whole number, or a list of strings or numbers.
type field struct {
	key   string
	value any
}

// encoded is the field as it lies in a file.
func (f field) encoded() []byte {
	text := func(b []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
	}
	b := text(nil, f.key)
	u32, u64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	switch v := f.value.(type) {
	case string:
		b = text(u32(b, 8), v)
	case bool:
		b = append(u32(b, 7), map[bool]byte{true: 1}[v])
	case int:
		b = u32(u32(b, 4), uint32(v))
	case []string:
		b = u64(u32(u32(b, 9), 8), uint64(len(v)))
		for _, s := range v {
			b = text(b, s)
		}
	case []int:
		b = u64(u32(u32(b, 9), 5), uint64(len(v)))
		for _, n := range v {
			b = u32(b, uint32(n))
		}
	}
	return b
}

// withVocabulary is a copy of llama.gguf with these fields for the vocabulary it has:
// the old keys get other names, and the new ones stand before all others, with so many
// bytes more that the tensors stay aligned.
func withVocabulary(t *testing.T, fields ...field) string {
	t.Helper()
	file := contents(t, filepath.Join(files, "llama.gguf"))
	file = bytes.ReplaceAll(file, []byte("tokenizer.ggml."), []byte("tokenizer.once."))
	var added []byte
	for _, f := range fields {
		added = append(added, f.encoded()...)
	}
	empty := len(field{"padding", ""}.encoded())
	fill := 32 - (len(added)+empty)%32
	added = append(added, field{"padding", strings.Repeat("x", fill)}.encoded()...)
	const head = 24 // the magic, the version and two counts
	keys := binary.LittleEndian.Uint64(file[16:]) + uint64(len(fields)) + 1
	out := binary.LittleEndian.AppendUint64(slices.Clone(file[:16]), keys)
	path := filepath.Join(t.TempDir(), "model.gguf")
	write(t, path, slices.Concat(out, added, file[head:]))
	return path
}

// vocabulary is one of a few letters, with changes: a nil takes a field away.
func vocabulary(changes map[string]any) []field {
	all := []field{
		{"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.pre", "smollm"},
		{"tokenizer.ggml.tokens", []string{"a", "b", "ab", "Ġ", "<x>", "[PAD]"}}, {"tokenizer.ggml.token_type", []int{1, 1, 1, 1, 3, 5}},
		{"tokenizer.ggml.merges", []string{"a b"}}, {"tokenizer.ggml.bos_token_id", 4}, {"tokenizer.ggml.eos_token_id", 4},
		{"tokenizer.ggml.add_bos_token", nil}, {"tokenizer.ggml.add_eos_token", nil},
	}
	var kept []field
	for _, f := range all {
		if v, ok := changes[strings.TrimPrefix(f.key, "tokenizer.ggml.")]; ok {
			f.value = v
		}
		if f.value != nil {
			kept = append(kept, f)
		}
	}
	return kept
}

// A GGUF has a vocabulary of its own; BOS is there where it says so, and in files of
// Llama 3 that do not say.
func TestTokenizerOfGGUF(t *testing.T) {
	for _, c := range []struct {
		changes map[string]any
		bos     bool
	}{
		{nil, false},
		{map[string]any{"add_bos_token": true}, true},
		{map[string]any{"add_bos_token": false, "bos_token_id": nil, "add_eos_token": false}, false},
		{map[string]any{"pre": "llama-bpe"}, true},
		{map[string]any{"pre": "llama-bpe", "add_bos_token": false}, false},
	} {
		a := settings(CPU)
		a.ModelPath = withVocabulary(t, vocabulary(c.changes)...)
		a.TokenizerPath = a.ModelPath // as args.Complete has it
		tok, err := NewTokenizer(a)
		if err != nil {
			t.Errorf("%v: %v", c.changes, err)
			continue
		}
		want := []int64{2, 3, 0}
		if ids, err := tok.Encode("ab a"); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%v: %v, %v, want %v", c.changes, ids, err, want)
		}
		if c.bos {
			want = append([]int64{4}, want...)
		}
		if ids, err := tok.EncodePrompt("ab a"); err != nil || !slices.Equal(ids, want) {
			t.Errorf("%v: the prompt is %v, %v, want %v", c.changes, ids, err, want)
		}
		// The model has rows that no token stands for: ids that it may choose.
		info, err := Describe(a)
		if err != nil || tok.VocabSize() != 5 || info.VocabSize != 6 {
			t.Errorf("%v: a tokenizer of %d ids, a model of %d, %v", c.changes, tok.VocabSize(), info.VocabSize, err)
		}
	}
}

func TestGGUFVocabulariesThatCannotBe(t *testing.T) {
	for want, changes := range map[string]map[string]any{
		`tokenizer.ggml.model is "llama", expected gpt2`:                  {"model": "llama"},
		"no key tokenizer.ggml.model, expected a string":                  {"model": nil},
		"no key tokenizer.ggml.pre, expected a string":                    {"pre": nil},
		`tokenizer.ggml.pre is "chameleon", expected qwen2`:               {"pre": "chameleon"},
		"no key tokenizer.ggml.token_type, expected":                      {"token_type": nil},
		"no key tokenizer.ggml.merges, expected an array of strings":      {"merges": nil},
		"no key tokenizer.ggml.bos_token_id, expected a whole number":     {"add_bos_token": true, "bos_token_id": nil},
		"bos_token_id is 6, expected 0 to 5 as add_bos_token is true":     {"add_bos_token": true, "bos_token_id": 6},
		"key tokenizer.ggml.add_bos_token is string, expected a bool":     {"add_bos_token": "yes"},
		"tokenizer.ggml.add_eos_token is true, expected false":            {"add_eos_token": true},
		`merge 0 joins "b" and "b", and the vocabulary has no token "bb"`: {"merges": []string{"b b"}},
	} {
		a := settings(CPU)
		a.ModelPath = withVocabulary(t, vocabulary(changes)...)
		_, err := NewTokenizer(a)
		wantError(t, err, want)
	}
}

package backend

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/model/gguf"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/bpe"
)

// NewTokenizer makes the tokenizer. One that is read from files has no id that the
// model has no logit for.
func NewTokenizer(a args.Args) (Tokenizer, error) {
	if err := check(a); err != nil {
		return nil, err
	}
	switch {
	case a.ModelPath != "":
		return fileTokenizer(a)
	case a.Device == Sim:
		return byteTokenizer(sim.Vocabulary())
	}
	return byteTokenizer(smallVocabulary())
}

func fileTokenizer(a args.Args) (Tokenizer, error) {
	info, err := describeCheckpoint(a)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(a.TokenizerPath, a.ModelPath)
	t, err := loadTokenizer(path)
	if err != nil {
		return nil, fmt.Errorf("tokenizer_path: %w", err)
	}
	if n := t.VocabSize(); n > info.VocabSize {
		return nil, fmt.Errorf("tokenizer_path: %s has ids to %d, expected at most %d: the model %s has a vocabulary of %d",
			path, n-1, info.VocabSize-1, a.ModelPath, info.VocabSize)
	}
	return t, nil
}

// loadTokenizer reads a folder's tokenizer.json, one by its own path, or what a
// .gguf says of its vocabulary.
func loadTokenizer(path string) (*bpe.Tokenizer, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return bpe.Load(filepath.Join(path, "tokenizer.json"))
	case strings.HasSuffix(path, ".gguf"):
		return ggufTokenizer(path)
	}
	return bpe.Load(path)
}

func ggufTokenizer(path string) (t *bpe.Tokenizer, err error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	v, err := ggufVocabulary(f)
	if err == nil {
		t, err = bpe.New(v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// ggufVocabulary reads the keys of a byte-level BPE, which llama.cpp calls gpt2.
func ggufVocabulary(f *gguf.File) (bpe.Vocabulary, error) {
	k := keys{file: f}
	if kind := k.string("tokenizer.ggml.model"); k.err == nil && kind != "gpt2" {
		return bpe.Vocabulary{}, fmt.Errorf("tokenizer.ggml.model is %.100q, expected gpt2: other vocabularies are no byte-level BPE", kind)
	}
	v := bpe.Vocabulary{
		Pre: k.string("tokenizer.ggml.pre"), Tokens: k.strings("tokenizer.ggml.tokens"),
		Kinds: k.ints("tokenizer.ggml.token_type"), Merges: k.strings("tokenizer.ggml.merges"),
	}
	// Files of Llama 3 that do not say have a BOS all the same, as in llama.cpp.
	if v.AddBOS = k.bool("tokenizer.ggml.add_bos_token", v.Pre == "llama-bpe"); v.AddBOS {
		v.BOS = k.int("tokenizer.ggml.bos_token_id")
	}
	if k.bool("tokenizer.ggml.add_eos_token", false) {
		return bpe.Vocabulary{}, errors.New("tokenizer.ggml.add_eos_token is true, expected false: a prompt that has ended cannot be gone on with")
	}
	return v, k.err
}

// keys reads a file's keys, and keeps the first error.
type keys struct {
	file *gguf.File
	err  error
}

// read is what a key has, and nothing after an error.
func read[T any](k *keys, get func(string) (T, error), name string) T {
	var none T
	if k.err != nil {
		return none
	}
	v, err := get(name)
	k.err = err
	return v
}

func (k *keys) string(name string) string    { return read(k, k.file.String, name) }
func (k *keys) strings(name string) []string { return read(k, k.file.Strings, name) }
func (k *keys) ints(name string) []int64     { return read(k, k.file.Ints, name) }
func (k *keys) int(name string) int64        { return read(k, k.file.Int, name) }

// bool is a key's, or where it is missing another.
func (k *keys) bool(name string, without bool) bool {
	if k.err != nil || !k.file.Has(name) {
		return without
	}
	return read(k, k.file.Bool, name)
}

// byteVocabulary is a tokenizer.Bytes that knows its size. Nothing stands before its
// prompts.
type byteVocabulary struct {
	*tokenizer.Bytes
	size int
}

// VocabSize is the largest id and one.
func (v byteVocabulary) VocabSize() int { return v.size }

// EncodePrompt is Encode.
func (v byteVocabulary) EncodePrompt(text string) ([]int64, error) { return v.Encode(text) }

func byteTokenizer(tokens []tokenizer.Token) (Tokenizer, error) {
	b, err := tokenizer.NewBytes(tokens)
	if err != nil {
		return nil, err
	}
	return byteVocabulary{b, len(tokens)}, nil // ids are 0 and up, without gaps
}

// smallVocabulary is the small model's: the bytes, and the special tokens behind.
func smallVocabulary() []tokenizer.Token {
	var tokens []tokenizer.Token
	for id := range int64(256) {
		tokens = append(tokens, tokenizer.Token{ID: id, Bytes: []byte{byte(id)}})
	}
	for i, name := range qwen3.Specials {
		tokens = append(tokens, tokenizer.Token{ID: 256 + int64(i), Bytes: []byte(name), Special: true})
	}
	return tokens
}

package bpe

import (
	"fmt"
	"strings"
)

// The types of tokens (tokenizer.ggml.token_type, by llama.cpp's numbers) that a
// byte-level BPE has.
const (
	Normal      = 1
	Control     = 3 // an added token that skipSpecial leaves out
	UserDefined = 4 // an added token with text
	Unused      = 5 // no token: a row of the model that nothing stands for
)

// Vocabulary is what a GGUF says of its tokenizer (tokenizer.ggml.model gpt2).
type Vocabulary struct {
	Pre    string   // tokenizer.ggml.pre: qwen2, qwen35, smollm, gpt-2 or llama-bpe
	Tokens []string // tokenizer.ggml.tokens, by id
	Kinds  []int64  // tokenizer.ggml.token_type, by id
	Merges []string // tokenizer.ggml.merges, two tokens and a blank between them
	AddBOS bool     // tokenizer.ggml.add_bos_token: BOS stands before a prompt
	BOS    int64    // tokenizer.ggml.bos_token_id
}

// New makes the tokenizer of a GGUF. Its methods give the ids that Python's
// tokenizers gives for the model's tokenizer.json, as far as the GGUF has what
// that says: converters mark as control some tokens that are not special there.
func New(v Vocabulary) (*Tokenizer, error) {
	d, err := v.definition()
	if err != nil {
		return nil, fmt.Errorf("bpe: the GGUF's tokenizer: %w", err)
	}
	t, err := d.build()
	if err != nil {
		return nil, fmt.Errorf("bpe: the GGUF's tokenizer: %w", err)
	}
	return t, nil
}

func (v *Vocabulary) definition() (*definition, error) {
	if len(v.Kinds) != len(v.Tokens) || len(v.Tokens) == 0 {
		return nil, fmt.Errorf("it has %d tokens and %d token types, expected as many, and at least one", len(v.Tokens), len(v.Kinds))
	}
	if len(v.Tokens) > maxID {
		return nil, fmt.Errorf("it has %d tokens, expected at most %d", len(v.Tokens), maxID)
	}
	d := &definition{tokens: make(map[string]int32, len(v.Tokens))}
	if v.AddBOS {
		if v.BOS < 0 || v.BOS >= int64(len(v.Tokens)) {
			return nil, fmt.Errorf("bos_token_id is %d, expected 0 to %d as add_bos_token is true", v.BOS, len(v.Tokens)-1)
		}
		d.prefix = []int32{int32(v.BOS)}
	}
	if err := v.pre(d); err != nil {
		return nil, err
	}
	for i, text := range v.Tokens {
		id := int32(i)
		switch kind := v.Kinds[i]; kind {
		case Normal:
			if other, ok := d.tokens[text]; ok {
				return nil, fmt.Errorf("the token %q is given twice, with the ids %d and %d", text, other, id)
			}
			d.tokens[text] = id
		case Control, UserDefined:
			d.added = append(d.added, added{id: id, content: text, special: kind == Control})
		case Unused:
		default:
			return nil, fmt.Errorf("the token %q of id %d has type %d, expected 1 (normal), 3 (control), 4 (user defined) or 5 (unused)", text, id, kind)
		}
	}
	for i, m := range v.Merges {
		a, b, ok := strings.Cut(m, " ")
		if !ok || strings.Contains(b, " ") {
			return nil, fmt.Errorf("merge %d is %.80q, expected two tokens with a blank between them", i, m)
		}
		d.merges = append(d.merges, [2]string{a, b})
	}
	return d, nil
}

// pre is what tokenizer.ggml.pre stands for.
func (v *Vocabulary) pre(d *definition) (err error) {
	switch v.Pre {
	case "qwen2":
		d.nfc, d.steps = true, []splitter{splitQwen}
	case "qwen35":
		var s splitter
		s, err = pattern(patternQwen35)
		d.nfc, d.steps = true, []splitter{s}
	case "smollm":
		d.steps = []splitter{digits, splitGPT2}
	case "gpt-2":
		d.steps = []splitter{splitGPT2}
	case "llama-bpe":
		d.whole, d.steps = true, []splitter{splitLlama3}
	default:
		return fmt.Errorf("tokenizer.ggml.pre is %q, expected qwen2, qwen35, smollm, gpt-2 or llama-bpe", v.Pre)
	}
	return err
}

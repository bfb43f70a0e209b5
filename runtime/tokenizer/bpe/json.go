package bpe

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
)

// maxFile is the size of the largest tokenizer.json that is read; those of
// vocabularies with a quarter of a million tokens have 30 MB.
const maxFile = 1 << 28

// Load reads the tokenizer.json at path.
func Load(path string) (*Tokenizer, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a pipe of that name would block
	if err != nil {
		return nil, fmt.Errorf("bpe: %w", err)
	}
	data, err := readAtMost(f, maxFile)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("bpe: %s: %w", path, err)
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w (in %s)", err, path)
	}
	return t, nil
}

// readAtMost reads f, and of a file that is too large nothing.
func readAtMost(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is %v, expected a file", info.Mode().Type())
	}
	data := []byte(nil)
	if info.Size() <= limit {
		if data, err = io.ReadAll(io.LimitReader(f, limit+1)); err != nil {
			return nil, err
		}
	}
	if size := max(info.Size(), int64(len(data))); size > limit {
		return nil, fmt.Errorf("%d bytes, expected at most %d", size, limit)
	}
	return data, nil
}

// Parse reads what a tokenizer.json holds.
func Parse(data []byte) (*Tokenizer, error) {
	d, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("bpe: tokenizer.json: %w", err)
	}
	t, err := d.build()
	if err != nil {
		return nil, fmt.Errorf("bpe: tokenizer.json: %w", err)
	}
	return t, nil
}

// file is a tokenizer.json; the parts that have a type are read one by one.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    *part           `json:"normalizer"`
	PreTokenizer  *part           `json:"pre_tokenizer"`
	PostProcessor *part           `json:"post_processor"`
	Decoder       *part           `json:"decoder"`
	Model         *model          `json:"model"`
}

type addedToken struct {
	ID         *int32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

type model struct {
	Type         string   `json:"type"`
	Dropout      *float64 `json:"dropout"`
	UnkToken     *string  `json:"unk_token"`
	Prefix       string   `json:"continuing_subword_prefix"`
	Suffix       string   `json:"end_of_word_suffix"`
	FuseUnk      bool     `json:"fuse_unk"` // of unknown tokens, which byte-level BPE has none of
	ByteFallback bool     `json:"byte_fallback"`
	IgnoreMerges bool     `json:"ignore_merges"`
	Vocab        vocab    `json:"vocab"`
	Merges       []merge  `json:"merges"`
}

func parse(data []byte) (*definition, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name  string
		value json.RawMessage
	}{{"truncation", f.Truncation}, {"padding", f.Padding}} {
		if len(p.value) > 0 && string(p.value) != "null" {
			return nil, fmt.Errorf("%s is %.60s, expected null", p.name, p.value)
		}
	}
	if f.Model == nil {
		return nil, errors.New("it has no model")
	}
	d := &definition{tokens: f.Model.Vocab, whole: f.Model.IgnoreMerges}
	if err := f.Model.check(); err != nil {
		return nil, err
	}
	for _, m := range f.Model.Merges {
		d.merges = append(d.merges, m)
	}
	for i, a := range f.AddedTokens {
		if a.ID == nil {
			return nil, fmt.Errorf("added token %d, %q, has no id", i, a.Content)
		}
		if a.SingleWord {
			return nil, fmt.Errorf("the added token %q has single_word true, expected false: it is not built", a.Content)
		}
		d.added = append(d.added, added{*a.ID, a.Content, a.Special, a.LStrip, a.RStrip, a.Normalized})
	}
	return d, f.parts(d)
}

// check refuses what is no plain byte-level BPE.
func (m *model) check() error {
	switch {
	case m.Type != "BPE" && m.Type != "": // old files have no type
		return fmt.Errorf("the model is of type %q, expected BPE", m.Type)
	case len(m.Vocab) == 0:
		return errors.New("the model's vocab is empty or missing")
	case m.Merges == nil:
		return errors.New("the model has no merges")
	case m.Dropout != nil && *m.Dropout != 0:
		return fmt.Errorf("the model has dropout %v, expected none", *m.Dropout)
	case m.Prefix != "":
		return fmt.Errorf("the model has continuing_subword_prefix %q, expected none", m.Prefix)
	case m.Suffix != "":
		return fmt.Errorf("the model has end_of_word_suffix %q, expected none", m.Suffix)
	case m.ByteFallback:
		return errors.New("the model has byte_fallback true, expected false: it is no byte-level BPE")
	case m.UnkToken != nil:
		for _, r := range letters {
			if _, ok := m.Vocab[string(r)]; !ok {
				return fmt.Errorf("the model has unk_token %q and no token for the byte 0x%02x, expected all 256 or no unk_token", *m.UnkToken, lettered[r])
			}
		}
	}
	return nil
}

// strict reads data, which has one value without fields that v lacks, or that are given twice.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("there is more at byte %d, behind the end", dec.InputOffset())
	}
	return jsoncheck.DoubledKey(data)
}

// vocab is an object of tokens and ids. Unlike a map it refuses an id that is null.
type vocab map[string]int32

// UnmarshalJSON reads a vocabulary.
func (v *vocab) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	first, err := dec.Token()
	if err != nil {
		return err
	}
	if first != json.Delim('{') {
		return fmt.Errorf("the vocab begins with %v, expected {", first)
	}
	*v = make(vocab, len(data)/24)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		text, ok := key.(string)
		if !ok {
			return fmt.Errorf("the vocab has the key %v, expected a string", key)
		}
		var id *int32
		if err := dec.Decode(&id); err != nil {
			return fmt.Errorf("the token %q: %w", text, err)
		}
		if id == nil {
			return fmt.Errorf("the token %q has the id null, expected a number", text)
		}
		(*v)[text] = *id
	}
	_, err = dec.Token()
	return err
}

// merge is a pair: an array of two, or in older files a string with a blank.
type merge [2]string

// UnmarshalJSON reads a merge.
func (m *merge) UnmarshalJSON(data []byte) error {
	var line string
	var parts []string
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &line); err != nil {
			return err
		}
		parts = strings.Split(line, " ")
	} else if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("the merge %.80s has %d parts, expected 2", data, len(parts))
	}
	*m = merge(parts)
	return nil
}

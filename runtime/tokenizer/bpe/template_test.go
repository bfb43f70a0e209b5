package bpe

import (
	"slices"
	"strings"
	"testing"
)

// withPostProcessor is tiny with another post_processor.
func withPostProcessor(p string) []byte {
	return []byte(strings.Replace(tiny, `"post_processor":null`, `"post_processor":`+p, 1))
}

const (
	byteLevel = `{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true}`
	before    = `{"SpecialToken":{"id":"<x>","type_id":0}}`
	sequence  = `{"Sequence":{"id":"A","type_id":0}}`
	specials  = `"special_tokens":{"<x>":{"id":"<x>","ids":[4],"tokens":["<x>"]}}`
)

// template is a post-processor whose single has these parts.
func template(single ...string) string {
	return `{"type":"TemplateProcessing","single":[` + strings.Join(single, ",") + `],"pair":[` + sequence + `,{"Sequence":{"id":"B","type_id":1}}],` + specials + `}`
}

// What a template has before the text stands before a prompt, and not before what
// Encode is given.
func TestPrompt(t *testing.T) {
	for post, prefix := range map[string][]int64{
		"null":                             nil,
		byteLevel:                          nil,
		template(sequence):                 nil,
		template(before, sequence):         {4},
		template(before, before, sequence): {4, 4},
		`{"type":"Sequence","processors":[` + byteLevel + `,` + template(before, sequence) + `]}`: {4}, // Llama 3's
		`{"type":"Sequence","processors":[]}`:                                                     nil,
		strings.Replace(template(before, sequence), "[4]", "[4,0]", 1):                            {4, 0},
	} {
		tok, err := Parse(withPostProcessor(post))
		if err != nil {
			t.Errorf("%s: %v", post, err)
			continue
		}
		for text, own := range map[string][]int64{"ab<x> b": {2, 4, 3, 1}, "": nil} {
			if ids, err := tok.Encode(text); err != nil || !slices.Equal(ids, own) {
				t.Errorf("%s: %q is %v, %v, want %v", post, text, ids, err, own)
			}
			if ids, err := tok.EncodePrompt(text); err != nil || !slices.Equal(ids, slices.Concat(prefix, own)) {
				t.Errorf("%s: the prompt %q is %v, %v, want %v and %v", post, text, ids, err, prefix, own)
			}
		}
		if _, err := tok.EncodePrompt("\xff"); err == nil {
			t.Errorf("%s: a prompt that is no UTF-8 has no error", post)
		}
	}
}

// A template that does more than to put tokens before a text is refused.
func TestBadTemplates(t *testing.T) {
	for post, want := range map[string]string{
		template():                                                   "its single does not end with the sequence A",
		template(before):                                             "its single does not end with the sequence A",
		template(before, sequence, before):                           "its single does not end with the sequence A",
		template(sequence, sequence):                                 "part 0 of its single is no special token",
		template(`{"Sequence":{"id":"B","type_id":0}}`):              "its single does not end with the sequence A",
		template(strings.Replace(before, "<x>", "y", 1), sequence):   `its special_tokens have no ids of "y"`,
		template(`{"Other":{}}`, sequence):                           `unknown field "Other"`,
		`{"type":"TemplateProcessing","single":"<x> $A"}`:            "cannot unmarshal string",
		strings.Replace(template(before, sequence), "[4]", "[]", 1):  `its special_tokens have no ids of "<x>"`,
		strings.Replace(template(before, sequence), "[4]", "[9]", 1): "the id 9 is to stand before a prompt, and the vocabulary has no token of it",
		`{"type":"Sequence","processors":[` + template(before, sequence) + `,` + template(before, sequence) + `]}`: "it has 2 of TemplateProcessing, expected one at most",
		`{"type":"Sequence","processors":[{"type":"Sequence","processors":[]}]}`:                                   `it is "Sequence", expected ByteLevel`,
	} {
		if _, err := Parse(withPostProcessor(post)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", post, err, want)
		}
	}
}

// A GGUF names the token that stands before a prompt.
func TestPromptOfVocabulary(t *testing.T) {
	for add, want := range map[bool][]int64{false: {2}, true: {4, 2}} {
		v := tinyVocabulary()
		v.AddBOS, v.BOS = add, 4
		tok, err := New(v)
		if err != nil {
			t.Fatal(err)
		}
		if ids, err := tok.EncodePrompt("ab"); err != nil || !slices.Equal(ids, want) {
			t.Errorf("add_bos_token %v: %v, %v, want %v", add, ids, err, want)
		}
	}
}

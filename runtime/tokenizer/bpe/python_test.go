//go:build python

package bpe

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files is the folder that scripts/tokenizer_files makes.
func files(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("../../../scripts/tokenizer_files")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("scripts/tokenizer_files: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// The ids and texts of Python's tokenizers, on the whole files of Qwen3 and
// SmolLM2: some ten thousand texts, and every character of the planes in use in several places.
func TestPythonTokenizers(t *testing.T) {
	folder := files(t)
	path := filepath.Join(t.TempDir(), "cases.json")
	cmd := exec.Command(filepath.Join(folder, "bin", "python"), "../../../scripts/bpe_golden.py", "large", folder, "1", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/bpe_golden.py: %v\n%s", err, out)
	}
	g := readGolden(t, path)
	if len(g.Encode) < 10000 || len(g.Decode) < 4000 || len(g.Sweep) != 2 {
		t.Fatalf("%d texts, %d lists of ids and %d sweeps, expected more", len(g.Encode), len(g.Decode), len(g.Sweep))
	}
	qwen3 := load(t, filepath.Join(folder, "qwen3", "tokenizer.json"))
	smollm2 := load(t, filepath.Join(folder, "smollm2", "tokenizer.json"))
	if qwen3.VocabSize() != 151669 || smollm2.VocabSize() != 49152 {
		t.Errorf("vocabularies of %d and %d, want 151669 and 49152", qwen3.VocabSize(), smollm2.VocabSize())
	}
	checkGolden(t, g, qwen3, smollm2)
	checkSweep(t, g.Sweep["qwen3"], qwen3)
	checkSweep(t, g.Sweep["smollm2"], smollm2)
}

func checkSweep(t *testing.T, want []uint32, tok *Tokenizer) {
	t.Helper()
	if len(want) != 0x4000+0x20+0x10 {
		t.Fatalf("%d checksums, want %d", len(want), 0x4000+0x20+0x10)
	}
	for i, sum := range want {
		n := i
		if i >= 0x4000 {
			n += 0xe000 - 0x4000
		}
		if i >= 0x4020 {
			n += 0xf000 - 0xe020
		}
		ids, err := tok.Encode(sweepText(n))
		if err != nil {
			t.Fatal(err)
		}
		var packed []byte
		for _, id := range ids {
			packed = binary.LittleEndian.AppendUint32(packed, uint32(id))
		}
		if crc32.ChecksumIEEE(packed) != sum {
			t.Errorf("the characters from U+%04X: the ids %v differ", n*16, ids)
		}
	}
}

// What the GGUF says and what tokenizer.json says are one tokenizer.
func TestPythonGGUF(t *testing.T) {
	folder := files(t)
	b, err := os.ReadFile(filepath.Join(folder, "smollm2", "vocabulary.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v Vocabulary
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	gguf, err := New(v)
	if err != nil {
		t.Fatal(err)
	}
	if gguf.VocabSize() != len(v.Tokens) {
		t.Errorf("a vocabulary of %d, want %d", gguf.VocabSize(), len(v.Tokens))
	}
	whole := load(t, filepath.Join(folder, "smollm2", "tokenizer.json"))
	for _, c := range readGolden(t, "testdata/cases.json").Encode {
		got, err := gguf.Encode(c.Text)
		want, err2 := whole.Encode(c.Text)
		if err != nil || err2 != nil || !slices.Equal(got, want) {
			t.Errorf("%+q: %v, %v, want %v, %v", c.Text, got, err, want, err2)
		}
		text, other := gguf.AppendDecode(nil, got, true, false), whole.AppendDecode(nil, want, true, false)
		if string(text) != string(other) {
			t.Errorf("%v: %+q, want %+q", got, text, other)
		}
	}
}

// A prompt's ids are those that Python's tokenizers gives with add_special_tokens, for
// the post-processors that are read.
func TestPythonPrompt(t *testing.T) {
	folder := files(t)
	const program = `
import json, sys, tokenizers
tok = tokenizers.Tokenizer.from_file(sys.argv[1])
print(json.dumps([tok.encode(text, add_special_tokens=add).ids for text in json.loads(sys.argv[2]) for add in (False, True)]))
`
	texts := []string{"", "ab<x> b", "<x>ab"}
	packed, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	for _, post := range []string{
		"null", byteLevel, template(sequence), template(before, sequence), template(before, before, sequence),
		`{"type":"Sequence","processors":[` + byteLevel + `,` + template(before, sequence) + `]}`,
	} {
		path := filepath.Join(t.TempDir(), "tokenizer.json")
		if err := os.WriteFile(path, withPostProcessor(post), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(filepath.Join(folder, "bin", "python"), "-c", program, path, string(packed)).Output()
		if err != nil {
			t.Fatalf("%s: %v", post, err)
		}
		var want [][]int64
		if err := json.Unmarshal(out, &want); err != nil || len(want) != 2*len(texts) {
			t.Fatalf("%s: %s, %v", post, out, err)
		}
		tok := load(t, path)
		for i, text := range texts {
			own, err := tok.Encode(text)
			prompt, err2 := tok.EncodePrompt(text)
			if err != nil || err2 != nil || !slices.Equal(own, want[2*i]) || !slices.Equal(prompt, want[2*i+1]) {
				t.Errorf("%s: %q is %v and %v, want %v; %v, %v", post, text, own, prompt, want[2*i:2*i+2], err, err2)
			}
		}
	}
}

package detokenizer

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

var rewrite = flag.Bool("rewrite", false, "write what the scripts in testdata give as what they expect")

// TestScripts runs testdata/*.txt. A line is a command, and the line behind it,
// marked by =>, what it gave:
//
//	vocabulary words|bytes [capacity=N] [method=M]   starts anew
//	token ID QUOTED [special]
//	row RID ids=1,2 [read=N] [text=QUOTED] [skip] [notrim] [done] [stop=QUOTED] [stoptoken]
//	=> QUOTED text and the number of states, or the error
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("scripts: %d, %v, want at least one", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareLines(t, got, string(want))
		})
	}
}

func compareLines(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
}

// script is what the commands act on.
type script struct {
	kind     string
	method   Method
	capacity int
	vocab    []tokenizer.Token
	detok    *Detokenizer
}

func runScript(t *testing.T, text string) string {
	t.Helper()
	var out []string
	var s script
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "=>") {
			continue
		}
		out = append(out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		answer, err := s.command(line)
		if err != nil {
			t.Fatalf("line %d, %s: %v", i+1, line, err)
		}
		if answer != "" {
			out = append(out, "=> "+answer)
		}
	}
	return strings.Join(out, "\n")
}

func (s *script) command(line string) (string, error) {
	f, err := fields(line)
	if err != nil {
		return "", err
	}
	switch f[0] {
	case "vocabulary":
		*s = script{kind: f[1], method: MethodOffset}
		for _, option := range f[2:] {
			if m, ok := strings.CutPrefix(option, "method="); ok {
				s.method = Method(m)
			} else if s.capacity, err = strconv.Atoi(strings.TrimPrefix(option, "capacity=")); err != nil {
				return "", err
			}
		}
		return "", nil
	case "token":
		id, err := strconv.ParseInt(f[1], 10, 64)
		s.vocab = append(s.vocab, tokenizer.Token{ID: id, Bytes: []byte(f[2]), Special: len(f) > 3})
		return "", err
	case "row":
		return s.row(f[1:])
	}
	return "", fmt.Errorf("no command %q", f[0])
}

func (s *script) row(f []string) (string, error) {
	if s.detok == nil {
		d, err := newDecoder(s.kind, s.vocab)
		if err != nil {
			return "", err
		}
		if s.detok, err = NewMethod(s.method, d, Options{Capacity: s.capacity}); err != nil {
			return "", err
		}
	}
	r, err := parseRow(f)
	if err != nil {
		return "", err
	}
	text, err := s.detok.Append([]byte("kept"), r)
	if err != nil {
		var evicted *EvictedError
		return fmt.Sprintf("error (evicted %t): %v, states %d", errors.As(err, &evicted), err, s.detok.Len()), nil
	}
	return fmt.Sprintf("%q states %d", strings.TrimPrefix(string(text), "kept"), s.detok.Len()), nil
}

func parseRow(f []string) (r Row, err error) {
	r = Row{RID: f[0], SpacesBetween: true}
	for _, option := range f[1:] {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "ids":
			for _, part := range strings.Split(value, ",") {
				id := int64(0)
				if part == "" {
					continue
				}
				if id, err = strconv.ParseInt(part, 10, 64); err != nil {
					return r, err
				}
				r.DecodeIDs = append(r.DecodeIDs, id)
			}
		case "read":
			if r.ReadOffset, err = strconv.Atoi(value); err != nil {
				return r, err
			}
		case "text":
			r.DecodedText = []byte(value)
		case "skip":
			r.SkipSpecial = true
		case "notrim":
			r.NoStopTrim = true
		case "done":
			r.Finish.Done = true
		case "stop":
			r.Finish = Finish{Done: true, MatchedText: value}
		case "stoptoken":
			r.Finish = Finish{Done: true, MatchedToken: true}
		default:
			return r, fmt.Errorf("no option %q", option)
		}
	}
	return r, nil
}

// fields splits at blanks, and unquotes what is quoted: "a b", name="a b".
func fields(line string) ([]string, error) {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexAny(line, ` "`)
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		line = line[end:]
		if strings.HasPrefix(line, `"`) {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, fmt.Errorf("quotes: %w", err)
			}
			line = line[len(quoted):]
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, fmt.Errorf("quotes: %w", err)
			}
			word += text
		}
		out = append(out, word)
	}
	return out, nil
}

func newDecoder(kind string, vocab []tokenizer.Token) (Decoder, error) {
	switch kind {
	case "words":
		return tokenizer.NewWordLevel(vocab)
	case "bytes":
		return tokenizer.NewBytes(vocab)
	}
	return nil, fmt.Errorf("no vocabulary of kind %q", kind)
}

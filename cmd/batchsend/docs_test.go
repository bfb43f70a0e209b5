package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// commands are the lines of a page that begin with $ batchsend, without that.
func commands(t *testing.T, path string) (list [][]string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "$ batchsend"); ok {
			list = append(list, words(t, text))
		}
	}
	if len(list) == 0 {
		t.Fatalf("%s has no command", path)
	}
	return list
}

// words splits as a shell does, as far as double quotes.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	for i, part := range strings.Split(text, `"`) {
		if i%2 == 1 {
			list = append(list, part)
		} else {
			list = append(list, strings.Fields(part)...)
		}
	}
	return list
}

// Every command of the manual is run, with a load that is smaller than its own; one that
// needs another server is read as far as that.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	page, err := filepath.Abs("../../docs/batchsend.md")
	if err != nil {
		t.Fatal(err)
	}
	list := commands(t, page)
	t.Chdir(dir)
	for name, text := range map[string]string{
		"requests.jsonl": block(t, page, "json"),
		"server.log":     "",
		"tokenizer.json": tokenizerFile(t, filepath.Dir(page)),
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	smaller := []string{"--rounds", "1", "--duration", "300ms", "--rps", "20", "--single-requests", "1", "--warmup", "1", "--max-lateness", "1h", "--seed", "7"}
	run := ""
	for i, args := range list {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			if run != "" { // what the others need is there
				t.Parallel()
			}
			switch {
			case len(args) > 1 && args[0] == "--schedule": // of the run that was made; it has the load's size
				args[1] = run
				command(t, append(args, "--max-lateness", "1h", "--single-requests", "0", "--warmup", "1", "--output", filepath.Join(dir, "run", "replayed"))...).run(exitOK)
				return
			case len(args) > 0 && args[0] == "--shard": // seed and rate are its own
				command(t, append(args, "--rounds", "1", "--duration", "300ms", "--max-lateness", "1h", "--output", filepath.Join(dir, "run", "shard"))...).run(exitOK)
				return
			case len(args) > 1 && args[1] == "DIR":
				args[1] = run
				command(t, args...).run(exitOK)
				return
			case strings.Contains(strings.Join(args, " "), "launch:") || strings.Contains(strings.Join(args, " "), "url:"):
				reads(t, args)
				return
			}
			output := filepath.Join(dir, "run", string(rune('a'+i)))
			command(t, append(append(args, smaller...), "--output", output)...).run(exitOK)
			if run == "" {
				run = output
			}
		})
	}
}

// block is the page's first one of a language.
func block(t *testing.T, path, language string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(b), "```"+language+"\n")
	text, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatalf("%s has no block of %s", path, language)
	}
	return text
}

// tokenizerFile is one that is small.
func tokenizerFile(t *testing.T, docs string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(docs, "../runtime/tokenizer/bpe/testdata/qwen3-small.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// reads wants the flags to be good, and servers that could be started.
func reads(t *testing.T, args []string) {
	t.Helper()
	var f runFlags
	c := &cobra.Command{Use: "batchsend"}
	f.add(c)
	f.given = c.Flags().Changed
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := f.check(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.config(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
}

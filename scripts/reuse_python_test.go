//go:build python

package scripts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	madeUp   = "testdata/madeup"
	rowsFile = "sglang/srt/managers/rows.py"
)

// madeUpTree is a copy of the made-up tree in which each old text became the new one.
func madeUpTree(t *testing.T, file string, oldNew ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(madeUp)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(oldNew); i += 2 {
		if !bytes.Contains(b, []byte(oldNew[i])) {
			t.Fatalf("%s has no %q", file, oldNew[i])
		}
	}
	if err := os.WriteFile(path, []byte(strings.NewReplacer(oldNew...).Replace(string(b))), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

type played struct {
	Rows   any
	Opened int
}

func playMadeUp(t *testing.T, tree string) []played {
	t.Helper()
	out, errs, err := python(t, plainPython, "testdata/madeup_rows.py", tree)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	var p []played
	if err := json.Unmarshal([]byte(out), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// Rows are equal, columns are opened once more behind the first row, in files
// with either end of line; the original stays as it was.
func TestReuseEditsBothLoops(t *testing.T) {
	for name, tree := range map[string]string{
		"lines that end in LF":   madeUpTree(t, rowsFile),
		"lines that end in CRLF": madeUpTree(t, rowsFile, "\n", "\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			before := hash(t, filepath.Join(tree, rowsFile))
			out := filepath.Join(t.TempDir(), "out")
			printed, errs, err := python(t, plainPython, "sglang_reuse.py", tree, out)
			if err != nil {
				t.Fatalf("%v\n%s", err, errs)
			}
			if want := fmt.Sprintf("%s %s %s\n", rowsFile, before, hash(t, filepath.Join(out, rowsFile))); printed != want {
				t.Errorf("printed %q, want %q", printed, want)
			}
			if hash(t, filepath.Join(tree, rowsFile)) != before {
				t.Error("the original changed")
			}
			if want := endsOfLine(t, tree); endsOfLine(t, out) != want {
				t.Errorf("lines end in %q, want %q alone", endsOfLine(t, out), want)
			}
			reference, candidate := playMadeUp(t, tree), playMadeUp(t, out)
			var opened [][2]int
			for i := range reference {
				if !reflect.DeepEqual(reference[i].Rows, candidate[i].Rows) {
					t.Errorf("message %d: rows\n%v\nwant\n%v", i, candidate[i].Rows, reference[i].Rows)
				}
				opened = append(opened, [2]int{reference[i].Opened, candidate[i].Opened})
			}
			// A row, five rows and a message that is sent whole, in each loop.
			if want := [][2]int{{1, 1}, {5, 2}, {0, 0}, {1, 1}, {5, 2}, {0, 0}}; !reflect.DeepEqual(opened, want) {
				t.Errorf("opened %v, want %v", opened, want)
			}
		})
	}
}

// endsOfLine has each way in which a line ends, once.
func endsOfLine(t *testing.T, tree string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tree, rowsFile))
	if err != nil {
		t.Fatal(err)
	}
	ends := slices.Sorted(slices.Values(regexp.MustCompile(`\r?\n`).FindAllString(string(b), -1)))
	return strings.Join(slices.Compact(ends), " and ")
}

func TestReuseRefusesWhatDiffers(t *testing.T) {
	const detokenizer, router = "Detokenizer.multi_http_worker_event_loop", "MultiDetokenizerRouter.event_loop"
	messages := strings.Replace(rowsFile, "rows.py", "messages.py", 1)
	for name, c := range map[string]struct {
		file   string
		oldNew []string
		want   []string
	}{
		"no detokenizer loop": {rowsFile, []string{"def multi_http_worker_event_loop", "def loop"}, []string{"no file in sglang/srt/managers defines multi_http_worker_event_loop"}},
		"no router":           {rowsFile, []string{"class MultiDetokenizerRouter", "class Router"}, []string{"defines MultiDetokenizerRouter.event_loop"}},
		"a loop defined twice": {rowsFile, []string{"class MultiDetokenizerRouter", "def multi_http_worker_event_loop():\n    pass\n\n\nclass MultiDetokenizerRouter"}, []string{
			"multi_http_worker_event_loop is defined 2 times"}},
		"no row loop":   {rowsFile, []string{"for number, key in enumerate(received.to):", "while key := number:"}, []string{detokenizer + " has no loop that slices rows (it has no loop)"}},
		"broken syntax": {rowsFile, []string{"part = take(received, number)", "part = take(received,"}, []string{rowsFile + " does not parse"}},
		"other iteration": {rowsFile, []string{"for number, key in enumerate(received.to)", "for number, key in zip(range(9), received.to)"}, []string{
			detokenizer, "line ", "it does not go over enumerate(...)"}},
		"other target":         {rowsFile, []string{"for number, key in", "for number in", "self.send(key, part)", "self.send(number, part)"}, []string{"its target is not a number and a key"}},
		"slice not first":      {rowsFile, []string{"part = take(received, index)", "key = str(key)\n                part = take(received, index)"}, []string{router, "its first statement does not slice a row"}},
		"slice of another row": {rowsFile, []string{"take(received, index)", "take(received, index + 1)"}, []string{router, "SLICE(MESSAGE, index)"}},
		"message assigned":     {rowsFile, []string{"part.to = [key]", "received = part"}, []string{router, "it assigns received inside"}},
		"one line": {rowsFile, []string{"part = take(received, number)\n                self.send(key, part)", "part = take(received, number); self.send(key, part)"}, []string{
			detokenizer, "its first statement has no line of its own"}},
		"two row loops": {rowsFile, []string{"    def event_loop(self):\n", "    def event_loop(self):\n        for index, key in enumerate(self.waiting):\n            part = take(key, index)\n"}, []string{
			router + " has 2 loops that slice rows, want one"}},
		"grouped rows": {rowsFile, []string{"            for number, key in enumerate(received.to):\n                part = take(received, number)\n                self.send(key, part)\n",
			"            self.grouped(received)\n\n    def grouped(self, received):\n        rows = {}\n        for number, key in enumerate(received.to):\n            rows.setdefault(key, []).append(number)\n"},
			[]string{detokenizer + " has nothing to edit", "Detokenizer.grouped gathers the rows"}},
		"slicer elsewhere": {rowsFile, []string{"def take(", "def took("}, []string{"calls take, which is not defined in that file"}},
		"two slicers": {rowsFile, []string{"take(received, index)", "took(received, index)", "class Detokenizer", "def took(message, row):\n    return take(message, row)\n\n\nclass Detokenizer"}, []string{
			router + " slices rows by took"}},
		"two readers":         {rowsFile, []string{`read(message, "numbers", row)`, `look(message, "numbers", row)`}, []string{"take reads fields by 2 functions ['look', 'read']"}},
		"nothing opened":      {rowsFile, []string{"column = unseal(column)", "pass"}, []string{"read opens wrapped fields at 0 places"}},
		"names elsewhere":     {rowsFile, []string{`("notes", "marks")`, "SEALED"}, []string{"read opens wrapped fields at 0 places"}},
		"no opened field":     {rowsFile, []string{`read(message, "notes", row)`, "None"}, []string{"take has no branch"}},
		"two classes at once": {rowsFile, []string{"isinstance(message, Tokens)", "isinstance(message, (Tokens, str))"}, []string{"take asks for more than one class at once"}},
		"opener of the file":  {rowsFile, []string{"Whole, unseal", "Whole"}, []string{"unseal is imported 0 times"}},
		"opener not ours":     {rowsFile, []string{"import Sealed, Tokens, Whole, unseal", "import Sealed, Tokens, Whole\nfrom json import loads as unseal"}, []string{"which is no file of the tree (json.py)"}},
		"opener that fails on what is open": {messages, []string{"if not isinstance(value, Sealed):\n        return value\n    ", ""}, []string{
			"unseal does not hand back a value that is not wrapped"}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := madeUpTree(t, c.file, c.oldNew...)
			out := filepath.Join(t.TempDir(), "out")
			refuses(t, out, c.want, tree, out)
		})
	}
}

// refuses wants status 1, the words in the message, and no trace at or beside OUT.
func refuses(t *testing.T, out string, want []string, args ...string) {
	t.Helper()
	printed, errs, err := python(t, plainPython, append([]string{"sglang_reuse.py"}, args...)...)
	if err == nil || printed != "" {
		t.Errorf("err %v, printed %q; want a refusal", err, printed)
	}
	for _, w := range want {
		if !strings.Contains(errs, w) || strings.Contains(errs, "Traceback") {
			t.Errorf("message %q, want one with %q", errs, w)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(out), ".making-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind %q (%v)", left, err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Errorf("%s was made", out)
	}
}

func TestReuseRefusesPaths(t *testing.T) {
	tree, dir := madeUpTree(t, rowsFile), t.TempDir()
	edited := filepath.Join(dir, "edited")
	if _, errs, err := python(t, plainPython, "sglang_reuse.py", tree, edited); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	again := filepath.Join(dir, "again")
	refuses(t, again, []string{"edited by this script before"}, edited, again)
	refuses(t, again, []string{"does not hold sglang/srt/managers"}, t.TempDir(), again)
	inside := filepath.Join(tree, "inside")
	refuses(t, inside, []string{"lies inside"}, tree, inside)
	refuses(t, again, []string{"nowhere"}, tree, filepath.Join(dir, "nowhere", "out"))

	checkout := filepath.Join(dir, "checkout")
	if err := os.CopyFS(filepath.Join(checkout, "python"), os.DirFS(madeUp)); err != nil {
		t.Fatal(err)
	}
	refuses(t, again, []string{"give its folder `python`"}, checkout, again)

	before := hash(t, filepath.Join(edited, rowsFile))
	if printed, errs, err := python(t, plainPython, "sglang_reuse.py", tree, edited); err == nil || !strings.Contains(errs, "exists, want a path where nothing is") {
		t.Errorf("over an OUT that exists: err %v, printed %q, message %q", err, printed, errs)
	}
	if hash(t, filepath.Join(edited, rowsFile)) != before {
		t.Error("an OUT that exists was changed")
	}
}

// The page's command does what the page says, on a tree that is made up.
func TestReuseAsThePageSays(t *testing.T) {
	page, err := os.ReadFile("../docs/sglang.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```sh python\npython3 scripts/")
	line, _, end := strings.Cut(rest, "\n```\n")
	args := strings.Fields(line)
	if !ok || !end || len(args) != 3 {
		t.Fatalf("docs/sglang.md has no command of one line with two folders: %q", line)
	}
	dir := t.TempDir()
	tree, out := filepath.Join(dir, args[1]), filepath.Join(dir, args[2])
	if err := os.CopyFS(tree, os.DirFS(madeUp)); err != nil {
		t.Fatal(err)
	}
	if _, errs, err := python(t, plainPython, args[0], tree, out); err != nil {
		t.Fatalf("%v\n%s", err, errs)
	}
	if hash(t, filepath.Join(tree, rowsFile)) == hash(t, filepath.Join(out, rowsFile)) {
		t.Error("the copy is not edited")
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Each way to start a goroutine is seen, and what only looks like one is not.
func TestReason(t *testing.T) {
	for text, want := range map[string]string{
		"func f() { go g() }": "a.go:3 go",
		"import \"sync\"\nfunc f() { var w sync.WaitGroup; w.Go(g) }":                   "a.go:4 calls Go",
		"func f(t *testing.T) {\n\tt.Run(\"\", func(t *testing.T) { t.Parallel() })\n}": "a.go:4 calls Parallel",
		"func f() { time.AfterFunc(1, g) }":                                             "a.go:3 calls AfterFunc",
		"func f() error { return cmd.Start() }":                                         "a.go:3 calls Start",
		"import \"net/http\"":                                                           "a.go:3 imports net/http",
		"import (\n\"fmt\"\n_ \"unsafe\"\n)":                                            "a.go:5 imports unsafe",
		"import \"net/url\"\nfunc f() { signal.Ignore(); cmd.Output(); Go(); s.Going() }\n// go f()\nvar s = \"go f()\"": "",
	} {
		path := filepath.Join(t.TempDir(), "a.go")
		if err := os.WriteFile(path, []byte("package a\n\n"+text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := reason(path); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := reason(filepath.Join(t.TempDir(), "none.go")); err == nil {
		t.Error("a file that is not there: no error")
	}
}

// A package has the reasons of its own files, and those of the code that it or its tests reach; another
// one's tests are not reached.
func TestConcurrent(t *testing.T) {
	all := []pkg{
		{ImportPath: "m/leaf", GoFiles: []string{"leaf.go"}, TestGoFiles: []string{"leaf_test.go"}},
		{ImportPath: "m/pool", GoFiles: []string{"pool.go"}, Imports: []string{"sync", "m/leaf"}},
		{ImportPath: "m/over", GoFiles: []string{"over.go"}, Imports: []string{"m/pool"}},
		{ImportPath: "m/top", GoFiles: []string{"top.go"}, Imports: []string{"m/leaf"}, XTestImports: []string{"m/over", "m/top"}},
		{ImportPath: "m/alone", GoFiles: []string{"alone.go"}, Imports: []string{"m/leaf"}, TestGoFiles: []string{"alone_test.go"}},
		{ImportPath: "m/cgo", CgoFiles: []string{"cgo.go"}},
		{ImportPath: "m/outside", XTestGoFiles: []string{"outside_test.go"}},
	}
	reasons := map[string]string{"leaf_test.go": "tests", "pool.go": "pool", "cgo.go": "cgo", "outside_test.go": "outside"}
	got, err := concurrent(all, func(path string) (string, error) { return reasons[path], nil })
	want := map[string]string{"m/leaf": "tests", "m/pool": "pool", "m/over": "pool", "m/top": "pool", "m/cgo": "cgo", "m/outside": "outside"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// Of this module the loops and the sockets are named, and the arithmetic is not.
func TestThisModule(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, []string{"../../..."}); err != nil {
		t.Fatal(err)
	}
	named := map[string]string{}
	for line := range strings.Lines(out.String()) {
		path, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		named[strings.TrimPrefix(path, "github.com/fanoutbench/fanoutbench/")] = why
	}
	for _, path := range []string{"cmd/fanoutbench", "cmd/internal/driver", "cmd/internal/load", "runtime/fanout", "runtime/model/cpu", "runtime/server/engine", "runtime/tokenizer/bpe", "runtime/transport"} {
		if named[path] == "" {
			t.Errorf("%s has no reason", path)
		}
	}
	for _, path := range []string{"stats", "results", "results/verdict", "runtime/wire"} {
		if named[path] != "" {
			t.Errorf("%s is named for %s: its tests then take minutes under the race detector", path, named[path])
		}
	}
	if err := run(&out, []string{"./none"}); err == nil {
		t.Error("a package that is not there: no error")
	}
}

package results

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Module is the path of this module, by which a checkout of it is known.
const Module = "github.com/fanoutbench/fanoutbench"

// moduleRoot is the folder at or above dir whose go.mod names this module, ""
// without one. A module inside the checkout, as results/runs, is passed by.
func moduleRoot(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		if moduleOf(dir) == Module {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// moduleOf is the module path that the folder's go.mod names, "" without one.
func moduleOf(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	return ModuleName(string(b))
}

// ModuleName is the module path that the text of a go.mod names, "" without one.
func ModuleName(mod string) string {
	for line := range strings.Lines(mod) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "module "); ok {
			name, _, _ = strings.Cut(name, "//")
			name = strings.TrimSpace(name)
			if unquoted, err := strconv.Unquote(name); err == nil {
				return unquoted
			}
			return name
		}
	}
	return ""
}

// built are the endings of files that the go tool compiles or reads; tests are
// not part of any program.
var built = []string{".go", ".s", ".S", ".c", ".h", ".cc", ".cpp", ".cu", ".cuh"}

func isSource(name string) bool {
	if name == "go.mod" || name == "go.sum" {
		return true
	}
	return slices.Contains(built, path.Ext(name)) && !strings.HasSuffix(name, "_test.go")
}

// TreeSources are the files that programs of the checkout at or above dir are
// made from, sorted by path: Go, assembly, C and CUDA files without tests,
// go.mod, go.sum, and what they embed. Folders that the go tool does not look
// into (testdata, vendor, names that begin with a dot or an underscore) and
// modules of their own are left out. There are none where dir is not inside a
// checkout of this module.
func TreeSources(dir string) ([]Source, error) {
	root := moduleRoot(dir)
	if root == "" {
		return nil, nil
	}
	files, err := treeFiles(root)
	if err != nil {
		return nil, fmt.Errorf("results: sources: %w", err)
	}
	var sources []Source
	for _, f := range files {
		hash, err := HashFile(filepath.Join(root, filepath.FromSlash(f)))
		if err != nil {
			return nil, err
		}
		sources = append(sources, Source{Path: f, SHA256: hash})
	}
	return sources, nil
}

func treeFiles(root string) ([]string, error) {
	tree := os.DirFS(root)
	seen := map[string]bool{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && (passedBy(d.Name()) || isModule(tree, name)) {
				return fs.SkipDir
			}
		case isSource(d.Name()):
			seen[name] = true
			return embedded(tree, name, seen)
		}
		return nil
	})
	var files []string
	for name := range seen {
		files = append(files, name)
	}
	slices.Sort(files)
	return files, err
}

func passedBy(folder string) bool {
	return strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_") || folder == "testdata" || folder == "vendor"
}

func isModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, path.Join(dir, "go.mod"))
	return err == nil
}

// embedded adds the files that a Go file's go:embed lines match.
func embedded(tree fs.FS, name string, seen map[string]bool) error {
	if path.Ext(name) != ".go" {
		return nil
	}
	patterns, err := embedPatterns(tree, name)
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		pattern, all := strings.CutPrefix(pattern, "all:")
		matches, err := fs.Glob(tree, path.Join(path.Dir(name), pattern))
		if err != nil {
			return fmt.Errorf("%s embeds %q: %w", name, pattern, err)
		}
		for _, m := range matches {
			if err := addBelow(tree, m, all, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// addBelow adds a file, or the files of a folder; of these, names that begin
// with a dot or an underscore only where all is asked for, as the go tool does.
func addBelow(tree fs.FS, top string, all bool, seen map[string]bool) error {
	return fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
		hidden := name != top && !all && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_"))
		switch {
		case err != nil:
			return err
		case d.IsDir() && hidden:
			return fs.SkipDir
		case d.Type().IsRegular() && !hidden:
			seen[name] = true
		}
		return nil
	})
}

// embedPatterns are the patterns of the lines that begin with //go:embed.
func embedPatterns(tree fs.FS, name string) (patterns []string, err error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), "//go:embed ")
		for rest = strings.TrimSpace(rest); ok && rest != ""; rest = strings.TrimSpace(rest) {
			pattern := rest
			if rest[0] == '"' || rest[0] == '`' {
				if pattern, err = strconv.QuotedPrefix(rest); err != nil {
					return nil, fmt.Errorf("%s: go:embed %s: %w", name, rest, err)
				}
			} else if end := strings.IndexAny(rest, " \t"); end > 0 {
				pattern = rest[:end]
			}
			rest = rest[len(pattern):]
			if unquoted, err := strconv.Unquote(pattern); err == nil {
				pattern = unquoted
			}
			patterns = append(patterns, pattern)
		}
	}
	return patterns, lines.Err()
}

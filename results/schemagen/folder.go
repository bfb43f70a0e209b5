package schemagen

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// File is a schema's file, its title and the record that it is made from.
type File struct {
	Name, Title string
	Record      reflect.Type
}

// Stale says what is not as it should be in a folder of schemas: a file that is not what types, comments and rules
// give, one too many or too few, and rules that no key asks for. With rewrite the files are written first.
func (g *Generator) Stale(dir string, files []File, rewrite bool) (findings []string, err error) {
	var paths []string
	for _, f := range files {
		got := Render(g.Schema(f.Name, f.Title, f.Record), "") + "\n"
		path := filepath.Join(dir, f.Name)
		if rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				return nil, err
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if got != string(want) {
			findings = append(findings, path+" is not what the types give: go test -run Schema with -rewrite writes it anew")
		}
		paths = append(paths, path)
	}
	for rule := range g.Rules {
		if !g.Used[rule] {
			findings = append(findings, fmt.Sprintf("no key of a record asks for rule %q", rule))
		}
	}
	there, err := filepath.Glob(filepath.Join(dir, "*"))
	if slices.Sort(paths); err != nil || !slices.Equal(there, paths) {
		findings = append(findings, fmt.Sprintf("%s has %q, want %q", dir, there, paths))
	}
	return findings, err
}

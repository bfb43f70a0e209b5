// Command concurrent prints the packages whose tests the race detector can find something in, one a line,
// with the first reason behind each:
//
//	concurrent [FLAGS OF GO LIST] PACKAGES
//
// The detector finds accesses of two goroutines, and checkptr, which it brings along, wrong uses of package
// unsafe. The tests of a package have neither where no file starts a goroutine or imports unsafe: no test
// of it, and no code of it or of the module's packages that it or its tests import, however far away. Such
// a package runs ten times slower under the detector and shows nothing; whoever calls it from several
// goroutines has tests of its own.
//
// What starts a goroutine is told by its syntax, and rather too often than not: the go statement, a call
// of a method or function that has one of the names in starters, and an import in servers.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// starters are what is called to have something run beside the caller: sync.WaitGroup.Go, testing.T.Parallel,
// exec.Cmd.Start, http.Server.Serve, ...
var starters = []string{"AfterFunc", "Go", "ListenAndServe", "Notify", "NotifyContext", "Parallel", "RunParallel", "Serve", "Start"}

// servers are imports whose own goroutines share memory with who uses them.
var servers = []string{"github.com/go-zeromq/zmq4", "golang.org/x/sync/errgroup", "net", "net/http", "net/http/httptest", "unsafe"}

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "concurrent:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, args []string) error {
	all, err := list(args)
	if err != nil {
		return err
	}
	found, err := concurrent(all, reason)
	if err != nil {
		return err
	}
	for _, p := range all {
		if why, is := found[p.ImportPath]; is {
			if _, err := fmt.Fprintf(out, "%s\t%s\n", p.ImportPath, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// pkg is a package as go list tells of it.
type pkg struct {
	ImportPath, Dir                    string
	GoFiles, CgoFiles                  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

// list asks the go command for packages of the module in the working directory.
func list(args []string) ([]pkg, error) {
	const fields = "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%q: %w", cmd.Args, err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(text))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("%q: %w", cmd.Args, err)
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q: no package", cmd.Args)
	}
	return all, nil
}

// concurrent finds the packages with a reason, and gives the first one. why looks for one in a file; "" is
// none.
func concurrent(all []pkg, why func(path string) (string, error)) (map[string]string, error) {
	first := func(p pkg, files ...string) (string, error) {
		for _, name := range files {
			if r, err := why(filepath.Join(p.Dir, name)); r != "" || err != nil {
				return r, err
			}
		}
		return "", nil
	}
	imports, own := map[string][]string{}, map[string]string{}
	for _, p := range all {
		r, err := first(p, slices.Concat(p.GoFiles, p.CgoFiles)...)
		if err != nil {
			return nil, err
		}
		imports[p.ImportPath], own[p.ImportPath] = p.Imports, r
	}
	found := map[string]string{}
	for _, p := range all {
		r, err := first(p, slices.Concat(p.TestGoFiles, p.XTestGoFiles)...)
		if err != nil {
			return nil, err
		}
		reached := slices.Concat([]string{p.ImportPath}, p.TestImports, p.XTestImports)
		for i := 0; r == "" && i < len(reached); i++ {
			r = own[reached[i]]
			for _, next := range imports[reached[i]] {
				if _, ours := own[next]; ours && !slices.Contains(reached, next) {
					reached = append(reached, next)
				}
			}
		}
		if r != "" {
			found[p.ImportPath] = r
		}
	}
	return found, nil
}

// reason is the first one in a file, with its place; "": there is none.
func reason(path string) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	found := ""
	note := func(at token.Pos, what string) {
		if found == "" {
			found = fmt.Sprintf("%s:%d %s", filepath.Base(path), files.Position(at).Line, what)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if name, err := strconv.Unquote(n.Path.Value); err == nil && slices.Contains(servers, name) {
				note(n.Pos(), "imports "+name)
			}
		case *ast.GoStmt:
			note(n.Pos(), "go")
		case *ast.CallExpr:
			if f, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains(starters, f.Sel.Name) {
				note(n.Pos(), "calls "+f.Sel.Name)
			}
		}
		return found == ""
	})
	return found, nil
}

package fanoutbench_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of length, in lines.
const (
	codeFileLimit   = 400
	testFileLimit   = 500
	exampleLimit    = 120  // a whole arm must stay small enough to read
	controllerLimit = 1500 // the controller of SGLang trees: one file, since it is embedded and runs under any interpreter
	functionUsual   = 60   // at most one function in twenty is longer
	functionLongest = 100
	runSizeLimit    = 2 << 20 // bytes of one committed run
)

// treeFile is one file of the tree: its path from the root with slashes, and what is in it.
type treeFile struct {
	path string
	text string
}

// readTree reads every file that could be committed: not what .gitignore names by folder. A file that
// goes away meanwhile (another package's test may be writing) breaks no rule.
func readTree(t *testing.T) []treeFile {
	t.Helper()
	var files []treeFile
	root := os.DirFS(".")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "runs" || entry.Name() == "__pycache__" || entry.Name() == ".venv"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		files = append(files, treeFile{name, string(text)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// isSource says whether the go command compiles the file: Go, and not below a folder testdata.
func (f treeFile) isSource() bool {
	return strings.HasSuffix(f.path, ".go") && !slices.Contains(strings.Split(f.path, "/"), "testdata")
}

func (f treeFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// lineLimit is the number of lines that the file may have; ok is false where there is no limit.
func lineLimit(name string) (limit int, ok bool) {
	switch {
	case name == "examples/arm.py":
		return exampleLimit, true
	case name == "scripts/sglang_controller.py":
		return controllerLimit, true
	case strings.HasSuffix(name, "_test.go"):
		return testFileLimit, true
	case strings.HasSuffix(name, ".go"), strings.HasSuffix(name, ".py"), strings.HasPrefix(name, "scripts/"):
		return codeFileLimit, true
	}
	return 0, false
}

// lengthFindings names the files that are too long.
func lengthFindings(files []treeFile) []string {
	var found []string
	for _, f := range files {
		limit, ok := lineLimit(f.path)
		if lines := strings.Count(f.text, "\n"); ok && lines > limit {
			found = append(found, fmt.Sprintf("%s has %d lines, want at most %d", f.path, lines, limit))
		}
	}
	return found
}

// namesNothing matches the names under which things are put that nobody found a name for.
var namesNothing = regexp.MustCompile(`^(utils?|common|helpers?|misc)(_test)?(\.go|\.py)?$`)

// placeFindings names files and folders that are where none may be, or are called what none may be.
func placeFindings(files []treeFile) []string {
	var found []string
	seen := map[string]bool{}
	for _, f := range files {
		if path.Dir(f.path) == "runtime" && f.isSource() {
			found = append(found, f.path+": runtime has no Go file at its root, which would make it a package")
		}
		for part := f.path; part != "."; part = path.Dir(part) {
			if !seen[part] && namesNothing.MatchString(path.Base(part)) {
				found = append(found, part+": this name says nothing of what is in it")
			}
			seen[part] = true
		}
	}
	return found
}

// machinePath matches a path of somebody's machine: one of the folders where people keep their
// work, at the start of a path. /tmp and /run are on every machine.
var machinePath = regexp.MustCompile(`(?:^|[^\w.$}/*~-])(/(?:work|root|home)/[^\s"'` + "`" + `]*)`)

// isText says whether the file is one that people read or that a run published.
func isText(name string) bool {
	if strings.HasPrefix(name, "scripts/") || strings.HasPrefix(name, ".ci/") {
		return true
	}
	switch path.Ext(name) {
	case ".go", ".md", ".py", ".sh", ".mod", ".yml", ".toml":
		return true
	case ".json", ".jsonl", ".csv", ".txt", ".patch", ".log":
		return strings.HasPrefix(name, "results/runs/")
	}
	return false
}

// machinePathFindings names every line of a text file that holds such a path.
func machinePathFindings(files []treeFile) []string {
	var found []string
	for _, f := range files {
		if !isText(f.path) {
			continue
		}
		for n, line := range strings.Split(f.text, "\n") {
			if m := machinePath.FindStringSubmatch(line); m != nil {
				found = append(found, fmt.Sprintf("%s:%d: %s is a path of one machine", f.path, n+1, m[1]))
			}
		}
	}
	return found
}

// runFolder is the folder with a plan that a file is in, below results/runs; without one, the file's.
func runFolder(below string, plans map[string]bool) string {
	for dir := path.Dir(below); dir != "."; dir = path.Dir(dir) {
		if plans[dir] {
			return dir
		}
	}
	return path.Dir(below)
}

// runFindings names what is wrong with the committed runs: size, and a missing go.mod, without
// which every user of the main module would download them.
func runFindings(files []treeFile) []string {
	var found []string
	size, plans := map[string]int{}, map[string]bool{}
	for _, f := range files {
		if dir, name := path.Split(f.path); name == "plan.json" {
			plans[strings.TrimPrefix(path.Clean(dir), "results/runs/")] = true
		}
	}
	module := false
	for _, f := range files {
		below, ok := strings.CutPrefix(f.path, "results/runs/")
		if !ok {
			continue
		}
		if run, _, inRun := strings.Cut(below, "/"); inRun {
			if run == "batchsend" { // a folder of runs, and of sweeps, which are folders of runs too
				run = runFolder(below, plans)
			}
			size[run] += len(f.text)
		}
		module = module || below == "go.mod"
	}
	for _, run := range sortedKeys(size) {
		if size[run] > runSizeLimit {
			found = append(found, fmt.Sprintf("results/runs/%s has %d bytes, want at most %d", run, size[run], runSizeLimit))
		}
	}
	if len(size) > 0 && !module {
		found = append(found, "results/runs has runs and no go.mod of its own")
	}
	return found
}

// requirement matches a line that requires a module in a go.mod, or a package in a file of requirements;
// tool one that names a program in a tool block.
var (
	requirement = regexp.MustCompile(`(?m)^(?:\t|require )?([\w./-]+)(?: v|==)(\d[\w.-]*)( // indirect)?`)
	tool        = regexp.MustCompile(`(?m)^\t(\S+)$`)
)

// generator is the module of the program that writes the CPU kernels.
const generator = "runtime/model/kernels/avogen/go.mod"

// required has the names and versions that a file requires: of tools/go.mod and the generator's only
// the modules that are used, not the many that those pull in.
func required(f treeFile) [][2]string {
	var all [][2]string
	for _, m := range requirement.FindAllStringSubmatch(f.text, -1) {
		named := m[3] == "" || f.path != "tools/go.mod" && f.path != generator
		for _, t := range tool.FindAllStringSubmatch(f.text, -1) {
			named = named || matches(m[1]+"/...", t[1])
		}
		if named {
			all = append(all, [2]string{m[1], m[2]})
		}
	}
	return all
}

// dependencyFindings names the requirements that docs/dependencies.md does not have at their version.
func dependencyFindings(files []treeFile) []string {
	var page string
	for _, f := range files {
		if f.path == "docs/dependencies.md" {
			page = f.text
		}
	}
	var found []string
	for _, f := range files {
		if !slices.Contains([]string{"go.mod", "tools/go.mod", generator, "scripts/requirements.txt", "scripts/peers_requirements.txt"}, f.path) {
			continue
		}
		for _, r := range required(f) {
			// `| name | v1.0.0 |`, `| name (alias) | 1.0.0 |` and, in a sentence, `name v1.0.0`.
			entry := regexp.MustCompile(`(?:[| ]|^)` + regexp.QuoteMeta(r[0]) + `(?: \([^)]*\))? (?:\| )?v?` + regexp.QuoteMeta(r[1]) + `[ ,]`)
			if !entry.MatchString(page) {
				found = append(found, fmt.Sprintf("%s requires %s %s; docs/dependencies.md does not have it at that version", f.path, r[0], r[1]))
			}
		}
	}
	return found
}

// function is one function declaration and its length from `func` to its closing brace.
type function struct {
	where string // file:line name
	lines int
}

// functionsOf has the functions of every file that keep selects, generated ones left out.
func functionsOf(files []treeFile, keep func(treeFile) bool) ([]function, error) {
	var all []function
	for _, f := range files {
		if !f.isSource() || !keep(f) {
			continue
		}
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if ast.IsGenerated(syntax) {
			continue
		}
		for _, decl := range syntax.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok {
				from, to := set.Position(d.Pos()), set.Position(d.End())
				all = append(all, function{fmt.Sprintf("%s:%d %s", f.path, from.Line, d.Name.Name), to.Line - from.Line + 1})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b function) int { return a.lines - b.lines })
	return all, nil
}

// functionFindings takes functions in order of length. It names those above the longest allowed,
// and, when more than one in twenty is above the usual, all that are.
func functionFindings(all []function) []string {
	var found, long []string
	for _, f := range all {
		if f.lines > functionLongest {
			found = append(found, fmt.Sprintf("%s has %d lines, want at most %d", f.where, f.lines, functionLongest))
		}
		if f.lines > functionUsual {
			long = append(long, fmt.Sprintf("%s (%d)", f.where, f.lines))
		}
	}
	if 20*len(long) > len(all) {
		found = append(found, fmt.Sprintf("%d of %d functions have more than %d lines, want at most one in twenty: %s",
			len(long), len(all), functionUsual, strings.Join(long, ", ")))
	}
	return found
}

// summary says how long the functions are.
func summary(all []function) string {
	if len(all) == 0 {
		return "no function"
	}
	at := func(share float64) int { return all[int(share*float64(len(all)-1))].lines }
	longest := all[len(all)-1]
	return fmt.Sprintf("%d functions: median %d lines, 95 %% within %d, longest %d (%s)",
		len(all), at(0.5), at(0.95), longest.lines, longest.where)
}

// The real tree, rule by rule.
func TestTree(t *testing.T) {
	files := readTree(t)
	for name, find := range map[string]func([]treeFile) []string{
		"length": lengthFindings, "place": placeFindings, "machine paths": machinePathFindings, "runs": runFindings,
		"dependencies": dependencyFindings,
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range find(files) {
				t.Error(f)
			}
		})
	}
	t.Run("functions", func(t *testing.T) {
		code, err := functionsOf(files, func(f treeFile) bool { return !f.isTest() })
		if err != nil {
			t.Fatal(err)
		}
		tests, err := functionsOf(files, treeFile.isTest)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("code: %s", summary(code))
		t.Logf("tests: %s", summary(tests))
		if len(code) == 0 || len(tests) == 0 {
			t.Errorf("%d functions in code and %d in tests, want some: the walk lost the tree", len(code), len(tests))
		}
		for _, f := range functionFindings(code) {
			t.Error(f)
		}
	})
}

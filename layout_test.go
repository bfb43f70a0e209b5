// Package fanoutbench_test keeps the layout of the tree: who imports whom, how long files and
// functions are, and what must not be in them.
//
// The harness knows the runtime only as processes that answer the protocol and endpoints that speak
// wire. The compiler does not see that rule (nothing hides runtime/ from cmd/), so it is kept here.
// Every rule is a plain function from facts to findings, tested on made-up facts; one test a rule
// hands it the real tree.
package fanoutbench_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fanoutbench/fanoutbench"

// rule says what the packages that match a pattern may import of this module. In a pattern, as in
// the go command's, a/... stands for a and everything below it; a leading ! takes away what the
// others gave. The first rule whose pattern matches a package is its rule. Packages below one
// pattern may import each other where own is set.
type rule struct {
	packages string
	imports  []string
	tests    []string // what its tests may import beside that
	own      bool
}

// The harness, as far as every part of it may know it: all but the three that know the runtime.
var harness = []string{"cmd/internal/...", "!cmd/internal/controller/...", "!cmd/internal/worker/...", "!cmd/internal/serve/...", "results/...", "stats/...", "protocol/..."}

// A test starts real controllers, workers and servers, and runtime tests join real parts.
var (
	processes = []string{"cmd/internal/controller/...", "cmd/internal/worker/..."}
	server    = []string{"cmd/internal/serve"}
	runtime   = []string{"runtime/..."}
)

func with(base []string, more ...string) []string {
	return append(slices.Clone(base), more...)
}

// rules has the one direction of imports:
// cmd/* -> cmd/internal/* -> results -> stats, protocol; in runtime the loops at the top.
var rules = []rule{
	{packages: "protocol/...", own: true},
	{packages: "stats/...", own: true},
	{packages: "results/...", imports: []string{"stats/...", "protocol/..."}, own: true},

	{packages: "runtime/jsoncheck"},
	{packages: "runtime/wire/...", tests: runtime, own: true},
	{packages: "runtime/transport/...", tests: runtime, own: true},
	{packages: "runtime/tokenizer/...", imports: []string{"runtime/jsoncheck"}, tests: runtime, own: true},
	{packages: "runtime/sampling", imports: []string{"runtime/model"}, tests: runtime},
	{packages: "runtime/model/sim", imports: []string{"runtime/model", "runtime/sampling", "runtime/tokenizer"}, tests: runtime},
	{packages: "runtime/model/cuda/driver/...", own: true},
	{packages: "runtime/model/cuda/...", imports: []string{"runtime/model/..."}, tests: runtime},
	{packages: "runtime/model/...", imports: []string{"runtime/model/...", "!runtime/model/cuda/...", "runtime/jsoncheck"}, tests: runtime},
	{packages: "runtime/kvcache/...", tests: runtime, own: true},
	{packages: "runtime/detokenizer/...", imports: []string{"runtime/tokenizer"}, tests: runtime, own: true},
	{packages: "runtime/scheduler/...", imports: []string{"runtime/model", "runtime/kvcache"}, tests: runtime, own: true},
	{packages: "runtime/fanout/...", imports: []string{"runtime/wire/...", "runtime/transport/...", "runtime/tokenizer", "runtime/detokenizer"}, tests: runtime, own: true},
	{packages: "runtime/router/...", imports: []string{"runtime/wire/...", "runtime/transport/..."}, tests: runtime, own: true},
	{packages: "runtime/server/...", imports: []string{
		"runtime/wire/...", "runtime/transport/...", "runtime/tokenizer/...", "runtime/detokenizer", "runtime/fanout/...", "runtime/router/...", "runtime/scheduler",
		"runtime/model/...", "runtime/sampling", "runtime/jsoncheck",
	}, tests: runtime, own: true},

	{packages: "cmd/internal/controller/...", imports: with(harness, "runtime/wire/...", "runtime/transport/..."), tests: processes, own: true},
	{packages: "cmd/internal/worker/...", imports: with(harness, "runtime/..."), tests: processes, own: true},
	{packages: "cmd/internal/serve/...", imports: with(harness, "runtime/..."), own: true},
	{packages: "cmd/internal/servearm/...", imports: harness, tests: server},
	{packages: "cmd/internal/scoring/...", imports: harness, tests: server},
	{packages: "cmd/internal/driver/...", imports: harness, tests: processes},
	{packages: "cmd/internal/sglang", imports: with(harness, "scripts")},
	{packages: "cmd/internal/modelbench", imports: with(harness, "runtime/model/...")},
	{packages: "cmd/internal/...", imports: harness},
	{packages: "cmd/fanoutbench", imports: with(harness, processes...)},
	{packages: "cmd/batchsend", imports: with(harness, "cmd/internal/serve", "runtime/tokenizer/bpe")}, // which counts tokens for servers that cannot be asked
	{packages: "cmd/fanoutserve", imports: with(harness, server...)},

	// No code, only tests: of the tree and its README, of the Python programs, and of the example, which
	// runs as a process.
	{packages: "scripts/..."},
	{packages: ".", tests: []string{"results/...", "stats/...", "protocol/..."}},
	{packages: "examples", tests: harness},
	{packages: "deploy", tests: []string{"results/..."}},
}

// unreachable has what a package must not reach even through others: the oracle judges these.
var unreachable = map[string][]string{
	"cmd/internal/oracle": {"runtime/..."},
}

// matches says whether the path, relative to the module, is one that the pattern stands for.
func matches(pattern, path string) bool {
	base, below := strings.CutSuffix(pattern, "/...")
	return path == base || below && strings.HasPrefix(path, base+"/")
}

// allows says whether the list of patterns has the path; what a ! takes away is not given back
// except by a pattern that stands after it.
func allows(patterns []string, path string) bool {
	allowed := false
	for _, p := range patterns {
		if taken, not := strings.CutPrefix(p, "!"); not {
			allowed = allowed && !matches(taken, path)
		} else {
			allowed = allowed || matches(p, path)
		}
	}
	return allowed
}

// imports is what one package imports of this module, by paths relative to it.
type imports struct {
	Code, Tests []string
}

// importFindings names every import that the rules do not allow, every package without a rule, and
// every path to something unreachable.
func importFindings(rules []rule, unreachable map[string][]string, tree map[string]imports) []string {
	var found []string
	for _, path := range sortedKeys(tree) {
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.packages, path) })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s: no rule says what it may import; add one", path))
			continue
		}
		r := rules[i]
		if r.own {
			r.imports = with(r.imports, r.packages)
		}
		for _, imported := range tree[path].Code {
			if !allows(r.imports, imported) {
				found = append(found, fmt.Sprintf("%s imports %s; the rule for %s allows %q", path, imported, r.packages, r.imports))
			}
		}
		// A test may import the package it tests, from outside.
		tests := with(with(r.imports, path), r.tests...)
		for _, imported := range tree[path].Tests {
			if !allows(tests, imported) {
				found = append(found, fmt.Sprintf("%s: a test imports %s; the rule for %s allows %q", path, imported, r.packages, tests))
			}
		}
	}
	for _, from := range sortedKeys(unreachable) {
		for _, chain := range reach(tree, from) {
			if allows(unreachable[from], chain[len(chain)-1]) {
				found = append(found, fmt.Sprintf("%s must not reach %s: %s", from, chain[len(chain)-1], strings.Join(chain, " -> ")))
			}
		}
	}
	return found
}

// reach has a shortest chain of imports from a package to each one it reaches.
func reach(tree map[string]imports, from string) [][]string {
	seen := map[string]bool{from: true}
	chains := [][]string{{from}}
	for n := 0; n < len(chains); n++ {
		chain := chains[n]
		for _, next := range tree[chain[len(chain)-1]].Code {
			if !seen[next] {
				seen[next] = true
				chains = append(chains, append(slices.Clone(chain), next))
			}
		}
	}
	return chains[1:]
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// listImports asks the go command for the tree as one system sees it, tests that need Python or a
// browser and what needs CUDA included.
func listImports(t *testing.T, goos, goarch string, tree map[string]imports) {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-tags=python,browser,sglang,slurm,cuda", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s/%s: %v", goos, goarch, err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("go list for %s/%s: %v", goos, goarch, err)
		}
		path, inside := strings.CutPrefix(p.ImportPath, module+"/")
		if !inside { // the root
			path = "."
		}
		seen := tree[path]
		seen.Code = append(seen.Code, ours(p.Imports)...)
		seen.Tests = append(seen.Tests, ours(append(p.TestImports, p.XTestImports...))...)
		slices.Sort(seen.Code)
		slices.Sort(seen.Tests)
		tree[path] = imports{Code: slices.Compact(seen.Code), Tests: slices.Compact(seen.Tests)}
	}
}

// ours keeps the imports of this module, relative to it.
func ours(paths []string) []string {
	var kept []string
	for _, p := range paths {
		if rest, inside := strings.CutPrefix(p, module+"/"); inside {
			kept = append(kept, rest)
		}
	}
	return kept
}

// The real tree, as each supported system sees it.
func TestImports(t *testing.T) {
	tree := map[string]imports{}
	for _, system := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "arm64"}} {
		listImports(t, system[0], system[1], tree)
	}
	if len(tree) == 0 {
		t.Fatal("go list found no package of this module")
	}
	for _, f := range importFindings(rules, unreachable, tree) {
		t.Error(f)
	}
}

// Without the build tag cuda no package comes from gorgonia.org, which brings cgo and libcuda along; with it one does.
func TestDefaultBuildHasNoCUDA(t *testing.T) {
	for _, tag := range []string{"", "cuda"} {
		out, err := exec.Command("go", "list", "-e", "-tags="+tag, "-deps", "./...").Output()
		if err != nil {
			t.Fatalf("go list with the tag %q: %v", tag, err)
		}
		if got, want := strings.Contains(string(out), "gorgonia.org/"), tag == "cuda"; got != want {
			t.Errorf("with the tag %q a package of gorgonia.org is linked: %v, want %v", tag, got, want)
		}
	}
}

// Each pair here is one that the design forbids, or allows: what the table must say of it.
func TestImportRulesOnMadeUpTrees(t *testing.T) {
	tests := []struct {
		from, to      string
		code, inTests bool // allowed in the code, allowed in tests
	}{
		{"stats", "results", false, false},
		{"results", "stats", true, true},
		{"results", "cmd/internal/plan", false, false},
		{"results/table", "results", true, true},
		{"protocol", "results", false, false},
		{"runtime/wire", "runtime/transport", false, true},
		{"runtime/transport", "runtime/transport/zmtp", true, true},
		{"runtime/detokenizer", "runtime/tokenizer", true, true},
		{"runtime/detokenizer", "runtime/wire", false, true},
		{"runtime/fanout", "runtime/detokenizer", true, true},
		{"runtime/router", "runtime/wire", true, true},
		{"runtime/router", "runtime/fanout", false, true},
		{"runtime/fanout", "stats", false, false},
		{"runtime/fanout", "cmd/internal/stream", false, false},
		{"runtime/scheduler", "runtime/tokenizer", false, true},
		{"runtime/sampling", "runtime/model", true, true},
		{"runtime/sampling", "runtime/scheduler", false, true},
		{"runtime/model", "runtime/sampling", false, true},
		{"runtime/model/sim", "runtime/sampling", true, true},
		{"runtime/model/cuda", "runtime/model/cuda/driver", true, true},
		{"runtime/model/cuda", "runtime/sampling", false, true},
		{"runtime/model/cuda/driver", "runtime/model", false, false},
		{"runtime/model/cuda/driver/drivertest", "runtime/model/cuda/driver", true, true},
		{"runtime/model/cpu", "runtime/model/kernels", true, true},
		{"runtime/model/cpu", "runtime/model/cuda/driver", false, true},
		{"cmd/internal/controller", "runtime/wire", true, true},
		{"cmd/internal/controller", "runtime/fanout", false, false},
		{"cmd/internal/controller", "cmd/internal/worker", false, true},
		{"cmd/internal/worker", "runtime/fanout", true, true},
		{"cmd/internal/worker", "cmd/internal/controller", false, true},
		{"cmd/internal/driver", "runtime/wire", false, false},
		{"cmd/internal/driver", "cmd/internal/worker", false, true},
		{"cmd/internal/plan", "cmd/internal/worker", false, false},
		{"cmd/internal/plan", "cmd/internal/stream", true, true},
		{"cmd/internal/stream", "runtime/tokenizer", false, false},
		{"cmd/internal/oracle", "runtime/tokenizer", false, false},
		{"cmd/internal/oracle", "cmd/internal/stream", true, true},
		{"cmd/internal/oracle", "cmd/fanoutbench", false, false},
		{"cmd/fanoutbench", "cmd/internal/worker", true, true},
		{"cmd/fanoutbench", "runtime/wire", false, false},
		{"cmd/batchsend", "cmd/internal/worker", false, false},
		{"cmd/batchsend", "cmd/internal/serve", true, true},
		{"cmd/batchsend", "runtime/server", false, false},
		{"cmd/fanoutserve", "cmd/internal/serve", true, true},
		{"cmd/fanoutserve", "runtime/server", false, false},
		{"cmd/internal/serve", "runtime/server", true, true},
		{"cmd/internal/serve", "cmd/internal/serve/internal/supervisor", true, true},
		{"cmd/internal/serve/internal/supervisor", "cmd/internal/process", true, true},
		{"cmd/internal/scoring", "cmd/internal/serve", false, true},
		{"cmd/internal/modelbench", "runtime/model/qwen3", true, true},
		{"cmd/internal/modelbench", "runtime/scheduler", false, false},
		{"cmd/internal/scoring", "runtime/server", false, false},
		{"cmd/fanoutbench", "cmd/internal/serve", false, false},
		{"cmd/fanoutbench", "cmd/internal/serve/internal/supervisor", false, false},
		{".", "results", false, true},
		{".", "cmd/internal/driver", false, false},
		{"examples", "cmd/internal/arm", false, true},
		{"examples", "runtime/wire", false, false},
	}
	for _, test := range tests {
		code := importFindings(rules, nil, map[string]imports{test.from: {Code: []string{test.to}}})
		if got := len(code) == 0; got != test.code {
			t.Errorf("%s imports %s: allowed %v, want %v (%q)", test.from, test.to, got, test.code, code)
		}
		inTests := importFindings(rules, nil, map[string]imports{test.from: {Tests: []string{test.to}}})
		if got := len(inTests) == 0; got != test.inTests {
			t.Errorf("a test of %s imports %s: allowed %v, want %v (%q)", test.from, test.to, got, test.inTests, inTests)
		}
		for _, f := range append(code, inTests...) {
			if !strings.Contains(f, test.from) || !strings.Contains(f, test.to) {
				t.Errorf("%q does not name both %s and %s", f, test.from, test.to)
			}
		}
	}
}

// A package that no rule knows is a finding, not one that may do as it likes.
func TestImportRulesKnowEveryPackage(t *testing.T) {
	got := importFindings(rules, nil, map[string]imports{"pkg/new": {}})
	if len(got) != 1 || !strings.Contains(got[0], "pkg/new: no rule") {
		t.Errorf("findings %q, want one that says pkg/new has no rule", got)
	}
}

// What the oracle reaches through another package is found, with the way there.
func TestUnreachable(t *testing.T) {
	tree := map[string]imports{
		"cmd/internal/oracle": {Code: []string{"cmd/internal/stream"}},
		"cmd/internal/stream": {Code: []string{"runtime/tokenizer"}},
		"runtime/tokenizer":   {},
	}
	lax := []rule{{packages: "cmd/...", imports: []string{"cmd/...", "runtime/..."}}, {packages: "runtime/..."}}
	want := []string{"cmd/internal/oracle must not reach runtime/tokenizer: cmd/internal/oracle -> cmd/internal/stream -> runtime/tokenizer"}
	if got := importFindings(lax, unreachable, tree); !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
}

package fanoutbench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each finder on a made-up tree, with all that it must say of it.
func TestFindersOnMadeUpTrees(t *testing.T) {
	lines := func(n int) string { return strings.Repeat("x\n", n) }
	// Put together here, or this file would hold what it forbids.
	machine := func(top string) string { return "/" + top + "/me/tree" }
	tests := []struct {
		name  string
		find  func([]treeFile) []string
		files []treeFile
		want  []string
	}{
		{"files at their limits", lengthFindings, []treeFile{
			{"stats/a.go", lines(400)}, {"stats/a_test.go", lines(500)}, {"examples/arm.py", lines(120)}, {"README.md", lines(9000)},
		}, nil},
		{"files above their limits", lengthFindings, []treeFile{
			{"stats/a.go", lines(401)}, {"stats/a_test.go", lines(501)}, {"examples/arm.py", lines(121)}, {"scripts/test", lines(401)},
		}, []string{
			"stats/a.go has 401 lines, want at most 400", "stats/a_test.go has 501 lines, want at most 500",
			"examples/arm.py has 121 lines, want at most 120", "scripts/test has 401 lines, want at most 400",
		}},
		{"places", placeFindings, []treeFile{
			{"runtime/doc.go", ""}, {"runtime/wire/doc.go", ""}, {"cmd/internal/util/a.go", ""}, {"cmd/internal/util/b.go", ""},
			{"stats/helpers.go", ""}, {"stats/common_test.go", ""}, {"stats/commonly.go", ""},
		}, []string{
			"runtime/doc.go: runtime has no Go file at its root, which would make it a package",
			"cmd/internal/util: this name says nothing of what is in it",
			"stats/helpers.go: this name says nothing of what is in it",
			"stats/common_test.go: this name says nothing of what is in it",
		}},
		{"machine paths", machinePathFindings, []treeFile{
			{"a.go", "// fine\nvar p = \"" + machine("home") + "\"\n"},
			{"scripts/x", "cd " + machine("work") + " && ls"},
			{"README.md", machine("root") + "\n"},
			{"results/runs/r/result.json", `{"cwd":"` + machine("root") + `"}`},
			{"data.bin", machine("root")},
			{"b.md", "example.com" + machine("home") + " $HOME" + machine("work") + " /tmp/x /run/y net" + machine("work") + " ../../root/x"},
		}, []string{
			"a.go:2: " + machine("home") + " is a path of one machine",
			"scripts/x:1: " + machine("work") + " is a path of one machine",
			"README.md:1: " + machine("root") + " is a path of one machine",
			"results/runs/r/result.json:1: " + machine("root") + " is a path of one machine",
		}},
		{"runs in order", runFindings, []treeFile{
			{"results/runs/go.mod", ""}, {"results/runs/a/raw.jsonl", lines(1 << 20)}, {"results/runs/b/raw.jsonl", "x"},
		}, nil},
		{"runs of batchsend, each of its own size", runFindings, []treeFile{
			{"results/runs/go.mod", ""}, {"results/runs/batchsend/a/plan.json", "x"}, {"results/runs/batchsend/a/raw.jsonl", lines(1 << 19)},
			{"results/runs/batchsend/b/n-1/plan.json", "x"}, {"results/runs/batchsend/b/n-1/raw.jsonl", lines(1 << 19)},
			{"results/runs/batchsend/b/n-2/plan.json", "x"}, {"results/runs/batchsend/b/n-2/logs/x", lines(1 << 20)},
		}, []string{"results/runs/batchsend/b/n-2 has 2097153 bytes, want at most 2097152"}},
		{"runs that are too large, and in the main module", runFindings, []treeFile{
			{"results/runs/a/raw.jsonl", lines(1 << 20)}, {"results/runs/a/plan.json", "x"}, {"results/runs/README.md", "x"},
		}, []string{
			"results/runs/a has 2097153 bytes, want at most 2097152", "results/runs has runs and no go.mod of its own",
		}},
		{"dependencies", dependencyFindings, []treeFile{
			{"docs/dependencies.md", "| a.b/c | v1.2.0 | x |\n| a.b/tools (lint) | v0.8.2 | x |\n| old | 1.0 | x |\nPulled in: x.y/z v0.1.0 (day), foo 2.0, bar 3.0, baz."},
			{"go.mod", "module m\n\ngo 1.26.0\n\nrequire a.b/c v1.2.0\n\nrequire (\n\tx.y/z v0.1.0 // indirect\n\ta.b/new v0.1.0\n\ta.b/c/v2 v1.2.0\n)\n"},
			{"tools/go.mod", "module m/tools\n\ntool (\n\ta.b/tools/cmd/lint\n\ta.b/other\n)\n\nrequire (\n\ta.b/tools v0.8.2 // indirect\n\ta.b/other v1.0.0\n\tq.r/s v1.0.0 // indirect\n)\n"},
			{"runtime/model/kernels/avogen/go.mod", "module m/avogen\n\nrequire a.b/asm v0.5.0\n\nrequire q.r/s v1.0.0 // indirect\n"},
			{"scripts/requirements.txt", "# why\nold==1.1\nfoo==2.0\n"},
			{"scripts/peers_requirements.txt", "bar==3.0\nfoo==2.1\n"},
		}, []string{
			"go.mod requires a.b/new 0.1.0; docs/dependencies.md does not have it at that version",
			"go.mod requires a.b/c/v2 1.2.0; docs/dependencies.md does not have it at that version",
			"tools/go.mod requires a.b/other 1.0.0; docs/dependencies.md does not have it at that version",
			"runtime/model/kernels/avogen/go.mod requires a.b/asm 0.5.0; docs/dependencies.md does not have it at that version",
			"scripts/requirements.txt requires old 1.1; docs/dependencies.md does not have it at that version",
			"scripts/peers_requirements.txt requires foo 2.1; docs/dependencies.md does not have it at that version",
		}},
	}
	for _, test := range tests {
		if got := test.find(test.files); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n got %q\nwant %q", test.name, got, test.want)
		}
	}
}

// Functions are counted from func to brace, methods too, generated files and testdata not.
func TestFunctionsOf(t *testing.T) {
	files := []treeFile{
		{"a/a.go", "package a\n\nfunc one() {}\n\n// doc\nfunc (t T) three() {\n\t_ = func() {}\n}\n"},
		{"a/gen.go", "// Code generated by x. DO NOT EDIT.\npackage a\nfunc four() {\n\n\n}\n"},
		{"a/testdata/b.go", "not Go"},
	}
	all, err := functionsOf(files, func(treeFile) bool { return true })
	want := []function{{"a/a.go:3 one", 1}, {"a/a.go:6 three", 3}}
	if err != nil || !slices.Equal(all, want) {
		t.Errorf("functions %v (%v), want %v", all, err, want)
	}
	if _, err := functionsOf([]treeFile{{"a/a.go", "package"}}, func(treeFile) bool { return true }); err == nil {
		t.Error("no error for a file that does not parse")
	}
}

func TestFunctionFindings(t *testing.T) {
	// some has n functions of each length given, shortest first.
	some := func(counts ...[2]int) []function {
		var all []function
		for _, c := range counts {
			for range c[0] {
				all = append(all, function{fmt.Sprintf("f%d", len(all)), c[1]})
			}
		}
		return all
	}
	if got := functionFindings(some([2]int{19, 60}, [2]int{1, 100})); got != nil {
		t.Errorf("one in twenty above the usual, at the longest allowed: findings %q, want none", got)
	}
	got := functionFindings(some([2]int{18, 60}, [2]int{1, 61}, [2]int{1, 101}))
	want := []string{
		"f19 has 101 lines, want at most 100",
		"2 of 20 functions have more than 60 lines, want at most one in twenty: f18 (61), f19 (101)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("findings %q, want %q", got, want)
	}
	if got, want := summary(some([2]int{19, 12}, [2]int{1, 70})), "20 functions: median 12 lines, 95 % within 12, longest 70 (f19)"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

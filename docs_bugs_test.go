package fanoutbench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bugRow is a row of docs/output-path-bugs.md.
type bugRow struct {
	reports string
	tests   []string // package.TestName
}

// bugFolder is where a package of the page's tests lies.
func bugFolder(name string) string {
	switch name {
	case "serve":
		return "cmd/internal/serve"
	case "supervisor":
		return "cmd/internal/serve/internal/supervisor"
	case "api", "counters", "detok", "engine", "manager", "relay", "worker":
		return "runtime/server/" + name
	}
	return "runtime/" + name
}

func bugRows(page string) (rows []bugRow, bad []string) {
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Report |") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		if len(cells) != 4 || len(strings.Fields(cells[3])) == 0 {
			bad = append(bad, fmt.Sprintf("%d cells, want 4 with at least one test: %s", len(cells), line))
			continue
		}
		rows = append(rows, bugRow{cells[0], strings.Fields(cells[3])})
	}
	return rows, bad
}

// bugFindings names the tests of the page that are not in the tree, whose text is
// given by folder, and the reports that its tests name and the page does not.
func bugFindings(page string, folders map[string]string) []string {
	rows, found := bugRows(page)
	numbers := map[string]bool{}
	for _, r := range rows {
		for _, n := range regexp.MustCompile(`\d{3,}`).FindAllString(r.reports, -1) {
			numbers[n] = true
		}
		for _, test := range r.tests {
			pkg, name, ok := strings.Cut(test, ".")
			if !ok || !strings.Contains(folders[bugFolder(pkg)], "\nfunc "+name+"(t *testing.T)") {
				found = append(found, fmt.Sprintf("%s: there is no test %s in %s", r.reports, test, bugFolder(pkg)))
			}
		}
	}
	named := regexp.MustCompile(`\b(?:(?:ik_)?llama\.cpp|sglang|vllm|vllm-mlx|TGI|exo|ATOM|dynamo|smg|pegainfer)(?:#| PRs? | issues? |#PR )(\d{3,})`)
	for _, folder := range sortedKeys(folders) {
		for line := range strings.Lines(folders[folder]) {
			if !strings.Contains(line, "//") {
				continue
			}
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if !numbers[m[1]] {
					found = append(found, fmt.Sprintf("%s: a test names %q, which the page has not", folder, m[0]))
				}
			}
		}
	}
	return found
}

// TestBugsPage holds docs/output-path-bugs.md to the tree.
func TestBugsPage(t *testing.T) {
	page, err := os.ReadFile("docs/output-path-bugs.md")
	if err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{}
	for _, root := range []string{"runtime", "cmd/internal/serve"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			folders[filepath.ToSlash(filepath.Dir(path))] += string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, finding := range bugFindings(string(page), folders) {
		t.Error(finding)
	}
	if rows, _ := bugRows(string(page)); len(rows) < 40 {
		t.Errorf("%d rows, want those of the page, more than 40", len(rows))
	}
}

func TestBugFindings(t *testing.T) {
	page := "| Report | Fault | Here | Tests |\n|---|---|---|---|\n" +
		"| sglang#1234, PR 777 | f | h | api.TestA serve.TestB |\n| vllm#1 | f | h | wire.TestGone api.TestAB |\n| vllm#2 | f | h |\n"
	got := bugFindings(page, map[string]string{
		"runtime/server/api": "x\n// sglang#1234, sglang PR 777, vllm#9876\nfunc TestA(t *testing.T) {\nfunc TestABC(t *testing.T) {",
		"cmd/internal/serve": "\nfunc TestB(t *testing.T) { // llama.cpp issues 4321\n",
	})
	want := []string{
		"3 cells, want 4 with at least one test: | vllm#2 | f | h |\n",
		"vllm#1: there is no test wire.TestGone in runtime/wire",
		"vllm#1: there is no test api.TestAB in runtime/server/api",
		`cmd/internal/serve: a test names "llama.cpp issues 4321", which the page has not`,
		`runtime/server/api: a test names "vllm#9876", which the page has not`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

package fanoutbench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// benchMark begins a table of docs/serving.md that a file of results/bench has.
var benchMark = regexp.MustCompile(`(?s)(<!-- bench: ([a-z0-9.-]+) -->)\n.*?<!-- end -->`)

// The tables of the page are those of the committed benchmarks.
func TestServingPageTables(t *testing.T) {
	pageTables(t, "docs/serving.md", "<!-- bench: ", benchMark, func(mark []string) (string, error) { return benchTable(mark[2]) })
}

// benchTable is what stands between the head of such a file and its raw lines, as a block of code.
func benchTable(file string) (string, error) {
	text, err := os.ReadFile(filepath.Join("results/bench", file))
	if err != nil {
		return "", err
	}
	_, table, found := strings.Cut(string(text), "\n\n")
	table, _, raw := strings.Cut(table, "\n\n{")
	if !found || !raw {
		return "", fmt.Errorf("results/bench/%s: no table between a head and raw lines, each behind an empty line", file)
	}
	var b strings.Builder
	for line := range strings.Lines("\n" + strings.TrimSpace(table) + "\n") {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String() + "\n", nil
}

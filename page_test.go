package fanoutbench_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// pageTables holds a page's tables against those that are made of the committed runs. A table stands between a
// mark, which begins as open does and which marks matches up to the end, and <!-- end -->; table makes it of the mark's submatches, the
// first of which is the mark itself. With -rewrite the page gets them.
func pageTables(t *testing.T, page, open string, marks *regexp.Regexp, table func(mark []string) (string, error)) {
	t.Helper()
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	want := marks.ReplaceAllStringFunc(string(got), func(block string) string {
		found++
		mark := marks.FindStringSubmatch(block)
		text, err := table(mark)
		if err != nil {
			t.Fatalf("%s: %v", mark[1], err)
		}
		return mark[1] + "\n" + text + "<!-- end -->"
	})
	if n := strings.Count(string(got), open); found != n || found == 0 {
		t.Fatalf("%s: %d of %d marks have a name and an end", page, found, n)
	}
	if want == string(got) {
		return
	}
	if !*rewrite {
		t.Fatalf("%s has other figures than the committed runs; go test -run %s -rewrite . writes them", page, t.Name())
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

package fanoutbench_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

const sglangPage = "docs/sglang.md"

// The page's tables stand between <!-- run: NAME --> and <!-- end -->, and are
// made here from results/runs/NAME, so that no figure is typed by hand.
var runMarks = regexp.MustCompile(`(?s)(<!-- run: ([a-z0-9-]+) -->)\n(.*?)<!-- end -->`)

func TestSGLangPageTables(t *testing.T) {
	pageTables(t, sglangPage, "<!-- run:", runMarks, func(mark []string) (string, error) { return runTable(mark[2]) })
}

// runTable has a line a cell, or says that the run is not there.
func runTable(name string) (string, error) {
	f, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "Not run yet; `scripts/runs " + name + "` makes it.\n", nil
	}
	if err != nil {
		return "", err
	}
	var b strings.Builder
	r := f.Result
	e := r.Environment
	fmt.Fprintf(&b, "[results/runs/%s](../results/runs/%s): %d rounds of %d repetitions, %d rows and %d fence rows verified; %s, %d CPUs.\n\n",
		name, name, f.Plan.Rounds, f.Plan.Repetitions, r.VerifiedRows, r.FenceRows, e.CPU, e.CPUs)
	b.WriteString("| rows, metadata | metric | reference ms | candidate ms | reduction % | interval % | faster | opened a batch |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, s := range r.Summary {
		if s.Metric != "complete_ms" && s.Metric != "worker_cpu_ms" || s.MedianPairedReductionPct == nil {
			continue
		}
		c := s.Counters
		fmt.Fprintf(&b, "| %d %s | %s | %s | %s | %.1f | %s | %d/%d | %.0f to %.0f |\n", s.Count, s.Metadata, s.Metric,
			ms(s.ReferenceMS), ms(s.CandidateMS), *s.MedianPairedReductionPct, order(s), s.FasterRounds, s.Rounds,
			c[results.Reference]["opaque_decodes"], c[results.Candidate]["opaque_decodes"])
	}
	return b.String(), nil
}

// The table is made of a run that is there, since those of SGLang's releases may not be.
func TestRunTable(t *testing.T) {
	got, err := runTable("reuse")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| 310 rich \| complete_ms \| .* \| 9/9 \| 620 to 4 \|$`)
	if !row.MatchString(got) || !strings.Contains(got, "123480 rows and 4320 fence rows verified") {
		t.Errorf("no such row, or no count of rows:\n%s", got)
	}
	if got, err := runTable("no-such-run"); err != nil || got != "Not run yet; `scripts/runs no-such-run` makes it.\n" {
		t.Errorf("%q (%v)", got, err)
	}
}

// Every run that the page shows can be made.
func TestSGLangPageRunsAreNamed(t *testing.T) {
	page, err := os.ReadFile(sglangPage)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := os.ReadFile(filepath.Join("scripts", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	seeds := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:sglang_run|run|load) ([a-z0-9/-]+) --seed ([0-9]+)\b`).FindAllStringSubmatch(string(runs), -1) {
		if other := seeds[m[2]]; other != "" {
			t.Errorf("%s and %s have the same seed %s", m[1], other, m[2])
		}
		seeds[m[2]] = m[1]
	}
	for _, m := range runMarks.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(string(runs), "\nsglang_run "+m[2]+" --seed ") {
			t.Errorf("scripts/runs does not make %s, which %s shows", m[2], sglangPage)
		}
	}
}

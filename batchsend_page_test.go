package fanoutbench_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
	"github.com/fanoutbench/fanoutbench/results/table"
)

const batchsendPage = "docs/batchsend-runs.md"

// The page's tables stand between <!-- load: run NAME --> or <!-- load: sweep NAME --> and <!-- end -->.
var loadMarks = regexp.MustCompile(`(?s)(<!-- load: ((?:run|sweep) [a-z0-9.-]+) -->)\n(.*?)<!-- end -->`)

func TestBatchsendPageTables(t *testing.T) {
	pageTables(t, batchsendPage, "<!-- load:", loadMarks, func(mark []string) (string, error) {
		kind, name, _ := strings.Cut(mark[2], " ")
		return loadTable("results/runs/batchsend", kind, name)
	})
}

// loadTable is the table of a run or a sweep below root, or says that it is not there.
func loadTable(root, kind, name string) (string, error) {
	dir := path.Join(root, name)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "Not run yet; `scripts/runs batchsend/" + name + "` makes it.\n", nil
	}
	if kind == "sweep" {
		return curveTable(dir)
	}
	f, err := batchrun.Read(dir)
	if err != nil {
		return "", err
	}
	valid := "VALID"
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		valid = v.Why()
	}
	return aboutLoad(f, dir) + " " + valid + ".\n\n" + cellsTable(f, func(batchrun.Cell) bool { return true }), nil
}

// aboutLoad says what the table is of, and which command made it; but for the program's default ones, its flags
// are the run's settings.
func aboutLoad(f *batchrun.Folder, dir string) string {
	e := f.Result.Environment
	return fmt.Sprintf("[%s](../%s): %d rounds, seed %d; %s, %d CPUs; `%s`.", dir, dir, f.Plan.Rounds, f.Plan.Seed, e.CPU, e.CPUs, strings.Join(e.Command, " "))
}

// loadFigure is the open loop of the README's run, which must be a valid one.
func loadFigure() (string, error) {
	f, err := batchrun.Read("results/runs/batchsend/h100-cold")
	if err != nil {
		return "", err
	}
	if v := f.Result.Verdict; v.Status != results.StatusVerified {
		return "", fmt.Errorf("%s is %s, want a verified run", f.Dir, v.Why())
	}
	return cellsTable(f, batchrun.Cell.Open), nil
}

// cellsTable has a line an arm in each of the cells that are wanted.
func cellsTable(f *batchrun.Folder, wanted func(batchrun.Cell) bool) string {
	lines := [][]string{{"load", "method", "n", "avg ms", "p50 ms", "p90 ms", "p99 ms", "leading ms", "prefill batches", "reduction of avg %", "interval %"}}
	for _, g := range f.Result.Figures {
		if g.Round != nil || !wanted(f.Plan.Cells[g.Cell]) {
			continue
		}
		p := f.Point(g.Cell)
		batches, reduction, interval := p.ReferenceBatches, "", ""
		if g.Arm == batchrun.Candidate {
			batches, reduction, interval = p.Batches, table.OneDecimal(p.AvgReductionPct), between(p.AvgInterval)
		}
		l := g.Response
		lines = append(lines, []string{
			f.Plan.Cells[g.Cell].String(), f.Plan.Spec(g.Arm), strconv.Itoa(g.Requests - g.Failed),
			optional(l.AvgMS), optional(l.P50.MS), optional(l.P90.MS), optional(l.P99.MS), optional(g.LeadingMS), table.Significant(batches, 3), reduction, interval,
		})
	}
	var b bytes.Buffer
	table.Markdown(&b, lines, []int{0, 1})
	return b.String()
}

// curveTable has a sweep's tables, as its report has them, and what follows.
func curveTable(dir string) (string, error) {
	f, err := batchrun.ReadSweep(dir)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	b.WriteString(aboutLoad(f.Runs[0], dir) + "\n")
	for _, s := range f.Sections() {
		b.WriteString("\n" + s.Title + ":\n\n")
		table.Markdown(&b, append([][]string{s.Head}, s.Lines...), s.Left)
		if s.Below != "" {
			b.WriteString("\n" + s.Below + "\n")
		}
	}
	b.WriteString("\n")
	for _, c := range f.Sweep.Cells {
		b.WriteString("- " + c.Cell + ": " + c.Reason + ".\n")
	}
	return b.String(), nil
}

func optional(v *float64) string {
	if v == nil {
		return "-"
	}
	return ms(v)
}

func between(i *results.Interval) string {
	if i == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f to %.1f", i.Low, i.High)
}

// Every run that the page shows can be made, and every one that can be made is shown; each has a seed of its own.
func TestBatchsendPageRunsAreNamed(t *testing.T) {
	page, err := os.ReadFile(batchsendPage)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join("scripts", "runs"))
	if err != nil {
		t.Fatal(err)
	}
	var shown, made []string
	for _, m := range loadMarks.FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, m[2])
	}
	for _, m := range regexp.MustCompile(`(?m)^load(?:_qwen3|_throttled)? batchsend/([a-z0-9.-]+) --seed [0-9]+ (.*)$`).FindAllStringSubmatch(string(script), -1) {
		kind := "run "
		if strings.Contains(m[2], "--sweep ") {
			kind = "sweep "
		}
		made = append(made, kind+m[1])
	}
	if len(made) == 0 || !slices.Equal(shown, made) {
		t.Errorf("%s shows %q, scripts/runs makes %q, want the same in the same order", batchsendPage, shown, made)
	}
	if got, err := loadTable(t.TempDir(), "run", "none"); err != nil || got != "Not run yet; `scripts/runs batchsend/none` makes it.\n" {
		t.Errorf("%q (%v)", got, err)
	}
}

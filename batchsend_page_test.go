package fanoutbench_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
)

const batchsendPage = "docs/batchsend.md"

// The page's tables stand between <!-- load: run NAME --> or <!-- load: sweep NAME --> and <!-- end -->.
var loadMarks = regexp.MustCompile(`(?s)(<!-- load: ((?:run|sweep) [a-z0-9-]+) -->)\n(.*?)<!-- end -->`)

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
	return aboutLoad(f, dir) + " " + valid + ".\n\n" + cellsTable(f), nil
}

// aboutLoad says what the table is of.
func aboutLoad(f *batchrun.Folder, dir string) string {
	e := f.Result.Environment
	return fmt.Sprintf("[%s](../%s): %d rounds, seed %d; %s, %d CPUs.", dir, dir, f.Plan.Rounds, f.Plan.Seed, e.CPU, e.CPUs)
}

// cellsTable has a line an arm in each cell.
func cellsTable(f *batchrun.Folder) string {
	var b strings.Builder
	b.WriteString("| load | method | n | avg ms | p50 ms | p90 ms | p99 ms | leading ms | prefill batches | reduction of avg % | interval % |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, g := range f.Result.Figures {
		if g.Round != nil {
			continue
		}
		p := batchrun.Curve([]string{""}, []float64{0}, []*batchrun.Folder{f}, g.Cell)[0]
		batches, reduction, interval := p.ReferenceBatches, "", ""
		if g.Arm == batchrun.Candidate {
			batches, reduction, interval = p.CandidateBatches, shown("%.1f", p.Avg.Reduction), between(p.Avg.Interval)
		}
		l := g.Response
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", f.Plan.Cells[g.Cell], f.Plan.Spec(g.Arm), g.Requests-g.Failed,
			optional(l.AvgMS), optional(l.P50.MS), optional(l.P90.MS), optional(l.P99.MS), optional(g.LeadingMS), shown("%.3g", batches), reduction, interval)
	}
	return b.String()
}

// curveTable has the runs of a sweep, in the order of what is swept.
func curveTable(dir string) (string, error) {
	s, err := readSweep(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(aboutLoad(s.folders[0], dir) + "\n\n")
	fmt.Fprintf(&b, "| load | %s | tokens | leading ms, one by one | leading ms | slower %% | avg ms, one by one | avg ms | reduction %% | interval %% | prefill batches, one by one | prefill batches | |\n", s.name)
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for cell, c := range s.folders[0].Plan.Cells {
		for _, p := range batchrun.Curve(s.words, s.values, s.folders, cell) {
			valid := "VALID"
			if !p.Valid {
				valid = "INVALID"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", c, p.Word, shown("%.3g", p.Ratio),
				shown("%.3g", p.Leading.Reference), shown("%.3g", p.Leading.Candidate), shown("%.1f", -p.Leading.Reduction),
				shown("%.3g", p.Avg.Reference), shown("%.3g", p.Avg.Candidate), shown("%.1f", p.Avg.Reduction), between(p.Avg.Interval),
				shown("%.3g", p.ReferenceBatches), shown("%.3g", p.CandidateBatches), valid)
		}
	}
	b.WriteString("\n")
	for cell, c := range s.folders[0].Plan.Cells {
		b.WriteString(s.conclusion(cell, c))
	}
	return b.String(), nil
}

// sweepRuns are the runs of a sweep, whose folders are called after the value.
type sweepRuns struct {
	name    string
	words   []string
	values  []float64
	folders []*batchrun.Folder
}

func (s sweepRuns) conclusion(cell int, c batchrun.Cell) string {
	points := batchrun.Curve(s.words, s.values, s.folders, cell)
	if s.name == "step-base" {
		if p, ok := batchrun.Threshold(points); ok {
			return fmt.Sprintf("- %s: a batch send wins from %s tokens on (step-base %s s).\n", c, shown("%.3g", p.Ratio), p.Word)
		}
		return fmt.Sprintf("- %s: a batch send does not win at the largest of these.\n", c)
	}
	if p, ok := batchrun.Recommend(points, 10); ok {
		return fmt.Sprintf("- %s: recommended is %s %s.\n", c, s.name, p.Word)
	}
	return fmt.Sprintf("- %s: none of these is recommended.\n", c)
}

var sweptFolder = regexp.MustCompile(`^([a-z-]+)-([0-9.]+)$`)

func readSweep(dir string) (sweepRuns, error) {
	var s sweepRuns
	plans, err := filepath.Glob(filepath.Join(dir, "*", batchrun.PlanFile))
	if err != nil || len(plans) == 0 {
		return s, fmt.Errorf("%s has %d runs, want at least one (%v)", dir, len(plans), err)
	}
	type run struct {
		dir, name, word string
		value           float64
	}
	var runs []run
	for _, plan := range plans {
		r := run{dir: filepath.Dir(plan)}
		m := sweptFolder.FindStringSubmatch(filepath.Base(r.dir))
		if m == nil {
			return s, fmt.Errorf("%s is no run of a sweep, want NAME-VALUE", r.dir)
		}
		r.name, r.word = m[1], m[2]
		if r.value, err = strconv.ParseFloat(r.word, 64); err != nil {
			return s, fmt.Errorf("%s: %w", r.dir, err)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.value, b.value) })
	for _, r := range runs {
		f, err := batchrun.Read(r.dir)
		if err != nil {
			return s, err
		}
		s.name, s.words, s.values, s.folders = r.name, append(s.words, r.word), append(s.values, r.value), append(s.folders, f)
	}
	return s, nil
}

func shown(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
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
	for _, m := range regexp.MustCompile(`(?m)^load batchsend/([a-z0-9-]+) --seed [0-9]+ (.*)$`).FindAllStringSubmatch(string(script), -1) {
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

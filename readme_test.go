package fanoutbench_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the README's figures from the committed runs")

// Figures of the README stand between <!-- KIND NAME --> and <!-- end -->, and
// are made here from results/runs, so that none is typed by hand.
var figures = map[string]func() (string, error){
	"table strategies": strategiesTable,
	"table floor":      floorTable,
	"table load":       loadFigure,
	"value engines":    engines,
	"value a-a":        falseAlarms,
	"value machine":    machine,
}

func TestReadmeFigures(t *testing.T) {
	got, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	want := string(got)
	for name, figure := range figures {
		text, err := figure()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want, err = replaceFigure(want, name, text); err != nil {
			t.Fatal(err)
		}
	}
	if bytes.Equal(got, []byte(want)) {
		return
	}
	if !*rewrite {
		t.Fatal("README.md has other figures than the committed runs; go test -run TestReadmeFigures -rewrite . writes them")
	}
	if err := os.WriteFile("README.md", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func replaceFigure(text, name, figure string) (string, error) {
	before, rest, ok := strings.Cut(text, "<!-- "+name+" -->")
	if !ok {
		return "", fmt.Errorf("README.md has no <!-- %s -->", name)
	}
	_, after, ok := strings.Cut(rest, "<!-- end -->")
	if !ok {
		return "", fmt.Errorf("README.md has no <!-- end --> after %s", name)
	}
	if strings.HasPrefix(name, "table") {
		figure = "\n" + figure
	}
	return before + "<!-- " + name + " -->" + figure + "<!-- end -->" + after, nil
}

func read(name string) (*results.Folder, error) {
	return results.Read(filepath.Join("results", "runs", name))
}

func rowOf(f *results.Folder, metric string) (results.SummaryRow, error) {
	for _, r := range f.Result.Summary {
		if r.Count == 310 && r.Metadata == "rich" && r.Metric == metric {
			return r, nil
		}
	}
	return results.SummaryRow{}, fmt.Errorf("%s: no row for 310 rich %s", f.Dir, metric)
}

func strategiesTable() (string, error) {
	var b strings.Builder
	b.WriteString("| candidate | complete_ms reference | candidate | reduction % | interval % | faster | worker_cpu_ms reference | candidate | reduction % | decodes a batch |\n")
	b.WriteString("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, run := range []string{"reuse", "grouped", "default", "grouped-splice", "native"} {
		f, err := read(run)
		if err != nil {
			return "", err
		}
		complete, err := rowOf(f, "complete_ms")
		if err != nil {
			return "", err
		}
		cpu, err := rowOf(f, "worker_cpu_ms")
		if err != nil {
			return "", err
		}
		name := f.Result.Arms[results.Candidate].Strategy
		if f.Plan.Transport == "native" {
			name += ", both arms without wrappers"
		}
		c := complete.Counters
		fmt.Fprintf(&b, "| [%s](results/runs/%s) | %s | %s | %.1f | %s | %d/%d | %s | %s | %.1f | %.0f to %.0f |\n", name, run,
			ms(complete.ReferenceMS), ms(complete.CandidateMS), *complete.MedianPairedReductionPct, order(complete),
			complete.FasterRounds, complete.Rounds, ms(cpu.ReferenceMS), ms(cpu.CandidateMS), *cpu.MedianPairedReductionPct,
			c[results.Reference]["opaque_decodes"], c[results.Candidate]["opaque_decodes"])
	}
	return b.String(), nil
}

func floorTable() (string, error) {
	var b strings.Builder
	b.WriteString("| reference | candidate | metric | reference ms | candidate ms | ratio of medians | reduction % | interval % | allocations a batch |\n")
	b.WriteString("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, run := range []string{"floor-splice", "floor-grouped-splice", "splice-grouped-splice"} {
		f, err := read(run)
		if err != nil {
			return "", err
		}
		for _, metric := range []string{"complete_ms", "worker_cpu_ms"} {
			r, err := rowOf(f, metric)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "| %s | [%s](results/runs/%s) | %s | %s | %s | %.2f | %.1f | %s | %.1f |\n",
				f.Result.Arms[results.Reference].Strategy, f.Result.Arms[results.Candidate].Strategy, run, metric,
				ms(r.ReferenceMS), ms(r.CandidateMS), *r.CandidateMS / *r.ReferenceMS, *r.MedianPairedReductionPct, order(r),
				r.Counters[results.Candidate]["allocations"])
		}
	}
	return b.String(), nil
}

func engines() (string, error) {
	f, err := read("engines")
	if err != nil {
		return "", err
	}
	for _, r := range f.Result.Summary {
		if r.Count == 310 && r.Metadata == "plain" && r.Metric == "complete_ms" {
			return fmt.Sprintf("a stream takes %s ms with %s and %s ms with %s, %s %% less",
				ms(r.ReferenceMS), f.Result.Arms[results.Reference].ZMQ, ms(r.CandidateMS), f.Result.Arms[results.Candidate].ZMQ, order(r)), nil
		}
	}
	return "", fmt.Errorf("%s: no row for 310 plain complete_ms", f.Dir)
}

// falseAlarms counts the intervals of the A/A run that exclude zero, and how
// many would by their own levels.
func falseAlarms() (string, error) {
	f, err := read("a-a")
	if err != nil {
		return "", err
	}
	intervals, excluding, expected := 0, 0, 0.0
	for _, r := range f.Result.Summary {
		if r.OrderCI == nil {
			continue
		}
		intervals++
		expected += 1 - *r.OrderCI.Level
		if r.OrderCI.Low > 0 || r.OrderCI.High < 0 {
			excluding++
		}
	}
	return fmt.Sprintf("%d of %d intervals exclude zero, %.1f are expected by their levels", excluding, intervals, expected), nil
}

func machine() (string, error) {
	f, err := read("default")
	if err != nil {
		return "", err
	}
	e := f.Result.Environment
	return fmt.Sprintf("%s, %d CPUs, %s/%s, %s", e.CPU, e.CPUs, e.OS, e.Arch, e.Go), nil
}

func ms(v *float64) string { return fmt.Sprintf("%.3g", *v) }

func order(r results.SummaryRow) string {
	if r.OrderCI == nil {
		return "none"
	}
	return fmt.Sprintf("%.1f to %.1f (level %.1f)", r.OrderCI.Low, r.OrderCI.High, 100**r.OrderCI.Level)
}

package main

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/htmlreport"
)

// committedRun is the folder of one of the runs in the tree.
func committedRun(t *testing.T, name string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "results", "runs", name))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A real run in every format: each names the arms and ends well.
func TestReportFormats(t *testing.T) {
	t.Parallel()
	p := measure(t, nil)
	p.run(exitOK)
	for _, format := range append([]string{htmlreport.Format}, results.Formats...) {
		r := newProgram(t, nil, "report", p.output, "--format", format)
		r.run(exitOK)
		r.has(format, r.stdout.String(), "builtin:splice", "builtin:per-row")
	}
	h := newProgram(t, nil, "history", p.output)
	h.run(exitOK)
	h.has("history", h.stdout.String(), "over 1 runs", p.output)
	h = newProgram(t, nil, "history", p.output, "--format", "html")
	h.run(exitOK)
	h.has("history", h.stdout.String(), "<!doctype html>", p.output)
	h = newProgram(t, nil, "history", p.output, "--count", "77")
	h.run(exitInvalid)
	h.has("history", h.stderr.String(), "no cell 77")
}

// benchstat reads the benchmark format, and its medians are those of the summary.
func TestBenchstat(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"default", "mixed"} {
		r := newProgram(t, nil, "report", committedRun(t, name), "--format", "bench")
		r.run(exitOK)
		file := filepath.Join(r.dir, "bench.txt")
		if err := os.WriteFile(file, r.stdout.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := results.Read(committedRun(t, name))
		if err != nil {
			t.Fatal(err)
		}
		got := benchstat(t, file)
		for _, row := range f.Result.Summary {
			for i, want := range []*float64{row.ReferenceMS, row.CandidateMS} {
				key := [3]string{strconv.Itoa(row.Count), row.Metadata, row.Metric}
				medians, ok := got[key]
				if want == nil && !ok {
					continue
				}
				if want == nil || !ok || math.Abs(1000*medians[i]-*want) > 1e-9**want {
					t.Errorf("%s: %q: benchstat says %v s, the summary %v ms", name, key, medians, *want)
				}
			}
		}
	}
}

// benchUnit are benchstat's names of the metrics, in seconds.
var benchUnit = map[string]string{
	"sec/op": "complete_ms", "first-sec": "first_ms", "first-all-sec": "first_all_ms", "spread-sec": "spread_ms", "worker-cpu-sec": "worker_cpu_ms",
}

// benchstat runs the program at the version of tools/go.mod. It gives the medians
// of reference and candidate by count, metadata and metric.
func benchstat(t *testing.T, file string) map[[3]string][2]float64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "-C", filepath.Join("..", "..", "tools"), "tool", "benchstat", "-format", "csv", "-col", "arm", "-row", "/count,/metadata", file)
	cmd.Env = append(os.Environ(), "GOOS=", "GOARCH=") // it runs here, whatever is being tested
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("benchstat: %v: %s", err, &stderr)
	}
	reader := csv.NewReader(strings.NewReader(string(out)))
	reader.FieldsPerRecord = -1
	lines, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	got, metric := map[[3]string][2]float64{}, ""
	for _, line := range lines {
		cell := strings.Fields(line[0])
		switch {
		case len(line) < 4:
		case line[0] == "" && benchUnit[line[1]] != "":
			metric = benchUnit[line[1]]
		case len(cell) == 2:
			var medians [2]float64
			for i := range medians {
				if medians[i], err = strconv.ParseFloat(line[1+2*i], 64); err != nil {
					t.Fatalf("benchstat: %q: %v", line, err)
				}
			}
			got[[3]string{cell[0], cell[1], metric}] = medians
		}
	}
	if len(got) == 0 {
		t.Fatalf("benchstat said nothing of a cell: %s", out)
	}
	return got
}

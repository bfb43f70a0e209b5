package fanoutbench_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/results"
)

const (
	matrixRuns  = "results/runs/matrix"
	matrixTable = "results/bench/matrix.txt"
)

// corner is what the runs of the matrix differ in.
type corner struct{ strategy, engine, detokenizers string }

// TestMatrixTable holds the table of the matrix against its runs, of which each
// must verify. Every strategy, engine and number of detokenizers that comes up must
// do so with every other, on streams of one seed.
func TestMatrixTable(t *testing.T) {
	dirs, err := filepath.Glob(filepath.Join(matrixRuns, "*", results.PlanFile))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%d runs in %s, %v", len(dirs), matrixRuns, err)
	}
	lines := map[corner]string{}
	seeds := map[uint64]bool{}
	for _, plan := range dirs {
		f := verifiedRun(t, filepath.Dir(plan))
		seeds[f.Plan.Seed] = true
		if f.Plan.Stream != results.StreamMixed {
			t.Errorf("%s: stream %s", plan, f.Plan.Stream)
		}
		for name, arm := range f.Result.Arms {
			c := corner{arm.Strategy, arm.Options["zmq"], arm.Options["detokenizers"]}
			if lines[c] != "" {
				t.Errorf("%+v is there twice", c)
			}
			lines[c] = matrixLine(c, f, name)
		}
	}
	if len(seeds) != 1 {
		t.Errorf("seeds %v, want one", seeds)
	}
	wholeProduct(t, lines)
	text := "strategy engine detokenizers rows fence_rows full_rows status\n"
	for _, line := range slices.Sorted(maps.Values(lines)) {
		text += line
	}
	if *rewrite {
		if err := os.WriteFile(matrixTable, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(matrixTable)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s has other lines than %s: go test -run TestMatrixTable -rewrite . writes them", matrixTable, matrixRuns)
	}
}

func verifiedRun(t *testing.T, dir string) *results.Folder {
	t.Helper()
	checks, err := results.Verify(dir, results.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range checks {
		if !k.OK {
			t.Fatalf("%s: %s: %s", dir, k.Name, k.Detail)
		}
	}
	f, err := results.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// matrixLine counts what was verified of an arm, round -1 included.
func matrixLine(c corner, f *results.Folder, arm string) string {
	rows, fence := 0, 0
	for _, trial := range f.Trials {
		if trial.Arm == arm {
			rows, fence = rows+trial.Rows, fence+trial.FenceRows
		}
	}
	return fmt.Sprintf("%s %s %s %d %d %d %s\n", c.strategy, c.engine, c.detokenizers, rows, fence, f.Result.FullRows/len(f.Result.Arms), f.Result.Verdict.Status)
}

func wholeProduct(t *testing.T, lines map[corner]string) {
	t.Helper()
	for a := range lines {
		for b := range lines {
			for c := range lines {
				if k := (corner{a.strategy, b.engine, c.detokenizers}); lines[k] == "" {
					t.Fatalf("no run of %+v", k)
				}
			}
		}
	}
	for _, n := range []string{"1", "2", "3"} {
		if lines[corner{"per-row", "zmtp", n}] == "" {
			t.Errorf("no run with %s detokenizers", n)
		}
	}
}

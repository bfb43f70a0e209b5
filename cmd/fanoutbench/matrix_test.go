package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/cmd/internal/worker"
	"github.com/fanoutbench/fanoutbench/results"
)

// envLong asks for the whole of tests that otherwise take a selection.
const envLong = "FANOUTBENCH_LONG"

// onlyLong leaves a test that takes ten seconds and more of CPU time to the long
// suite.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv(envLong) == "" {
		t.Skip("takes long: set " + envLong)
	}
}

// matrixDetokenizers are the numbers of detokenizers in the matrix.
var matrixDetokenizers = []int{1, 2, 3}

// corner is one built-in arm of the matrix.
type corner struct {
	strategy, engine string
	detokenizers     int
}

// spec is the corner as an arm.
func (c corner) spec() string {
	return fmt.Sprintf("builtin:%s@zmq=%s,detokenizers=%d", c.strategy, c.engine, c.detokenizers)
}

// everyCorner is the whole matrix. Strategies turn fastest, so that a pair of
// neighbours is two strategies.
func everyCorner(strategies, engines []string) (all []corner) {
	for _, e := range engines {
		for _, n := range matrixDetokenizers {
			for _, s := range strategies {
				all = append(all, corner{s, e, n})
			}
		}
	}
	return all
}

// someCorners has every strategy with every engine, and the numbers in turn.
func someCorners(strategies, engines []string) (some []corner) {
	for j, e := range engines {
		for i, s := range strategies {
			some = append(some, corner{s, e, matrixDetokenizers[(i+j)%len(matrixDetokenizers)]})
		}
	}
	return some
}

// Every strategy over every ZeroMQ engine with 1, 2 and 3 detokenizers delivers
// the mixed stream, and the full one before it: two corners of the matrix a
// run. What was verified is read from the runs.
func TestMatrix(t *testing.T) {
	var strategies []string
	for _, s := range worker.List().Strategies {
		strategies = append(strategies, s.Name)
	}
	engines := worker.List().ZMQ
	corners := someCorners(strategies, engines)
	if os.Getenv(envLong) != "" {
		corners = everyCorner(strategies, engines)
	}
	if len(corners)%2 != 0 {
		corners = append(corners, corners[0])
	}
	var mu sync.Mutex
	verified := map[corner]bool{}
	t.Run("runs", func(t *testing.T) {
		for i := 0; i < len(corners); i += 2 {
			t.Run(corners[i].spec()+"/"+corners[i+1].spec(), func(t *testing.T) {
				t.Parallel()
				got := matrixRun(t, corners[i].spec(), corners[i+1].spec())
				mu.Lock()
				defer mu.Unlock()
				for _, c := range got {
					verified[c] = true
				}
			})
		}
	})
	for _, c := range corners {
		if !verified[c] {
			t.Errorf("%s was not verified", c.spec())
		}
	}
	covered := map[string]bool{}
	for c := range verified {
		covered[c.strategy+" "+c.engine] = true
		covered[fmt.Sprint(c.engine, c.detokenizers)] = true
	}
	for _, e := range engines {
		for _, s := range strategies {
			if !covered[s+" "+e] {
				t.Errorf("no verified run of %s over %s", s, e)
			}
		}
		for _, n := range matrixDetokenizers {
			if !covered[fmt.Sprint(e, n)] {
				t.Errorf("no verified run over %s with %d detokenizers", e, n)
			}
		}
	}
}

// matrixRun is one run of two arms; the corners are as their receipts say.
func matrixRun(t *testing.T, reference, candidate string) (verified []corner) {
	t.Helper()
	p := measure(t, nil, "--stream", "mixed", "--counts", "4", "--reference", reference, "--candidate", candidate)
	p.run(exitOK)
	f := p.folder()
	if f.Result.Verdict.Status != results.StatusVerified || f.Result.FullRows != 2*stream.FullRows(4) || f.Plan.Stream != results.StreamMixed {
		t.Fatalf("verdict %+v, %d full rows, stream %s", f.Result.Verdict, f.Result.FullRows, f.Plan.Stream)
	}
	for _, a := range f.Result.Arms {
		n, err := strconv.Atoi(a.Options["detokenizers"])
		if err != nil {
			t.Fatal(err)
		}
		verified = append(verified, corner{a.Strategy, a.Options["zmq"], n})
	}
	return verified
}

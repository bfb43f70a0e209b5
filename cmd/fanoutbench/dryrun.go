package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/results"
)

// What a run takes, for an estimate: rounded up from a default run on two cores.
const (
	timePerRow    = 300 * time.Microsecond
	timePerTrial  = 40 * time.Millisecond
	timePerStart  = 400 * time.Millisecond
	timePerImport = time.Minute
	bytesPerLine  = 1100
	bytesForRest  = 200 << 10
)

// showPlan is the dry run.
func (f *runFlags) showPlan(stdout io.Writer, arms map[string]arm.Arm, p results.Plan) error {
	w := bufio.NewWriter(stdout)
	for _, name := range []string{results.Reference, results.Candidate} {
		a := arms[name]
		fmt.Fprintf(w, "%s: %s, options %v\n  %s\n", name, a.Spec, a.Asked(), whatRuns(a))
	}
	f.showDecision(w, p)
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	starts := len(p.Arms())
	if p.Process != results.ProcessRun {
		starts *= p.Rounds + 1
	}
	imports := importTime(arms, p)
	expected := imports + time.Duration(p.RowsPerRun+p.WarmupRows())*timePerRow + time.Duration(p.Len())*timePerTrial + time.Duration(starts)*timePerStart
	fmt.Fprintf(w, "plan: %s\n", b)
	fmt.Fprintf(w, "%d trials, %d rows and %d fence rows to verify, warm-up and full streams beside them; at most about %v and %d KiB in %s\n",
		p.Len(), p.RowsPerRun, p.FencePerRun, expected.Round(time.Second), (p.Len()*bytesPerLine+bytesForRest)>>10, f.output)
	return w.Flush()
}

// showDecision says what a run of the plan decides, and when it ends.
func (f *runFlags) showDecision(w *bufio.Writer, p results.Plan) {
	control := "none"
	if p.Control != nil {
		control = "the reference once more, in every round"
	}
	fmt.Fprintf(w, "control: %s\n", control)
	if f.given("budget") {
		fmt.Fprintf(w, "budget: %v, by which the rounds are chosen from %v, after a pilot of one round; the plan below has the most\n", f.budget, plan.Choices)
	}
	if len(p.Primary) == 0 {
		fmt.Fprintf(w, "decision: none, by --primary %s\n", noPrimary)
		return
	}
	rounds := fmt.Sprintf("after %d rounds", p.Rounds)
	if p.Kind == results.KindAnytime {
		rounds = fmt.Sprintf("anytime, after the sixth round or a later one that settles all, at most %d", p.Rounds)
	}
	fmt.Fprintf(w, "decision: %s, with a margin of %v %%, about\n", rounds, p.MarginPct)
	for _, c := range p.Primary {
		fmt.Fprintf(w, "  %s, %s\n", c, c.Role)
	}
}

// importTime is what the imports of SGLang trees take: one an arm, or with fresh
// interpreters one a round and arm. Both arms import side by side.
func importTime(arms map[string]arm.Arm, p results.Plan) time.Duration {
	if arms[results.Reference].SGLang == nil && arms[results.Candidate].SGLang == nil {
		return 0
	}
	if p.Process == results.ProcessSpawn {
		return timePerImport * time.Duration(p.Rounds+1)
	}
	return timePerImport
}

// whatRuns is the arm's command, or what it will be built from.
func whatRuns(a arm.Arm) string {
	switch {
	case a.SGLang != nil:
		return fmt.Sprintf("tree: %s\n  interpreter: %s, Python %s", a.SGLang, a.Python.Path, a.Python.Version)
	case a.Tree == nil:
		return "command: " + strings.Join(a.Command, " ")
	case a.Tree.Folder != "":
		return "worker: to be built from " + a.Tree.Folder
	}
	return "worker: to be built from commit " + a.Tree.Commit
}

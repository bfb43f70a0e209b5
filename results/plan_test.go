package results

import (
	"slices"
	"testing"
)

// twinOrder is the plan's order as nested loops.
func twinOrder(p Plan) (slots []Slot) {
	for round := -1; round < p.Rounds; round++ {
		for _, count := range p.Counts {
			for _, metadata := range p.Metadata {
				for repetition := 0; repetition < p.Repetitions; repetition++ {
					arms := []string{Reference, Candidate}
					if p.First[round+1] == Candidate {
						arms = []string{Candidate, Reference}
					}
					for position, arm := range arms {
						slots = append(slots, Slot{round, repetition, count, metadata, arm, position})
					}
				}
			}
		}
	}
	return slots
}

func TestTrialsAreInOrder(t *testing.T) {
	for _, change := range []func(*Plan){
		func(*Plan) {},
		func(p *Plan) { p.Counts = []int{310, 1, 32} },
		func(p *Plan) { p.Metadata = []string{"rich"}; p.Repetitions = 3 },
		func(p *Plan) { p.Rounds, p.First = 1, []string{Candidate, Reference} },
	} {
		p := examplePlan()
		change(&p)
		want := twinOrder(p)
		if got := slices.Collect(p.Trials()); !slices.Equal(got, want) {
			t.Errorf("got %v\nwant %v", got, want)
		}
		if p.Len() != len(want) {
			t.Errorf("Len is %d, want %d", p.Len(), len(want))
		}
	}
}

func TestTrialsCanStop(t *testing.T) {
	for s := range examplePlan().Trials() {
		if s.Round != -1 || s.Position != 0 {
			t.Fatalf("the first is %v", s)
		}
		break
	}
}

// The default run of the program, whose numbers of rows are published.
func TestDefaultRun(t *testing.T) {
	p := examplePlan()
	p.Counts, p.Repetitions, p.RowsPerRun, p.FencePerRun = []int{1, 32, 310}, 3, 123_480, 4_320
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	rows, fence := 0, 0
	for s := range p.Trials() {
		rows += 3 * s.Count
		fence += 12
	}
	if rows != p.RowsPerRun || fence != p.FencePerRun {
		t.Errorf("%d rows and %d fence rows", rows, fence)
	}
	cells := 3 * (1 + 32 + 310) * 2 // rows of one pass over all cells
	if got, want := p.WarmupRows(), 10*2*cells; got != want {
		t.Errorf("%d warm-up rows of fresh processes, want %d", got, want)
	}
	p.Process = ProcessRun
	if got, want := p.WarmupRows(), 2*cells; got != want {
		t.Errorf("%d warm-up rows of one set of processes, want %d", got, want)
	}
}

func TestPlanValidate(t *testing.T) {
	if err := examplePlan().Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func(*Plan)
		says   []string
	}{
		{func(p *Plan) { p.Schema = 2 }, []string{"schema is 2", "want 1"}},
		{func(p *Plan) { p.ToolVersion = "" }, []string{`tool_version is ""`}},
		{func(p *Plan) { p.Reference.Spec = "" }, []string{"reference.spec", "want 1 to 4096"}},
		{func(p *Plan) { p.Candidate.Spec = "\xff" }, []string{"candidate.spec", "UTF-8"}},
		{func(p *Plan) { p.Transport = "json" }, []string{`transport is "json"`, "msgpack"}},
		{func(p *Plan) { p.Counts = nil }, []string{"counts is []"}},
		{func(p *Plan) { p.Counts = []int{0} }, []string{"counts[0] is 0", "1 to 100000"}},
		{func(p *Plan) { p.Counts = []int{1, 100_001} }, []string{"counts[1] is 100001"}},
		{func(p *Plan) { p.Counts = []int{5, 5} }, []string{"counts[1] is 5", "once"}},
		{func(p *Plan) { p.Metadata = nil }, []string{"metadata"}},
		{func(p *Plan) { p.Metadata = []string{"poor"} }, []string{`metadata[0] is "poor"`, "plain"}},
		{func(p *Plan) { p.Metadata = []string{"rich", "rich"} }, []string{"metadata[1]", "once"}},
		{func(p *Plan) { p.Rounds = 0 }, []string{"rounds is 0", "1 to 1000"}},
		{func(p *Plan) { p.Rounds = 1001 }, []string{"rounds is 1001"}},
		{func(p *Plan) { p.Rounds = -1 }, []string{"rounds is -1"}},
		{func(p *Plan) { p.Repetitions = 0 }, []string{"repetitions is 0"}},
		{func(p *Plan) { p.Repetitions = 1001 }, []string{"repetitions is 1001"}},
		{func(p *Plan) { p.Rounds, p.Repetitions = 1000, 1000 }, []string{"8008000 trials", "500000"}},
		{func(p *Plan) { p.Stream = "" }, []string{"stream"}},
		{func(p *Plan) { p.Stream = "sed" }, []string{`stream is "sed", want "seed", "mixed" or recorded:DIR`}},
		{func(p *Plan) { p.Stream = StreamRecorded }, []string{`stream is "recorded:"`}},
		{func(p *Plan) { p.Stream = StreamRecorded + "x" }, []string{`stream_sha256 is ""`, "64 lower-case"}},
		{func(p *Plan) { p.Stream, p.StreamSHA256 = StreamMixed, sum(nil) }, []string{"stream_sha256", `none for stream "mixed"`}},
		{func(p *Plan) { p.FullRows = -1 }, []string{"full_rows is -1"}},
		{func(p *Plan) { p.HTTPWorkers = 0 }, []string{"http_workers is 0", "1 to 1024"}},
		{func(p *Plan) { p.HTTPWorkers = 1025 }, []string{"http_workers is 1025"}},
		{func(p *Plan) { p.Consumer = "eat" }, []string{`consumer is "eat"`}},
		{func(p *Plan) { p.Pace = "slow" }, []string{`pace is "slow"`}},
		{func(p *Plan) { p.Process = "trial" }, []string{`process is "trial"`}},
		{func(p *Plan) { p.TimeoutMS = 0 }, []string{"timeout_ms is 0"}},
		{func(p *Plan) { p.StartTimeoutMS = MaxTimeoutMS + 1 }, []string{"start_timeout_ms"}},
		{func(p *Plan) { p.First = p.First[1:] }, []string{"first is", "9 arms", "want 10"}},
		{func(p *Plan) { p.First[3] = "" }, []string{`first[3] is ""`}},
		{func(p *Plan) { p.RowsPerRun = 0 }, []string{"rows_per_run is 0"}},
		{func(p *Plan) { p.RowsPerRun++ }, []string{"rows_per_run", "multiple of 40"}},
		{func(p *Plan) { p.FencePerRun = p.Len() - 1 }, []string{"fence_rows_per_run is 159"}},
	} {
		p := examplePlan()
		c.change(&p)
		wantError(t, p.Validate(), c.says...)
	}
}

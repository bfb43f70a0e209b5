package results

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Limits of a plan. MaxTrials and MaxRaw keep a run readable in memory.
const (
	MaxRounds      = 1000
	MaxRepetitions = 1000
	MaxCount       = 100_000
	MaxHTTPWorkers = 1024
	MaxTimeoutMS   = 24 * 60 * 60 * 1000
	MaxTrials      = 500_000
)

// Slot is the place of one trial in the plan's order.
type Slot struct {
	Round      int
	Repetition int
	Count      int
	Metadata   string
	Arm        string
	Position   int
}

func (s Slot) String() string {
	return fmt.Sprintf("round %d, repetition %d, count %d, metadata %s, arm %s, position %d",
		s.Round, s.Repetition, s.Count, s.Metadata, s.Arm, s.Position)
}

// Arms are the names of the plan's arms: reference, candidate and, where there
// is one, control.
func (p Plan) Arms() []string {
	if p.Control != nil {
		return []string{Reference, Candidate, Control}
	}
	return []string{Reference, Candidate}
}

// Order is the order of the arms in a round: the one that First names before the
// other, and the control where ControlAt puts it.
func (p Plan) Order(round int) []string {
	first := p.First[round+1]
	order := []string{first, other(first)}
	if p.Control != nil {
		order = slices.Insert(order, p.ControlAt[round+1], Control)
	}
	return order
}

// Trials is the order of the trials: rounds from -1; in a round the counts as
// listed, for each the metadata as listed, for each the repetitions, and in a
// repetition the arms as Order has them.
func (p Plan) Trials() iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for i := range p.Len() {
			if !yield(p.slot(i)) {
				return
			}
		}
	}
}

// Len is the number of trials of the plan, round -1 included.
func (p Plan) Len() int { return (p.Rounds + 1) * p.perRound() }

func (p Plan) perRound() int { return len(p.Counts) * len(p.Metadata) * p.passes() }

// passes is how often each cell is run in a round.
func (p Plan) passes() int { return p.Repetitions * len(p.Arms()) }

// slot is the place of trial i, 0 <= i < Len(), of a valid plan.
func (p Plan) slot(i int) Slot {
	round, i := i/p.perRound(), i%p.perRound()
	arms := len(p.Arms())
	position, i := i%arms, i/arms
	repetition, i := i%p.Repetitions, i/p.Repetitions
	metadata, i := i%len(p.Metadata), i/len(p.Metadata)
	return Slot{
		Round: round - 1, Repetition: repetition, Count: p.Counts[i],
		Metadata: p.Metadata[metadata], Arm: p.Order(round - 1)[position], Position: position,
	}
}

func other(arm string) string {
	if arm == Reference {
		return Candidate
	}
	return Reference
}

// WarmupRows is the number of stream rows (fences left out) of the warm-up
// streams: every fresh process of an arm runs each cell once before its first
// trial. rows_per_run holds each cell once for every round, repetition and arm.
func (p Plan) WarmupRows() int {
	once := p.RowsPerRun / ((p.Rounds + 1) * p.Repetitions)
	if p.Process != ProcessRun {
		return once * (p.Rounds + 1)
	}
	return once
}

// Validate checks every field. The error names the field, its value and what
// was wanted.
func (p Plan) Validate() error {
	for _, check := range []func() error{p.checkNames, p.checkStream, p.checkCells, p.checkRanges, p.checkOrder, p.checkRows, p.checkLayouts, p.checkControl, p.checkFamily, p.checkShard} {
		if err := check(); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	return nil
}

func (p Plan) checkNames() error {
	if p.Schema != Schema {
		return unwanted("schema", p.Schema, fmt.Sprint(Schema))
	}
	for _, f := range []struct {
		name, value string
		wanted      []string
	}{
		{"transport", p.Transport, transports},
		{"consumer", p.Consumer, consumers},
		{"process", p.Process, processes},
	} {
		if !slices.Contains(f.wanted, f.value) {
			return unwanted(f.name, f.value, "one of %q", f.wanted)
		}
	}
	if p.Consumers != "" && p.Consumers != protocol.ConsumersProcess {
		return unwanted("consumers", p.Consumers, "%q, or none for the controller's thread", protocol.ConsumersProcess)
	}
	if p.Loop != "" && p.Loop != protocol.LoopRouter {
		return unwanted("loop", p.Loop, "%q, or none for the fanout's", protocol.LoopRouter)
	}
	if _, err := protocol.ParsePace(p.Pace); err != nil {
		return unwanted("pace", p.Pace, "one of %q, or rate:R with R batches a second, %g to %g", paces, protocol.MinRate, protocol.MaxRate)
	}
	for _, f := range []struct {
		name, value string
		longest     int
	}{
		{"tool_version", p.ToolVersion, 200},
		{"stream", p.Stream, 4096},
		{"reference.spec", p.Reference.Spec, 4096},
		{"candidate.spec", p.Candidate.Spec, 4096},
	} {
		if f.value == "" || len(f.value) > f.longest || !utf8.ValidString(f.value) {
			return unwanted(f.name, f.value, "1 to %d bytes of UTF-8", f.longest)
		}
	}
	return nil
}

// checkStream: a recorded stream has the hash of what was read, others have none.
func (p Plan) checkStream() error {
	dir, recorded := strings.CutPrefix(p.Stream, StreamRecorded)
	switch {
	case recorded && dir != "":
		return checkHash("stream_sha256", p.StreamSHA256)
	case p.Stream != StreamSeed && p.Stream != StreamMixed:
		return unwanted("stream", p.Stream, "%q, %q or %sDIR", StreamSeed, StreamMixed, StreamRecorded)
	case p.StreamSHA256 != "":
		return unwanted("stream_sha256", p.StreamSHA256, "none for stream %q", p.Stream)
	}
	return nil
}

func (p Plan) checkCells() error {
	if len(p.Counts) == 0 {
		return unwanted("counts", p.Counts, "at least one")
	}
	seen := map[int]bool{}
	for i, c := range p.Counts {
		if c < 1 || c > MaxCount {
			return unwanted(fmt.Sprintf("counts[%d]", i), c, "1 to %d", MaxCount)
		}
		if seen[c] {
			return unwanted(fmt.Sprintf("counts[%d]", i), c, "each count once")
		}
		seen[c] = true
	}
	if len(p.Metadata) == 0 {
		return unwanted("metadata", p.Metadata, "at least one of %q", metadataKinds)
	}
	for i, m := range p.Metadata {
		if !slices.Contains(metadataKinds, m) || slices.Contains(p.Metadata[:i], m) {
			return unwanted(fmt.Sprintf("metadata[%d]", i), m, "each of %q at most once", metadataKinds)
		}
	}
	return nil
}

func (p Plan) checkRanges() error {
	for _, f := range []struct {
		name       string
		value, top int
	}{
		{"rounds", p.Rounds, MaxRounds},
		{"repetitions", p.Repetitions, MaxRepetitions},
		{"http_workers", p.HTTPWorkers, MaxHTTPWorkers},
		{"timeout_ms", p.TimeoutMS, MaxTimeoutMS},
		{"start_timeout_ms", p.StartTimeoutMS, MaxTimeoutMS},
	} {
		if f.value < 1 || f.value > f.top {
			return unwanted(f.name, f.value, "1 to %d", f.top)
		}
	}
	// Counts are bounded by their own number here, so that the product of four
	// factors cannot overflow.
	if len(p.Counts) > MaxTrials || p.Len() > MaxTrials {
		return fmt.Errorf("rounds %d, repetitions %d, %d counts and %d metadata make %d trials, want at most %d",
			p.Rounds, p.Repetitions, len(p.Counts), len(p.Metadata), p.Len(), MaxTrials)
	}
	return nil
}

func (p Plan) checkOrder() error {
	if len(p.First) != p.Rounds+1 {
		return unwanted("first", fmt.Sprintf("%d arms", len(p.First)), "%d, one for round -1 and each of %d rounds", p.Rounds+1, p.Rounds)
	}
	for i, arm := range p.First {
		if arm != Reference && arm != Candidate {
			return unwanted(fmt.Sprintf("first[%d]", i), arm, "%q or %q", Reference, Candidate)
		}
	}
	return nil
}

func (p Plan) checkRows() error {
	passes := (p.Rounds + 1) * p.passes()
	if p.RowsPerRun < p.Len() || p.RowsPerRun%passes != 0 {
		return unwanted("rows_per_run", p.RowsPerRun, "at least %d and a multiple of %d (round -1 and %d rounds, %d repetitions, %d arms)",
			p.Len(), passes, p.Rounds, p.Repetitions, len(p.Arms()))
	}
	if p.FullRows < 0 {
		return unwanted("full_rows", p.FullRows, "0 or more")
	}
	if p.FencePerRun < p.Len() {
		return unwanted("fence_rows_per_run", p.FencePerRun, "at least %d, one for each trial", p.Len())
	}
	return nil
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/controller"
	"github.com/fanoutbench/fanoutbench/cmd/internal/oracle"
	"github.com/fanoutbench/fanoutbench/cmd/internal/plan"
	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/results"
)

// recording reads the folder of --stream recorded:DIR, nil for other streams. A
// recording is one cell: its counts, metadata and consumers are its own, and
// flags that ask for others are mistakes.
func (f *runFlags) recording() (*stream.Recording, error) {
	dir, recorded := strings.CutPrefix(f.stream, results.StreamRecorded)
	if !recorded {
		return nil, nil
	}
	rec, err := controller.ReadRecording(dir)
	if err != nil {
		return nil, err
	}
	cell := rec.Cell()
	if f.given("counts") && !slices.Equal(f.counts, []int{cell.Count}) {
		return nil, fmt.Errorf("counts %v, the first batch of %s has %d rows; leave --counts out", f.counts, dir, cell.Count)
	}
	if f.given("metadata") && !slices.Equal(f.metadata, []string{cell.Metadata}) {
		return nil, fmt.Errorf("metadata %v, that of %s is %s; leave --metadata out", f.metadata, dir, cell.Metadata)
	}
	f.counts, f.metadata = []int{cell.Count}, []string{cell.Metadata}
	if !f.given("http-workers") {
		f.workers = rec.Consumers()
	}
	return rec, nil
}

// again is a plan that there is already, with what follows from its seed drawn
// anew. A recorded stream must be the one that the plan was made for.
func again(p results.Plan, rec *stream.Recording) (results.Plan, stream.Source, error) {
	if rec != nil && rec.SHA256 != p.StreamSHA256 {
		return p, stream.Source{}, fmt.Errorf("%s has sha256 %s, want %s, that of the plan", p.Stream, rec.SHA256, p.StreamSHA256)
	}
	return settled(p, rec)
}

// settled fills a plan in and checks that it can be run to its end: that its
// last stream can be made, and what the oracle says of a stream from outside.
func settled(p results.Plan, rec *stream.Recording) (results.Plan, stream.Source, error) {
	source, err := stream.NewSource(p.Stream, p.Seed, p.HTTPWorkers, rec)
	if err != nil {
		return p, source, err
	}
	if p, err = plan.New(p, source); err != nil {
		return p, source, err
	}
	if err := p.Validate(); err != nil {
		return p, source, err
	}
	cells := plan.Cells(p)
	if err := source.Check(plan.ProfilePlace(p, cells[len(cells)-1])); err != nil {
		return p, source, err
	}
	if rec == nil {
		return p, source, nil
	}
	w, err := source.Work(plan.Place(p, -1, stream.WarmupRepetition, cells[0]))
	if err == nil {
		_, err = oracle.New(w, p.HTTPWorkers)
	}
	if err != nil {
		return p, source, fmt.Errorf("%s: %w", p.Stream, err)
	}
	return p, source, nil
}

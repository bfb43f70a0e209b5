// Package plan decides everything about a run before its first trial: cells,
// rounds, repetitions, the coin of each round and the place of each stream. A
// plan is a pure function of its settings and its seed.
package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// coinStream separates the coins' random numbers from others of the same seed.
const coinStream = 0xc0135

// placeStream is that of the control's places.
const placeStream = 0x97ace

// fencePerPair is how many fence rows each way from a detokenizer to a consumer
// gets.
const fencePerPair = stream.Steps

// Routings are how each arm's detokenizers share the rows, by its options.
func Routings(p results.Plan) (map[string]protocol.Routing, error) {
	routings := map[string]protocol.Routing{}
	for _, name := range p.Arms() {
		r, err := protocol.ParseRouting(p.Of(name).Options)
		if err != nil {
			return nil, fmt.Errorf("plan: %s: %w", name, err)
		}
		routings[name] = r
	}
	return routings, nil
}

// FencePaths is how wide the fence of both arms is.
func FencePaths(p results.Plan) (stream.Paths, error) {
	r, err := Routings(p)
	return stream.FencePaths(r[results.Reference], r[results.Candidate]), err
}

// New fills in what follows from the settings already in p and from the source
// of its streams: the order of the arms in each round, by one fair coin a round
// and, with a control, one of three places for it, so that each of the six orders
// is as likely; and the numbers of rows. It fails on options of the arms that say nothing of how
// wide a fence they need.
func New(p results.Plan, source stream.Source) (results.Plan, error) {
	paths, err := FencePaths(p)
	if err != nil {
		return p, err
	}
	p.Schema = results.Schema
	coins := rand.New(rand.NewPCG(p.Seed, coinStream))
	p.First = make([]string, max(0, p.Rounds+1))
	for i := range p.First {
		p.First[i] = results.Reference
		if coins.Uint64()>>63 == 1 {
			p.First[i] = results.Candidate
		}
	}
	p.Reference.Layout = drawn(p, p.Reference.Layouts, layoutStreams[0])
	p.Candidate.Layout = drawn(p, p.Candidate.Layouts, layoutStreams[1])
	if p.Control != nil {
		control := p.Reference
		control.Layout = drawn(p, p.Reference.Layouts, layoutStreams[2])
		p.Control, p.ControlAt = &control, controlPlaces(p)
	}
	rows := 0
	for _, c := range Cells(p) {
		rows += source.Rows(c)
	}
	streams := (p.Rounds + 1) * p.Repetitions * len(p.Arms())
	p.RowsPerRun = rows * streams
	p.FullRows = len(p.Arms()) * stream.FullRows(p.HTTPWorkers)
	p.FencePerRun = len(p.Counts) * len(p.Metadata) * fencePerPair * p.HTTPWorkers * paths.Rows * streams
	return p, nil
}

// controlPlaces are drawn from numbers of their own, so that a run with a control
// has the coins that it would have without.
func controlPlaces(p results.Plan) []int {
	rng := rand.New(rand.NewPCG(p.Seed, placeStream))
	places := make([]int, max(0, p.Rounds+1))
	for i := range places {
		places[i] = rng.IntN(3)
	}
	return places
}

// Cells lists the cells in the order of the trials of a round.
func Cells(p results.Plan) []protocol.Cell {
	var cells []protocol.Cell
	for _, c := range p.Counts {
		for _, m := range p.Metadata {
			cells = append(cells, protocol.Cell{Count: c, Metadata: m})
		}
	}
	return cells
}

// Place is where a stream stands in the run. Both arms' trials of a repetition
// share it, and nothing else does. The repetition of a warm-up is
// stream.WarmupRepetition. A place that the plan does not have has an ordinal
// that stream.Seed refuses.
func Place(p results.Plan, round, repetition int, cell protocol.Cell) stream.Place {
	place := stream.Place{Round: round, Repetition: repetition, Cell: cell, Ordinal: nowhere}
	cells := Cells(p)
	index := slices.Index(cells, cell)
	inside := -1 <= round && round < p.Rounds && stream.WarmupRepetition <= repetition && repetition < p.Repetitions
	if index >= 0 && inside {
		place.Ordinal = uint32(((round+1)*(p.Repetitions+1)+repetition+1)*len(cells) + index)
	}
	return place
}

// ProfilePlace is where a stream stands that is played after the last round, for a
// profile: its ordinal is behind all of the plan's.
func ProfilePlace(p results.Plan, cell protocol.Cell) stream.Place {
	place := stream.Place{Round: p.Rounds, Cell: cell, Ordinal: nowhere}
	cells := Cells(p)
	if index := slices.Index(cells, cell); index >= 0 {
		place.Ordinal = uint32((p.Rounds+1)*(p.Repetitions+1)*len(cells) + index)
	}
	return place
}

// nowhere is the ordinal of a place that the plan does not have.
const nowhere = math.MaxUint32

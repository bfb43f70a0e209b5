// Package plan decides everything about a run before its first trial: cells,
// rounds, repetitions, the coin of each round and the place of each stream. A
// plan is a pure function of its settings and its seed.
package plan

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/stream"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// coinStream separates the coins' random numbers from others of the same seed.
const coinStream = 0xc0135

// fencePerPair is how many fence rows each consumer gets.
const fencePerPair = stream.Steps

// New fills in what follows from the settings already in p: the order of the
// arms in each round, by one fair coin a round, and the numbers of rows.
func New(p results.Plan) results.Plan {
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
	rows := 0
	for _, c := range p.Counts {
		rows += c * len(p.Metadata)
	}
	streams := (p.Rounds + 1) * p.Repetitions * 2
	p.RowsPerRun = rows * stream.Steps * streams
	p.FencePerRun = len(p.Counts) * len(p.Metadata) * fencePerPair * p.HTTPWorkers * streams
	return p
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

// nowhere is the ordinal of a place that the plan does not have.
const nowhere = math.MaxUint32

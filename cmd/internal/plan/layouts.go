package plan

import (
	"math"
	"math/rand/v2"

	"github.com/fanoutbench/fanoutbench/results"
)

// Each arm draws its layouts by itself, or a lucky one of the same program would
// be on both sides in the same rounds; the seeds of the pool are one list, so
// that two arms of one program have the same pool.
var layoutStreams = [3]uint64{0x1a7001, 0x1a7002, 0x1a7003}

const layoutSeedStream = 0x5eed1a

// drawn is the index of an arm's executable for each round from -1, none without
// a pool.
func drawn(p results.Plan, pool int, stream uint64) []int {
	if pool < 1 || pool > results.MaxLayouts {
		return nil // none, or one that Validate refuses
	}
	rng := rand.New(rand.NewPCG(p.Seed, stream))
	out := make([]int, max(0, p.Rounds+1))
	for i := range out {
		out[i] = rng.IntN(pool)
	}
	return out
}

// LayoutSeeds are the linker's seeds of a pool, from 1 on: 0 stands for no seed.
func LayoutSeeds(p results.Plan, pool int) []int64 {
	rng := rand.New(rand.NewPCG(p.Seed, layoutSeedStream))
	seeds := make([]int64, pool)
	for i := range seeds {
		seeds[i] = 1 + rng.Int64N(math.MaxInt32)
	}
	return seeds
}

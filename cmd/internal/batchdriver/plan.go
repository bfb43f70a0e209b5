package batchdriver

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Streams of random numbers that are drawn from the seed.
const (
	drawCoins = 1 + iota
	drawSchedules
)

// plan decides everything; the schedules are those of its open loops by round and
// cell.
func plan(conf *Config, r *requests, rps, tolerance float64) (batchrun.Plan, map[[2]int]load.Schedule, error) {
	l := conf.Load
	sum, err := r.sha256()
	if err != nil {
		return batchrun.Plan{}, nil, err
	}
	p := batchrun.Plan{
		Schema: batchrun.Schema, ToolVersion: conf.ToolVersion, Seed: conf.Seed, Rounds: conf.Rounds, Warmup: conf.Warmup,
		Reference: asked(conf.Arms[batchrun.Reference]), Candidate: asked(conf.Arms[batchrun.Candidate]),
		Cells: l.cells(rps), API: l.API, QueryTokens: l.QueryTokens, ItemTokens: l.ItemTokens, UniqueRequests: r.unique(), Labels: r.labels,
		Cold: l.Cold, SharedPrefix: l.SharedPrefix, RequestsSHA256: sum, TimeoutMS: float64(conf.Timeout) / float64(time.Millisecond),
		ScoreTolerance: tolerance, MaxFailedPct: conf.MaxFailedPct,
	}
	if l.Dataset != nil {
		p.QueryTokens, p.ItemTokens, p.DatasetSHA256 = 0, 0, l.Dataset.SHA256
	}
	if l.Tokenizer != nil {
		p.TokenizerSHA256 = l.Tokenizer.SHA256
	}
	if conf.Shards > 0 {
		p.Shard, p.Shards = &conf.Shard, conf.Shards
	}
	coins := rand.New(rand.NewPCG(conf.Seed, drawCoins))
	for range p.Rounds {
		p.First = append(p.First, arms[coins.IntN(2)])
	}
	if conf.Primary == nil {
		p.Primary = batchrun.DefaultPrimary(p.Cells, conf.Arms[batchrun.Reference].Ours() && conf.Arms[batchrun.Candidate].Ours())
	}
	for cell := range p.Cells {
		for _, metric := range conf.Primary {
			p.Primary = append(p.Primary, batchrun.Primary{Cell: cell, Metric: metric, Role: results.RoleSuperiority})
		}
	}
	if len(p.Primary) > 0 {
		p.MarginPct = conf.MarginPct
	}
	schedules, err := schedulesOf(conf, &p)
	if err != nil {
		return p, nil, err
	}
	return p, schedules, p.Validate()
}

// asked is an arm as the plan has it. How items are sent is an option too: it is
// what the arms differ by.
func asked(a servearm.Arm) batchrun.PlanArm {
	return batchrun.PlanArm{Spec: a.Spec, Options: inForce(a)}
}

func inForce(a servearm.Arm) map[string]string {
	options := map[string]string{}
	for k, v := range a.Options {
		options[k] = v
	}
	if a.Ours() {
		options["mode"] = a.Mode
	}
	return options
}

// schedulesOf draws the schedules of a plan, or replays those that were given, and adds
// them to it.
func schedulesOf(conf *Config, p *batchrun.Plan) (map[[2]int]load.Schedule, error) {
	schedules := map[[2]int]load.Schedule{}
	seeds := ScheduleSeeds(p.Seed, p.Rounds*len(p.Cells)) // as many as there can be
	for round := range p.Rounds {
		for cell, c := range p.Cells {
			if !c.Open() {
				continue
			}
			spec := load.Spec{Seed: seeds[len(p.Schedules)], Distribution: c.Kind, RPS: c.RPS, Seconds: c.Seconds, Unique: p.UniqueRequests, Shard: conf.Shard, Shards: max(1, conf.Shards)}
			s, err := scheduleOf(conf.Load.Schedules, round, spec)
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
			schedules[[2]int{round, cell}] = s
			p.Schedules = append(p.Schedules, batchrun.ScheduleRef{Round: round, Cell: cell, Seed: s.Seed, Requests: len(s.At), SHA256: s.SHA256()})
		}
	}
	return schedules, nil
}

// scheduleOf is a round's, which is of the spec but for the seed where it is replayed.
func scheduleOf(replayed []load.Schedule, round int, spec load.Spec) (load.Schedule, error) {
	if len(replayed) == 0 {
		return load.NewSchedule(spec)
	}
	s := replayed[min(round, len(replayed)-1)]
	spec.Seed = s.Seed
	if differs := s.Differs(spec); differs != "" {
		return s, fmt.Errorf("the schedule to replay: %s", differs)
	}
	return s, nil
}

// ScheduleSeeds are the first n seeds of schedules that a run's seed gives, in the
// order of rounds and, in a round, of open loops.
func ScheduleSeeds(seed uint64, n int) []uint64 {
	random := rand.New(rand.NewPCG(seed, drawSchedules))
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = random.Uint64() >> 11 // 53 bits: exact in every JSON reader
	}
	return seeds
}

// writeSchedules puts the schedules where the plan says they are.
func writeSchedules(dir string, schedules map[[2]int]load.Schedule) error {
	for at, s := range schedules {
		if err := s.WriteFile(filepath.Join(dir, filepath.FromSlash(batchrun.ScheduleName(at[0], at[1])))); err != nil {
			return err
		}
	}
	return nil
}

// records is how many items and prefill batches a server has to remember: those of
// the largest trial, twice, as a batch may hold one item.
func records(p batchrun.Plan) int {
	most := 0
	for round := range p.Rounds {
		for cell, c := range p.Cells {
			most = max(most, p.RequestsOf(round, cell)*c.Items)
		}
	}
	return 2 * most
}

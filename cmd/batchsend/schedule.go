package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// replay takes the schedules of --schedule in place of drawn ones. What they are of,
// the load is of; a flag that says otherwise names the file.
func (f *runFlags) replay(conf *batchdriver.Config) error {
	if f.schedule == "" {
		return nil
	}
	files, err := scheduleFiles(f.schedule)
	if err != nil {
		return err
	}
	if len(files) > 1 {
		if f.given("rounds") && f.rounds != len(files) {
			return fmt.Errorf("--rounds is %d, and --schedule %s has %d schedules, one for each round: want --rounds %d, none, or a single schedule for all", f.rounds, f.schedule, len(files), len(files))
		}
		conf.Rounds = len(files)
	}
	for _, file := range files {
		s, err := load.ReadSchedule(file)
		if err != nil {
			return err
		}
		conf.Load.Schedules = append(conf.Load.Schedules, s)
	}
	if !f.given("seed") {
		f.seed = conf.Load.Schedules[0].Seed // of the coins
		conf.Seed = f.seed
	}
	return f.asSaid(conf, files)
}

// scheduleFiles are the file itself, or those of a folder by their rounds.
func scheduleFiles(path string) ([]string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--schedule: %w", err)
	}
	if !st.IsDir() {
		return []string{path}, nil
	}
	if inner := filepath.Join(path, batchrun.ScheduleFolder); isFolder(inner) {
		path = inner
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("--schedule: %w", err)
	}
	files := make([]string, len(entries))
	cell := -1
	for _, e := range entries {
		round, of := -1, -1
		if _, err := fmt.Sscanf(e.Name(), "round-%d-cell-%d.json", &round, &of); err != nil || filepath.Base(batchrun.ScheduleName(round, of)) != e.Name() || round >= len(files) {
			return nil, fmt.Errorf("--schedule %s: %s is no schedule of %d rounds, want round-R-cell-C.json of each round from 0 on", path, e.Name(), len(files))
		}
		if cell >= 0 && of != cell {
			return nil, fmt.Errorf("--schedule %s: %s is of another cell than %d, want those of one open loop", path, e.Name(), cell)
		}
		cell, files[round] = of, filepath.Join(path, e.Name())
	}
	if i := slices.Index(files, ""); i >= 0 || len(files) == 0 {
		return nil, fmt.Errorf("--schedule %s: no schedule of round %d", path, max(i, 0))
	}
	return files, nil
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// asSaid wants each schedule to be what the flags that were given say, and all to be
// of one load, and makes that the run's.
func (f *runFlags) asSaid(conf *batchdriver.Config, files []string) error {
	l := &conf.Load
	want := l.Schedules[0].Spec
	if f.given("rps") {
		want.RPS = f.rps
	}
	if f.given("duration") {
		want.Seconds = f.duration.Seconds()
	}
	if f.given("distribution") {
		want.Distribution = f.distribution
	}
	if f.given("unique-requests") {
		want.Unique = f.unique
	}
	if l.Dataset != nil {
		want.Unique = len(l.Dataset.Prompts)
	}
	want.Shard, want.Shards = f.shardAt, max(1, f.shards)
	if f.given("seed") && len(files) == 1 && conf.Rounds > 1 {
		return fmt.Errorf("--schedule %s: one schedule is not what --seed %d draws for %d rounds, want --rounds 1, a folder, or no --seed", files[0], f.seed, conf.Rounds)
	}
	seeds := batchdriver.ScheduleSeeds(f.seed, conf.Rounds)
	for i, s := range l.Schedules {
		want.Seed = s.Seed
		if f.given("seed") && s.Seed != seeds[i] {
			return fmt.Errorf("--seed %d draws another schedule for round %d than --schedule %s, which is of seed %d and not of %d; want the --seed of its run, or none", f.seed, i, files[i], s.Seed, seeds[i])
		}
		if differs := s.Differs(want); differs != "" {
			return fmt.Errorf("--schedule %s: %s, as the flags say or the first schedule has it", files[i], differs)
		}
	}
	l.RPS, l.Distribution, l.Unique = want.RPS, want.Distribution, want.Unique
	l.Duration = time.Duration(want.Seconds * float64(time.Second))
	return nil
}

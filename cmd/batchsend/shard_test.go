package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// shardsOf runs all shards of a load at once.
func shardsOf(t *testing.T, n int, args ...string) (dirs []string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range n {
		p := measure(t, append(args, "--shard", fmt.Sprintf("%d/%d", i, n))...)
		at := slices.Index(p.args, "--single-requests")
		p.args = slices.Delete(p.args, at, at+2)
		dirs = append(dirs, p.output)
		all.Go(func() { p.run(exitOK) })
	}
	all.Wait()
	return dirs
}

// Two senders load one server: no request has the name of another's, and together
// they are the load of the whole rate.
func TestShardsOfOneServer(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	var mu sync.Mutex
	f := &fake{name: func(rid string) {
		mu.Lock()
		defer mu.Unlock()
		if seen[rid] {
			t.Errorf("two requests are called %q", rid)
		}
		seen[rid] = true
	}}
	url := f.serve(t)
	start := time.Now().Add(6 * time.Second).UTC().Truncate(time.Second)
	dirs := shardsOf(t, 2, "--reference", url, "--candidate", url, "--score-tolerance", "0", "--rounds", "2", "--rps", "60", "--duration", "1s", "--start-at", start.Format(time.RFC3339))
	output := filepath.Join(t.TempDir(), "merged")
	// Whether a busy machine let both begin in time is not looked at.
	p := command(t, append([]string{"merge", "--output", output}, dirs...)...).run(exitOK, exitInvalid).says("one clock, of one machine", "0 of 2, verified")
	p.output = output
	run := p.folder()
	for _, s := range run.Plan.Schedules {
		want, err := load.NewSchedule(load.Spec{Seed: s.Seed, Distribution: load.Poisson, RPS: 60, Seconds: 1, Unique: 1, Shard: *s.Shard, Shards: 2})
		if err != nil {
			t.Fatal(err)
		}
		if s.SHA256 != want.SHA256() {
			t.Errorf("%s is not what seed %d gives shard %d", s.Name(), s.Seed, *s.Shard)
		}
	}
	for i, trial := range run.Trials {
		shards := []int{0, 0}
		for _, r := range run.Requests[i] {
			shards[*r.Shard]++
		}
		if shards[0] == 0 || shards[1] == 0 || shards[0]+shards[1] != trial.Requests {
			t.Errorf("%s: %v of %d requests by shard", trial.Slot(), shards, trial.Requests)
		}
		for _, part := range trial.Parts {
			if part.StartedAt.Before(start) {
				t.Errorf("%s: shard %d began at %v, before %v", trial.Slot(), part.Shard, part.StartedAt, start)
			}
		}
	}
	if c := run.Result.Clocks; !c.Same || c.OffsetMS == nil || *c.OffsetMS != 0 {
		t.Errorf("clocks %+v", c)
	}
	command(t, append([]string{"verify", output}, dirs...)...).run(exitOK, exitInvalid).says("ok   shards", "ok   shard "+dirs[1], "ok   clocks", "ok   figures", "ok   hist")
	for _, format := range []string{"text", "markdown", "csv", "json", "html"} {
		command(t, "report", output, "--format", format).run(exitOK, exitInvalid)
	}
	command(t, "merge", "--output", output, dirs[0]).run(exitUsage).says("exists")
	command(t, "merge", "--output", filepath.Join(t.TempDir(), "x"), dirs[0]).run(exitInvalid).says("of 2 shards 1 are missing: 1")
}

// Shards with servers of their own are independent systems, and the run says so.
func TestShardsOfTheirOwnServers(t *testing.T) {
	t.Parallel()
	dirs := shardsOf(t, 2, "--rps", "40", "--duration", "500ms")
	output := filepath.Join(t.TempDir(), "merged")
	p := command(t, "merge", "--output", output, dirs[1], dirs[0]).run(exitOK).says("2 independent systems")
	p.output = output
	f := p.folder()
	if f.Result.Verdict.Status != results.StatusVerified || f.Plan.Shards != 2 || len(f.Plan.Parts) != 2 || f.Trials[0].Evidence != batchrun.EvidenceAdmissions {
		t.Errorf("verdict %+v, plan %+v", f.Result.Verdict, f.Plan)
	}
	for i, s := range f.Result.Shards {
		if line := strings.Join(s.Repeat, " "); !strings.Contains(line, fmt.Sprintf("--shard=%d/2", i)) || strings.Contains(line, "--start-at") {
			t.Errorf("shard %d is repeated by %q", i, line)
		}
	}
	command(t, "verify", output).run(exitOK).says("ok   shards: 2 runs named by their hashes")
	command(t, "verify", output, dirs[0]).run(exitInvalid).says("FAIL shards")
	command(t, "gate", output).run(exitOK).says("inconclusive")
}

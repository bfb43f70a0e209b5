package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// replaying is a run without a rate, a seed and a duration of its own.
func replaying(t *testing.T, args ...string) *program {
	t.Helper()
	p := measure(t, args...)
	for _, flag := range []string{"--rps", "--seed", "--duration", "--rounds"} {
		if at := slices.Index(p.args, flag); at < len(tiny) {
			p.args = slices.Delete(p.args, at, at+2)
		}
	}
	return p
}

// The schedules of a run are replayed from its folder: the same files, and the command
// that repeats that run makes them again.
func TestReplay(t *testing.T) {
	t.Parallel()
	first := measure(t, "--rounds", "2", "--single-requests", "0").run(exitOK).folder()
	p := replaying(t, "--single-requests", "0", "--schedule", first.Dir).run(exitOK)
	again := p.folder()
	if len(again.Plan.Schedules) != 2 || !slices.Equal(again.Plan.Schedules, first.Plan.Schedules) || again.Plan.Cells[0] != first.Plan.Cells[0] {
		t.Errorf("schedules %+v of %+v, want %+v of %+v", again.Plan.Schedules, again.Plan.Cells, first.Plan.Schedules, first.Plan.Cells)
	}
	command(t, "verify", again.Dir).run(exitOK)
	repeat := command(t, append(again.Result.Repeat[1:], "--output", filepath.Join(t.TempDir(), "run"))...)
	for i, w := range repeat.args { // folders of this machine stand by their names
		repeat.args[i] = strings.Replace(w, "$TMP", os.TempDir(), 1)
	}
	repeat.output = repeat.args[len(repeat.args)-1]
	if got := repeat.run(exitOK).folder(); got.PlanSHA256 != again.PlanSHA256 {
		t.Errorf("%q has another plan", repeat.args)
	}
	// One file stands for every round; with the first run's seed it is what that draws.
	one := filepath.Join(first.Dir, filepath.FromSlash(batchrun.ScheduleName(1, 0)))
	f := replaying(t, "--single-requests", "0", "--schedule", one, "--rounds", "3").run(exitOK).folder()
	for _, s := range f.Plan.Schedules {
		if s.SHA256 != first.Plan.Schedules[1].SHA256 {
			t.Errorf("round %d has another schedule", s.Round)
		}
	}
	replaying(t, "--single-requests", "0", "--schedule", filepath.Join(first.Dir, "schedules"), "--seed", "7", "--rps", "20", "--duration", "400ms").run(exitOK)
}

// A schedule that is not what the flags say is refused by its file and by what differs.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	first := measure(t, "--rounds", "2", "--single-requests", "0").run(exitOK).folder()
	name := filepath.Join(first.Dir, filepath.FromSlash(batchrun.ScheduleName(0, 0)))
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	altered := filepath.Join(t.TempDir(), "altered.json")
	if err := os.WriteFile(altered, []byte(strings.Replace(string(text), `"seed":`, `"seed":1`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	stray := filepath.Join(t.TempDir(), "stray")
	if err := os.CopyFS(stray, os.DirFS(filepath.Join(first.Dir, "schedules"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stray, "round-2-cell-1.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--seed 8 draws another schedule for round 0":   {"--schedule", name, "--seed", "8", "--rounds", "1"},
		"round-0-cell-0.json: its rate is 20, want 30":  {"--schedule", name, "--rps", "30"},
		"its duration is 0.4, want 2":                   {"--schedule", name, "--duration", "2s"},
		"its distribution is poisson, want constant":    {"--schedule", name, "--distribution", "constant"},
		"its number of different requests is 1, want 4": {"--schedule", name, "--unique-requests", "4"},
		"altered.json":                                         {"--schedule", altered},
		"is of another cell than 0":                            {"--schedule", stray},
		"--rounds is 3, and --schedule ":                       {"--schedule", first.Dir, "--rounds", "3"},
		"one schedule is not what --seed 7 draws for 3 rounds": {"--schedule", name, "--seed", "7", "--rounds", "3"},
		"no schedule of round 0":                               {"--schedule", t.TempDir()},
		"is no schedule of 2 rounds":                           {"--schedule", filepath.Join(first.Dir, "logs")},
	} {
		replaying(t, args...).run(exitUsage).says(want)
	}
}

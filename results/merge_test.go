package results

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// shardRuns writes the runs of a campaign, each with trials of its own, and
// returns their folders. change makes one of them another.
func shardRuns(t testing.TB, p Plan, n int, change func(i int, p *Plan, out *Outcome)) []string {
	t.Helper()
	base := t.TempDir()
	var dirs []string
	for i, seed := range ShardSeeds(11, n) {
		shard := p
		shard.CampaignSHA256, shard.Shard, shard.Shards, shard.Seed = sum([]byte("campaign")), &i, n, seed
		out := familyOutcome(shard, shard.Rounds)
		if change != nil {
			change(i, &shard, &out)
		}
		dir := filepath.Join(base, "host"+strconv.Itoa(i%2), "shard-"+strconv.Itoa(i))
		r, err := Create(dir, shard)
		if err != nil {
			t.Fatal(err)
		}
		for k, trial := range trialsOf(shard, rand.New(rand.NewPCG(seed, 1))) {
			trial.WorkSHA256 = sum([]byte(strconv.Itoa(i) + "/" + strconv.Itoa(k)))
			if err := r.Append(trial); err != nil {
				t.Fatal(err)
			}
			if settled, err := r.Settled(); err != nil {
				t.Fatal(err)
			} else if settled {
				cut := familyOutcome(shard, trial.Round+1)
				out.VerifiedRows, out.FenceRows, out.WarmupRows = cut.VerifiedRows, cut.FenceRows, cut.WarmupRows
				break
			}
		}
		if _, err := r.Finish(out); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

func TestMergeOfAFixedCampaign(t *testing.T) {
	dirs := shardRuns(t, withFamily(), 4, nil)
	m, err := Merge([]string{dirs[2], dirs[0], dirs[3], dirs[1]})
	if err != nil {
		t.Fatal(err)
	}
	if m.Decision != DecisionImproved || m.Rounds != 36 || !m.Sampled || m.Runs[3].Name != "host1/shard-3" || m.Control.Failed {
		t.Errorf("%+v; want improved over 36 rounds, in the order of the shards", m)
	}
	one, err := Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range m.Primary {
		h := m.Hosts[i]
		if *h.SlowdownPct[0] != *one.Result.Analysis.Primary[i].SlowdownPct || *h.P <= 0.001 || *h.RangePct < 0 || c.Lag1 != nil {
			t.Errorf("%s: hosts %+v, want shard 0's own estimate and no host effect", c.member(), h)
		}
	}
	var text bytes.Buffer
	if err := WriteMergedText(&text, m); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"merged     improved", "all 4 shards", "10000 flips of whole rounds, drawn", "host1/shard-3", "32 rich complete_ms"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, &text)
		}
	}
}

func TestMergeOfAnAnytimeCampaign(t *testing.T) {
	p := withFamily()
	p.Kind, p.Primary = KindAnytime, p.Primary[:1]
	m, err := Merge(shardRuns(t, p, 3, nil))
	if err != nil {
		t.Fatal(err)
	}
	// Each stops at round 8 with 2^8/9, and so has their mean.
	if c := m.Primary[0]; m.Rounds != 24 || m.Decision != DecisionImproved || *c.EValue != 28.4444 || c.P != nil || *c.UpperPct >= 0 {
		t.Errorf("%+v, cell %+v; want improved by the mean e-value 28.4444", m, c)
	}
}

// What must not be merged is refused, and what differs is named with its file.
func TestMergeRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(i int, p *Plan, out *Outcome)
		want   []string
	}{
		{"pace", func(_ int, p *Plan, _ *Outcome) { p.Pace = "none" }, []string{"host0/shard-0/plan.json", "host1/shard-1/plan.json", `pace is "arrived" and "none"`}},
		{"transport", func(_ int, p *Plan, _ *Outcome) { p.Transport = "native" }, []string{PlanFile, "transport"}},
		{"tool", func(_ int, p *Plan, _ *Outcome) { p.ToolVersion = "v9" }, []string{"tool_version", "v9"}},
		{"margin", func(_ int, p *Plan, _ *Outcome) { p.MarginPct = 7 }, []string{"margin_pct", "7"}},
		{"campaign", func(_ int, p *Plan, _ *Outcome) { p.CampaignSHA256 = sum([]byte("x")) }, []string{"campaign_sha256"}},
		{"shard", func(_ int, p *Plan, _ *Outcome) { p.Shard = ref(0) }, []string{"both shard 0"}},
		{"options", func(_ int, _ *Plan, out *Outcome) {
			a := out.Arms[Candidate]
			a.Options = map[string]string{"zmq": "zmq4"}
			out.Arms[Candidate] = a
		}, []string{ResultFile, "arms.candidate options"}},
		{"sources", func(_ int, _ *Plan, out *Outcome) {
			a := out.Arms[Reference]
			a.Sources = []Source{{Path: "cmd/fanoutbench/main.go", SHA256: sum([]byte("edited"))}}
			out.Arms[Reference] = a
			out.Arms[Control] = a
		}, []string{"arms.reference sources: cmd/fanoutbench/main.go has sha256"}},
	} {
		dirs := shardRuns(t, withFamily(), 3, func(i int, p *Plan, out *Outcome) {
			if i == 1 {
				c.change(i, p, out)
			}
		})
		_, err := Merge(dirs)
		if err == nil {
			t.Errorf("%s: no error", c.name)
			continue
		}
		wantError(t, err, c.want...)
	}
}

func TestMergeWantsEveryShardOnce(t *testing.T) {
	dirs := shardRuns(t, withFamily(), 4, nil)
	_, err := Merge(dirs[:1])
	wantError(t, err, "1 runs, want at least two")
	_, err = Merge([]string{dirs[0], dirs[1], dirs[3]})
	wantError(t, err, "of 4 shards of the campaign 1 are missing: 2")
	_, err = Merge([]string{dirs[0], dirs[1], dirs[1]})
	wantError(t, err, "given twice")
	twin := filepath.Join(t.TempDir(), "twin")
	if err := os.CopyFS(twin, os.DirFS(dirs[1])); err != nil {
		t.Fatal(err)
	}
	_, err = Merge([]string{dirs[0], dirs[1], dirs[2], twin})
	wantError(t, err, "are both shard 1")
	// raw.jsonl of another run
	overwrite(t, dirs[2], RawFile, content(t, dirs[3], RawFile))
	_, err = Merge(dirs)
	wantError(t, err, "shard-2", RawFile, "sha256")
}

// Runs without a campaign are told apart by their hashes and seeds.
func TestMergeWithoutCampaign(t *testing.T) {
	alone := func(same bool) []string {
		return shardRuns(t, withFamily(), 2, func(_ int, p *Plan, _ *Outcome) {
			p.CampaignSHA256, p.Shard, p.Shards = "", nil, 0
			if same {
				p.Seed = 5
			}
		})
	}
	if m, err := Merge(alone(false)); err != nil || m.Shards != 0 || len(m.Runs) != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	_, err := Merge(alone(true))
	wantError(t, err, "same plan.json")
	_, err = Merge([]string{exampleRun(t), exampleRun(t)})
	wantError(t, err, "no family")
}

func TestVerifyMerged(t *testing.T) {
	dirs := shardRuns(t, withFamily(), 2, nil)
	m, err := Merge(dirs)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(filepath.Dir(dirs[0]))
	dir := filepath.Join(base, "merged")
	if err := WriteMerged(dir, m); err != nil {
		t.Fatal(err)
	}
	verifies(t, dir)
	if err := WriteMerged(dir, m); err == nil {
		t.Error("a merged folder was written over")
	}
	if _, err := ReadMerged(dir); err != nil {
		t.Error(err)
	}

	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	failing(t, moved, VerifyOptions{}, "run host0/shard-0")
	if checks, err := Verify(moved, VerifyOptions{Runs: base}); err != nil || slicesHasFail(checks) {
		t.Errorf("%v, %+v", err, checks)
	}
	file := content(t, dir, MergedFile)
	for _, c := range []struct{ old, new, check string }{
		{`"decision": "improved"`, `"decision": "regressed"`, "merged figures"},
		{m.Runs[1].ResultSHA256, sum([]byte("x")), "run host1/shard-1"},
		{`"host1/shard-1"`, `"../shard-1"`, MergedFile},
		{`"schema": 1`, `"schema": 2`, MergedFile},
	} {
		overwrite(t, dir, MergedFile, strings.Replace(file, c.old, c.new, 1))
		failing(t, dir, VerifyOptions{}, c.check)
	}
}

func slicesHasFail(checks []Check) bool {
	for _, c := range checks {
		if !c.OK {
			return true
		}
	}
	return false
}

func failing(t *testing.T, dir string, opt VerifyOptions, name string) {
	t.Helper()
	checks, err := Verify(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if c.Name == name && !c.OK {
			return
		}
	}
	t.Errorf("%s holds, want it to fail: %+v", name, checks)
}

// Hundred runs of the default size of rounds; a benchmark, since time is not tested.
func BenchmarkMerge100(b *testing.B) {
	dirs := shardRuns(b, withFamily(), 100, nil)
	for b.Loop() {
		if _, err := Merge(dirs); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzMerged(f *testing.F) {
	m, err := Merge(shardRuns(f, withFamily(), 2, nil))
	if err != nil {
		f.Fatal(err)
	}
	good, err := encodeFile(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema": 1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMerged(b)
		if err != nil {
			return
		}
		again, err := encodeFile(m)
		if err != nil || !bytes.Equal(again, b) {
			t.Errorf("a merged file that was read is written otherwise: %v", err)
		}
	})
}

// Each way in which two runs can be one is found by itself.
func TestOnce(t *testing.T) {
	run := func(name string, shard *int, plan, raw string, seed uint64) member {
		return member{name: name, folder: &Folder{Plan: Plan{Shard: shard, Seed: seed}, PlanSHA256: plan, RawSHA256: raw}}
	}
	one := run("one", ref(0), "p", "r", 1)
	for want, other := range map[string]member{
		"are both shard 0":     run("two", ref(0), "q", "s", 2),
		"the same plan.json":   run("two", ref(1), "p", "s", 2),
		"the same raw.jsonl":   run("two", ref(1), "q", "r", 2),
		"the same seed 1, and": run("two", nil, "q", "s", 1),
	} {
		wantError(t, once([]member{one, other}), "one and two", want)
	}
	if err := once([]member{one, run("two", ref(1), "q", "s", 2)}); err != nil {
		t.Error(err)
	}
}

package batchrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// exampleShard is a whole run of one shard. change alters its plan, alter each trial,
// and say what is told of the machine.
type exampleShard struct {
	shard, shards int
	change        func(*Plan)
	alter         func(*Trial, []Request)
	say           func(*Outcome)
}

const exampleRounds = 3

func (e exampleShard) schedule(round int) []byte {
	s := schedule{Schema: scheduleSchema, Seed: uint64(round), Distribution: KindPoisson, RPS: 10, Seconds: 4, Unique: 5, Shard: e.shard, Shards: e.shards}
	rng := rand.New(rand.NewPCG(uint64(round), uint64(e.shard)))
	for at := 0.0; ; {
		if at += rng.ExpFloat64() * float64(e.shards) / 10; at >= 4 {
			break
		}
		s.At, s.Request = append(s.At, math.Round(at*1e9)/1e9), append(s.Request, (e.shard+len(s.At)*e.shards)%5)
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

func (e exampleShard) plan() Plan {
	p := examplePlan(exampleRounds)
	p.Cells, p.Schedules = p.Cells[2:], nil
	p.Primary = []Primary{{0, "avg_ms", results.RoleSuperiority}}
	p.Shard, p.Shards = &e.shard, e.shards
	for round := range p.Rounds {
		b := e.schedule(round)
		p.Schedules = append(p.Schedules, ScheduleRef{Round: round, Seed: uint64(round), Requests: strings.Count(string(b), ",") / 2, SHA256: form.Sum(b)})
		var s schedule
		if err := json.Unmarshal(b, &s); err != nil {
			panic(err)
		}
		p.Schedules[round].Requests = len(s.At)
	}
	if e.change != nil {
		e.change(&p)
	}
	return p
}

func (e exampleShard) run(t *testing.T) string {
	t.Helper()
	p := e.plan()
	r, err := Create(filepath.Join(t.TempDir(), fmt.Sprintf("shard-%d", e.shard)), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range p.Schedules {
		if err := os.WriteFile(filepath.Join(r.Dir(), ref.Name()), e.schedule(ref.Round), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for s := range p.Trials() {
		trial, requests := e.trial(t, p, s)
		if e.alter != nil {
			e.alter(&trial, requests)
		}
		if err := r.Append(trial, requests); err != nil {
			t.Fatal(err)
		}
	}
	out := exampleOutcome(p)
	start, off := time.Unix(1_700_000_000, 0).UTC(), 0.5
	out.Clock = &Clock{Boot: fmt.Sprint("boot ", e.shard), Start: start, End: start.Add(90 * time.Second), StartMonotonic: 1000, EndMonotonic: 1090, MaxErrorMS: &off}
	if e.say != nil {
		e.say(&out)
	}
	if _, err := r.Finish(out); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

// trial has the arrivals of the shard's schedule, and the candidate takes half as long.
func (e exampleShard) trial(t *testing.T, p Plan, slot Slot) (Trial, []Request) {
	t.Helper()
	var s schedule
	if err := json.Unmarshal(e.schedule(slot.Round), &s); err != nil {
		t.Fatal(err)
	}
	started := time.Unix(1_700_000_000+20*int64(slot.Round)+5*int64(slot.Position), 0).Add(time.Duration(e.shard) * 30 * time.Millisecond).UTC()
	trial := Trial{Round: slot.Round, Cell: slot.Cell, Arm: slot.Arm, Position: slot.Position, StartedAt: started, Valid: true, Evidence: EvidenceAdmissions, Sender: Sender{CPUMS: 2, MaxInFlight: 3, Descriptors: 100 + uint64(e.shard)},
		Judged: &Judged{OfferedRPS: 5, SentRPS: 5, AnsweredRPS: 4, LatenessLimitMS: 1 + float64(e.shard), InFlight: []float64{1, 2}}}
	rng := rand.New(rand.NewPCG(uint64(slot.Round), uint64(e.shard)+7))
	var requests []Request
	for i, at := range s.At {
		took := 20 + 30*rng.ExpFloat64()
		if slot.Arm == Candidate {
			took /= 2
		}
		sent := 1000*at + 0.25
		done, leading, zero := sent+took, took/2, 0.0
		requests = append(requests, Request{
			Round: slot.Round, Cell: slot.Cell, Arm: slot.Arm, Index: i, Body: s.Request[i], IntendedMS: 1000 * at, SentMS: &sent, DoneMS: &done, Status: 200,
			ScoreDifference: &zero, Prefills: []Spread{{Batch: i, Items: 50}}, LeadingMS: &leading, FirstItemMS: &zero, LastItemMS: &zero,
		})
		trial.WallMS = math.Max(trial.WallMS, done)
	}
	return trial, requests
}

func exampleShards(t *testing.T, n int, with func(*exampleShard)) (dirs []string) {
	t.Helper()
	for i := range n {
		e := exampleShard{shard: i, shards: n}
		if with != nil {
			with(&e)
		}
		dirs = append(dirs, e.run(t))
	}
	return dirs
}

func merged(t *testing.T, dirs []string) *Folder {
	t.Helper()
	out := filepath.Join(t.TempDir(), "merged")
	if _, err := Merge(dirs, out); err != nil {
		t.Fatal(err)
	}
	f, err := Read(out)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A shard that was late over its rounds makes the merged run invalid, as it is itself, though of all requests
// fewer than one in a hundred were.
func TestMergeOfALateShard(t *testing.T) {
	dirs := exampleShards(t, 2, func(e *exampleShard) {
		e.alter = func(trial *Trial, requests []Request) {
			if e.shard == 1 && trial.Round == 1 && trial.Arm == Candidate {
				late := requests[3].IntendedMS + 2.5
				requests[3].SentMS = &late
			}
		}
	})
	f := merged(t, dirs)
	late, sent := 0, 0
	for i, trial := range f.Trials {
		for _, r := range f.Requests[i] {
			if trial.Arm == Candidate {
				sent++
				if *r.SentMS-r.IntendedMS > 2 {
					late++
				}
			}
		}
	}
	if late != 1 || 100*late > MostLatePct*sent {
		t.Fatalf("%d of %d requests are late: want one, of more than a hundred", late, sent)
	}
	if v := f.Result.Verdict; len(v.Invalid) != 1 || !strings.Contains(v.Invalid[0], ", candidate: shard 1: lateness: in all rounds 1 of ") {
		t.Errorf("verdict %+v, want it invalid by shard 1's lateness", v)
	}
}

// The merged run has every request of every shard once, with its latency; percentiles
// are those of all latencies sorted by hand, and histograms are the shards' added up.
func TestMerge(t *testing.T) {
	dirs := exampleShards(t, 3, nil)
	f := merged(t, []string{dirs[2], dirs[0], dirs[1]}) // their order does not matter
	latencies := map[string][]float64{}                 // by arm
	counts := map[string]int{}
	hists := map[string]*hdrhistogram.Histogram{}
	for _, dir := range dirs {
		s, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, trial := range s.Trials {
			for _, r := range s.Requests[i] {
				latencies[trial.Arm] = append(latencies[trial.Arm], *r.DoneMS-r.IntendedMS)
				counts[fmt.Sprint(*s.Plan.Shard, trial.Round, trial.Arm, r.Body, r.IntendedMS, *r.DoneMS)]++
			}
			h, err := histogram(trial, s.Requests[i])
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(trial.Round, trial.Arm)
			if hists[key] == nil {
				hists[key] = hdrhistogram.New(histLeast, histMost, histDigits)
			}
			if dropped := hists[key].Merge(h); dropped > 0 {
				t.Fatalf("%d values dropped", dropped)
			}
		}
	}
	for i, trial := range f.Trials {
		for _, r := range f.Requests[i] {
			counts[fmt.Sprint(*r.Shard, trial.Round, trial.Arm, r.Body, r.IntendedMS, *r.DoneMS)]--
		}
		b, err := os.ReadFile(filepath.Join(f.Dir, HistName(0, trial.Arm)))
		if err != nil {
			t.Fatal(err)
		}
		all, err := readLog(b)
		if err != nil {
			t.Fatal(err)
		}
		want := hists[fmt.Sprint(trial.Round, trial.Arm)]
		if got := all[trial.Round]; got.TotalCount() != want.TotalCount() || got.ValueAtQuantile(90) != want.ValueAtQuantile(90) || got.Max() != want.Max() {
			t.Errorf("%s: the histogram is not the shards' together", trial.Slot())
		}
	}
	for key, n := range counts {
		if n != 0 {
			t.Errorf("request %s is there %d times too few", key, n)
		}
	}
	for i, arm := range []string{Reference, Candidate} {
		x := latencies[arm]
		slices.Sort(x)
		g := f.Result.Figures[i]
		if want := x[int(math.Ceil(0.9*float64(len(x))))-1]; g.Requests != len(x) || *g.Response.P90.MS != want {
			t.Errorf("%s: %d requests with a 90th percentile of %v, want %d with %v", arm, g.Requests, *g.Response.P90.MS, len(x), want)
		}
	}
	sender := f.Trials[0].Sender
	if j := f.Trials[0].Judged; sender.CPUMS != 6 || sender.MaxInFlight != 9 || sender.Descriptors != 100 || j.OfferedRPS != 15 || j.LatenessLimitMS != 1 || !slices.Equal(j.InFlight, []float64{3, 6}) {
		t.Errorf("sender %+v, judged %+v", sender, j)
	}
	if names := failed(t, f.Dir); len(names) > 0 {
		t.Errorf("failed checks %q", names)
	}
	if checks, err := Verify(f.Dir, dirs...); err != nil || slices.ContainsFunc(checks, func(c results.Check) bool { return !c.OK }) {
		t.Errorf("against its shards: %+v (%v)", checks, err)
	}
	if v := f.Result.Verdict; v.Status != results.StatusVerified || !strings.Contains(strings.Join(v.Warnings, "\n"), "3 independent systems") {
		t.Errorf("verdict %+v", v)
	}
	again := merged(t, dirs)
	for name, sums := range map[string][2]string{PlanFile: {f.PlanSHA256, again.PlanSHA256}, RawFile: {f.RawSHA256, again.RawSHA256}} {
		if sums[0] != sums[1] {
			t.Errorf("%s depends on the order of the folders", name)
		}
	}
	for _, format := range Formats {
		golden(t, "merged."+format, reported(t, f.Dir, format))
	}
}

// One shard of one is the whole load.
func TestMergeOne(t *testing.T) {
	dirs := exampleShards(t, 1, nil)
	one, err := Read(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	f := merged(t, dirs)
	if err := sameList("figures", f.Result.Figures, one.Result.Figures, Figures.where); err != nil {
		t.Error(err)
	}
}

// What does not belong together is refused, and the error says what and where.
func TestMergeRefuses(t *testing.T) {
	good := exampleShards(t, 3, nil)
	other := func(change func(*exampleShard)) []string {
		e := exampleShard{shard: 1, shards: 3}
		change(&e)
		return []string{good[0], e.run(t), good[2]}
	}
	whole, _ := exampleRun(t, examplePlan(2), nil)
	incomplete := exampleShard{shard: 1, shards: 3, say: func(out *Outcome) { out.Failure = "interrupted" }}.run(t)
	altered := exampleShard{shard: 1, shards: 3}.run(t)
	edit(t, altered, ResultFile, `"failed": 0`, `"failed": 1`)
	replaced := exampleShard{shard: 1, shards: 3}.run(t)
	edit(t, replaced, exampleShard{shard: 1, shards: 3}.plan().Schedules[0].Name(), `"seed":0`, `"seed":1`)
	for want, dirs := range map[string][]string{
		"no runs":                           {},
		"of 3 shards 1 are missing: 1":      {good[0], good[2]},
		"are both shard 0":                  {good[0], good[1], good[0]},
		"is no shard":                       {good[0], whole, good[2]},
		"is incomplete: interrupted":        {good[0], incomplete, good[2]},
		"figures":                           {good[0], altered, good[2]},
		"sha256 is":                         {good[0], replaced, good[2]},
		"have different plans: seed is 8":   other(func(e *exampleShard) { e.change = func(p *Plan) { p.Seed = 8 } }),
		"have different plans: item_tokens": other(func(e *exampleShard) { e.change = func(p *Plan) { p.ItemTokens = 3 } }),
		"have different plans: shards is 4": other(func(e *exampleShard) { e.shards = 4 }),
		"have different plans: first": other(func(e *exampleShard) {
			e.change = func(p *Plan) { p.First = slices.Clone(p.First); p.First[0] = Candidate }
		}),
		"the candidate of": other(func(e *exampleShard) {
			e.say = func(out *Outcome) { a := out.Arms[Candidate]; a.Revision = "abc"; out.Arms[Candidate] = a }
		}),
		"does not say what clock": other(func(e *exampleShard) { e.say = func(out *Outcome) { out.Clock = nil } }),
	} {
		out := filepath.Join(t.TempDir(), "merged")
		if _, err := Merge(dirs, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: a folder is there all the same", want)
		}
	}
}

// A merged run is valid only if each shard is, and says whose fault it is.
func TestMergeInvalid(t *testing.T) {
	f := merged(t, exampleShards(t, 2, func(e *exampleShard) {
		if e.shard == 1 {
			e.alter = func(trial *Trial, _ []Request) {
				if trial.Round == 1 && trial.Arm == Candidate {
					trial.Valid, trial.Reasons = false, []string{"lateness: too late"}
				}
			}
		}
	}))
	if v := f.Result.Verdict; v.Status != results.StatusInvalid || len(v.Invalid) != 1 || !strings.Contains(v.Invalid[0], "round 1, poisson 50 items 10 rps, candidate: shard 1: lateness: too late") {
		t.Errorf("verdict %+v", v)
	}
	if names := failed(t, f.Dir); !slices.Equal(names, []string{"status"}) {
		t.Errorf("failed %q", names)
	}
}

// Evidence that only some shards have is none of the whole.
func TestMergeEvidence(t *testing.T) {
	f := merged(t, exampleShards(t, 2, func(e *exampleShard) {
		if e.shard == 1 {
			e.alter = func(trial *Trial, q []Request) {
				trial.Evidence = ""
				for i := range q {
					q[i].Prefills, q[i].LeadingMS, q[i].FirstItemMS, q[i].LastItemMS = nil, nil, nil, nil
				}
			}
		}
	}))
	if g := f.Result.Figures[0]; g.LeadingMS != nil || len(g.Batches) > 0 || f.Trials[0].Evidence != "" {
		t.Errorf("leading %v, batches %v", g.LeadingMS, g.Batches)
	}
}

// Clocks are one, within a known error, or not known to be; a shared server that was
// not loaded by all shards at once was not loaded as planned.
func TestClocks(t *testing.T) {
	url := func(e *exampleShard, apart time.Duration) {
		e.change = func(p *Plan) { p.Reference.Spec, p.Candidate.Spec = "url:http://a:1", "url:http://b:2" }
		inner := e.say
		e.say = func(out *Outcome) {
			for name, a := range out.Arms {
				a.Kind, a.Command, a.Restart = armURL, nil, RestartNever
				out.Arms[name] = a
			}
			if inner != nil {
				inner(out)
			}
		}
		e.alter = func(trial *Trial, _ []Request) {
			trial.StartedAt = trial.StartedAt.Add(time.Duration(e.shard) * apart)
		}
	}
	for name, k := range map[string]struct {
		with    func(*exampleShard)
		same    bool
		offset  float64 // below 0: not known
		apart   float64
		invalid string
	}{
		"two machines":    {func(*exampleShard) {}, false, 1, 30, ""},
		"one machine":     {func(e *exampleShard) { e.say = func(out *Outcome) { out.Clock.Boot = "one" } }, true, 0, 30, ""},
		"not known":       {func(e *exampleShard) { e.say = func(out *Outcome) { out.Clock.Boot, out.Clock.MaxErrorMS = "", nil } }, false, -1, 30, ""},
		"a shared server": {func(e *exampleShard) { url(e, 300*time.Millisecond) }, false, 1, 330, ""},
		"a shared server at two times": {func(e *exampleShard) { url(e, time.Second) }, false, 1, 1030,
			"the shards began 1030 ms apart, so that all of them loaded the server in 74.2 % of the time, want at least 90 %"},
		"own servers at two times": {func(e *exampleShard) {
			e.alter = func(trial *Trial, _ []Request) {
				trial.StartedAt = trial.StartedAt.Add(time.Duration(e.shard) * time.Minute)
			}
		}, false, 1, 60_030, ""},
	} {
		f := merged(t, exampleShards(t, 2, k.with))
		c := f.Result.Clocks
		if c.Same != k.same || (c.OffsetMS == nil) != (k.offset < 0) || c.OffsetMS != nil && *c.OffsetMS != k.offset || c.StartsMS != k.apart || c.SteppedMS > 1e-6 {
			t.Errorf("%s: %+v", name, c)
		}
		if why := strings.Join(f.Result.Verdict.Invalid, "\n"); (why == "") != (k.invalid == "") || !strings.Contains(why, k.invalid) {
			t.Errorf("%s: invalid %q, want %q", name, why, k.invalid)
		}
	}
}

// What is altered in a merged run is found: by itself, and against its shards.
func TestVerifyMerged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string, shards []string)
		want   string
	}{
		"clocks": {func(t *testing.T, dir string, _ []string) {
			edit(t, dir, ResultFile, `"overlap_pct": 9`, `"overlap_pct": 8`)
		}, "clocks"},
		"a schedule": {func(t *testing.T, dir string, _ []string) {
			remove(t, dir, ScheduleFolder+"/round-1-cell-0-shard-1.json")
		}, ScheduleFolder},
		"whose it is": {func(t *testing.T, dir string, _ []string) {
			edit(t, dir, RawFile, `"shard":0,"index":0`, `"shard":1,"index":0`)
		}, RawFile},
		"a start": {func(t *testing.T, dir string, _ []string) {
			edit(t, dir, TrialsFile, `"parts":[{"shard":0,"started_at":"2023`, `"parts":[{"shard":0,"started_at":"2024`)
		}, "sha256 of trials.jsonl"},
		"another part": {func(t *testing.T, _ string, shards []string) {
			shards[1] = exampleShard{shard: 1, shards: 2, alter: func(trial *Trial, _ []Request) { trial.Sender.CPUMS++ }}.run(t)
		}, "shards"},
		"a part": {func(t *testing.T, _ string, shards []string) { edit(t, shards[1], SummaryFile, "poisson", "Poisson") }, "shard "},
	} {
		shards := exampleShards(t, 2, nil)
		dir := merged(t, shards).Dir
		c.change(t, dir, shards)
		checks, err := Verify(dir, shards...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(checks, func(k results.Check) bool { return !k.OK && strings.HasPrefix(k.Name, c.want) }) {
			t.Errorf("%s: %+v, want %q to fail", name, checks, c.want)
		}
	}
	whole, _ := exampleRun(t, examplePlan(2), nil)
	if checks, err := Verify(whole, whole); err != nil || !slices.ContainsFunc(checks, func(k results.Check) bool { return !k.OK && k.Name == "shards" }) {
		t.Errorf("shards of a whole run: %+v (%v)", checks, err)
	}
}

// Records of merged runs are in the one form too.
func FuzzMergedTrials(f *testing.F) {
	p := Plan{Schema: Schema, Rounds: 1, First: []string{Reference}, UniqueRequests: 1, Cells: []Cell{{Kind: KindPoisson, Items: 1, RPS: 1, Seconds: 9}}, Shards: 2, Parts: []Part{{Shard: 0}, {Shard: 1}}}
	zero, one := 0, 1
	p.Schedules = []ScheduleRef{{Shard: &zero, Requests: 1}, {Shard: &one, Requests: 1}}
	f.Add([]byte(`{"round":0,"cell":0,"arm":"reference","position":0,"started_at":"2026-01-01T00:00:00Z","wall_ms":1,"fresh":false,"requests":2,"failed":2,"unsent":2,"lateness":null,"valid":true,"reasons":[],"sender":{"cpu_ms":0,"gc_pauses":0,"gc_pause_ms":0,"gc_worst_pause_ms":0,"max_in_flight":0,"goroutines":0,"connections":0,"redialled":0,"descriptors":0,"raised":false,"priority":false,"processors":0},"parts":[{"shard":0,"started_at":"2026-01-01T00:00:00Z","wall_ms":1,"requests":1,"valid":true},{"shard":1,"started_at":"2026-01-01T00:00:00Z","wall_ms":0,"requests":1,"valid":true}],"evidence":""}`+"\n"),
		[]byte(`{"round":0,"cell":0,"arm":"reference","shard":0,"index":0,"intended_ms":0,"error":"x"}`+"\n"+`{"round":0,"cell":0,"arm":"reference","shard":1,"index":1,"intended_ms":0,"error":"x"}`+"\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		trials, requests, err := parseTrials(p, a, b)
		if err != nil {
			return
		}
		var raw []byte
		for i := range trials {
			lines, err := requestLines(requests[i])
			if err != nil {
				t.Fatal(err)
			}
			raw = append(raw, lines...)
			if trials[i].overlap(9); p.clocks(trials, []Shard{{}, {}}) == nil {
				t.Fatal("no clocks")
			}
		}
		if !bytes.Equal(raw, b) {
			t.Error("written again as other bytes")
		}
	})
}

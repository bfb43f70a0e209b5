package batchrun

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// examplePlan has three cells, of which one is an open loop.
func examplePlan(rounds int) Plan {
	p := Plan{
		Schema: Schema, ToolVersion: "test", Seed: 7, Rounds: rounds, Warmup: 1,
		Reference: PlanArm{Spec: "builtin:individual"}, Candidate: PlanArm{Spec: "builtin:batch", Options: map[string]string{"max-tokens": "8192"}},
		Cells: []Cell{{Kind: KindSingle, Items: 50, Requests: 8}, {Kind: KindSingle, Items: 100, Requests: 8}, {Kind: KindPoisson, Items: 50, RPS: 10, Seconds: 4}},
		API:   APIScore, QueryTokens: 120, ItemTokens: 180, UniqueRequests: 5, Labels: []int64{9454, 2753},
		RequestsSHA256: form.Sum([]byte("requests")), TimeoutMS: 10_000, ScoreTolerance: 1e-5, MaxFailedPct: 5,
		MarginPct: 5, Primary: []Primary{{0, "avg_ms", results.RoleSuperiority}, {2, "p50_ms", results.RoleSuperiority}, {2, "leading_ms", results.RoleNonInferiority}},
	}
	for round := range rounds {
		p.First = append(p.First, []string{Reference, Candidate}[round*5%3%2])
		p.Schedules = append(p.Schedules, ScheduleRef{Round: round, Cell: 2, Seed: uint64(round), Requests: 40, SHA256: form.Sum(exampleSchedule(round))})
	}
	return p
}

// exampleTimes are the arrivals of a round, in milliseconds, whole microseconds.
func exampleTimes(round int) []float64 {
	rng := rand.New(rand.NewPCG(uint64(round), 2))
	at := make([]float64, 40)
	for i := range at {
		at[i] = 100*float64(i) + math.Round(90_000*rng.Float64())/1000
	}
	return at
}

func exampleSchedule(round int) []byte {
	s := schedule{Schema: scheduleSchema, Seed: uint64(round), Distribution: KindPoisson, RPS: 10, Seconds: 4, Unique: 5, Shards: 1}
	for i, at := range exampleTimes(round) {
		s.At, s.Request = append(s.At, at/1000), append(s.Request, i%5)
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// exampleTrial is what an arm gives: the candidate takes factor times as long.
func exampleTrial(p Plan, s Slot, factor float64) (Trial, []Request) {
	rng := rand.New(rand.NewPCG(uint64(s.Round), uint64(s.Cell)))
	t := Trial{Round: s.Round, Cell: s.Cell, Arm: s.Arm, Position: s.Position, StartedAt: time.Unix(1_700_000_000, 5).UTC(), Fresh: true, Valid: true, Evidence: EvidenceAdmissions, Sender: Sender{CPUMS: 12.5, GCPauses: 1, GCPauseMS: 0.25, GCWorstMS: 0.25, MaxInFlight: 3, Goroutines: 9, Descriptors: 1024, Connections: 3}}
	c := p.Cells[s.Cell]
	at := 0.0
	if c.Open() {
		t.Judged = &Judged{OfferedRPS: 10, SentRPS: 10, AnsweredRPS: 9.5, LatenessLimitMS: 1, InFlight: []float64{1, 2, 1, 2}}
	}
	var requests []Request
	for i := range p.RequestsOf(s.Round, s.Cell) {
		if c.Open() {
			at = exampleTimes(s.Round)[i]
		}
		took := float64(c.Items) * (1 + rng.Float64())
		later := took / 3
		spread := []Spread{{Batch: 2 * i, Items: 10, AtMS: new(float64)}, {Batch: 2*i + 1, Items: c.Items - 10, AtMS: &later}}
		if s.Arm == Candidate {
			took *= factor
			spread = []Spread{{Batch: i, Items: c.Items, AtMS: &later}}
		}
		sent := at + 0.125
		first, last, leading := sent+took-1, 0.5, took/2
		done := sent + took
		difference := 0.0
		requests = append(requests, Request{
			Round: s.Round, Cell: s.Cell, Arm: s.Arm, Index: i, Body: i % p.UniqueRequests,
			IntendedMS: at, SentMS: &sent, FirstByteMS: &first, DoneMS: &done, Status: 200, PromptTokens: 300 * c.Items,
			ScoresSHA256: form.Sum([]byte("scores")), ScoreDifference: &difference,
			Prefills: spread, FirstItemMS: &difference, LastItemMS: &last, LeadingMS: &leading,
		})
		at = done
		t.WallMS = max(t.WallMS, done)
	}
	return t, requests
}

func exampleOutcome(p Plan) Outcome {
	started := time.Unix(1_700_000_000, 0).UTC()
	e := results.Environment{
		Command: []string{"batchsend", "--rounds", "9", "--output", "$TMP/run"}, StartedAt: started, EndedAt: started.Add(90 * time.Second),
		OS: "linux", Arch: "amd64", Kernel: "6.1", CPU: "a CPU", CPUs: 2, Go: "go1.26",
	}
	arm := func(asked PlanArm) Arm {
		return Arm{Spec: asked.Spec, Kind: "builtin", Command: []string{"fanoutserve", "--port", "0"}, Restart: RestartRound, Options: asked.Options, BinarySHA256: []string{form.Sum([]byte("fanoutserve"))}}
	}
	return Outcome{
		Environment: e, Repeat: []string{"batchsend", "--rounds", "9", "--rps=10", "--seed=7"},
		Arms: map[string]Arm{Reference: arm(p.Reference), Candidate: arm(p.Candidate)},
	}
}

// begin makes a run folder with its schedules.
func begin(t *testing.T, p Plan) *Run {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "runs", "run"), p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Schedules {
		if err := os.WriteFile(filepath.Join(r.Dir(), ScheduleName(s.Round, s.Cell)), exampleSchedule(s.Round), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// exampleRun is a whole run; change may alter each trial before it is written.
func exampleRun(t *testing.T, p Plan, change func(*Trial, []Request)) (string, Result) {
	t.Helper()
	r := begin(t, p)
	for s := range p.Trials() {
		trial, requests := exampleTrial(p, s, 0.5)
		if change != nil {
			change(&trial, requests)
		}
		if err := r.Append(trial, requests); err != nil {
			t.Fatal(err)
		}
	}
	result, err := r.Finish(exampleOutcome(p))
	if err != nil {
		t.Fatal(errors.Join(err, r.Close()))
	}
	return r.Dir(), result
}

// stolen is a disturbance of so many ticks that the host took.
func stolen(ticks int64) *results.Disturbance { return &results.Disturbance{StealTicks: &ticks} }

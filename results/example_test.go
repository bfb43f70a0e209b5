package results

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// examplePlan is a small plan with every field set: 4 trials a cell and round.
func examplePlan() Plan {
	return Plan{
		Schema: Schema, ToolVersion: "devel",
		Reference: ArmPlan{Spec: "builtin:per-row", Options: map[string]string{"zmq": "zmtp"}},
		Candidate: ArmPlan{Spec: "builtin:splice", Options: map[string]string{}},
		Transport: "msgpack", Counts: []int{1, 32}, Metadata: []string{"plain", "rich"},
		Rounds: 9, Repetitions: 2, Seed: 7, Stream: "seed", HTTPWorkers: 4,
		Consumer: "decode", Pace: "arrived", Process: "round", TimeoutMS: 30000, StartTimeoutMS: 10000,
		First: []string{
			Reference, Candidate, Candidate, Reference, Candidate, Reference, Reference, Candidate, Reference, Candidate,
		},
		RowsPerRun:  3 * (1 + 32) * 2 * 10 * 2 * 2,
		FencePerRun: 12 * 2 * 2 * 10 * 2 * 2,
	}
}

// trialsOf makes the trials of a plan in order. With a count of one there is
// one consumer and so no spread.
func trialsOf(p Plan, rng *rand.Rand) []Trial {
	var trials []Trial
	started := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for s := range p.Trials() {
		complete := float64(s.Count) * (1 + rng.Float64()/8)
		if s.Arm == Candidate {
			complete *= 0.75
		}
		t := Trial{
			Round: s.Round, Repetition: s.Repetition, Count: s.Count, Metadata: s.Metadata, Arm: s.Arm, Position: s.Position,
			CompleteMS: complete, FirstMS: ref(complete / 4), FirstAllMS: ref(complete / 2), WorkerCPUMS: ref(complete * 1.5),
			OuterMS: complete + 1, IdleCPUMS: ref(0.0),
			Counters: map[string]float64{"messages": float64(s.Count), "opaque_decodes": float64(2 * s.Count)},
			Rows:     3 * s.Count, FenceRows: 12,
			WorkSHA256: sum([]byte("work" + s.String())), RowsSHA256: sum([]byte("rows" + s.String())),
			StartedAt: started,
		}
		if s.Count > 1 {
			t.SpreadMS = ref(complete / 16)
		}
		started = started.Add(time.Duration(complete * float64(time.Millisecond)))
		trials = append(trials, t)
	}
	return trials
}

func ref[T any](v T) *T { return &v }

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// exampleOutcome is a verified run's end.
func exampleOutcome(p Plan) Outcome {
	return Outcome{
		Arms: map[string]Arm{
			Reference: {
				Spec: p.Reference.Spec, Runtime: "fanoutbench", Strategy: "per-row", ZMQ: "zmtp",
				Options: map[string]string{"zmq": "zmtp"}, Packages: map[string]string{"go": "go1.26.0"},
				Sources:      []Source{{Path: "cmd/fanoutbench/main.go", SHA256: sum([]byte("main"))}},
				BinarySHA256: []string{sum([]byte("binary"))},
			},
			Candidate: {Spec: p.Candidate.Spec, Runtime: "fanoutbench", Strategy: "splice", ZMQ: "zmtp", BinarySHA256: []string{sum([]byte("other"))}},
		},
		Verdict:      Verdict{Status: StatusVerified, Decision: DecisionNone},
		VerifiedRows: p.RowsPerRun, FenceRows: p.FencePerRun, WarmupRows: 3 * (1 + 32) * 2 * 2 * 10,
		Environment: exampleEnvironment(),
	}
}

func exampleEnvironment() Environment {
	return Environment{
		Command:   []string{"fanoutbench", "run"},
		StartedAt: time.Date(2026, 3, 1, 11, 59, 0, 0, time.UTC), EndedAt: time.Date(2026, 3, 1, 12, 1, 0, 0, time.UTC),
		OS: "linux", Arch: "amd64", CPU: "Example CPU | 3 GHz", CPUs: 2, Go: "go1.26.0",
		Cgroup: map[string]string{"cpu.max": "max 100000"}, StealTicks: ref(int64(3)),
	}
}

// exampleRun writes a verified run and returns its folder.
func exampleRun(t testing.TB) string {
	t.Helper()
	p := examplePlan()
	r := create(t, p)
	for _, trial := range trialsOf(p, source()) {
		if err := r.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Finish(exampleOutcome(p)); err != nil {
		t.Fatal(err)
	}
	return r.Dir()
}

func create(t testing.TB, p Plan) *Run {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "run"), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func content(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func overwrite(t testing.TB, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantError fails unless err says every one of the parts.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

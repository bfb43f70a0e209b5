//go:build python

package batchrun

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// validator validates every record of a run folder with the jsonschema package and
// prints one line for each that is not valid.
const validator = `
import json, pathlib, sys
from jsonschema import Draft202012Validator, FormatChecker

schemas, run = map(pathlib.Path, sys.argv[1:])
files = {"plan": "plan.json", "result": "result.json", "report": "report.json", "request": "raw.jsonl", "trial": "trials.jsonl", "sweep": "sweep.json"}
for kind, name in files.items():
    if not (run / name).exists():
        continue
    schema = json.loads((schemas / (kind + ".schema.json")).read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    text = (run / name).read_text()
    count = 0
    for record in text.splitlines() if name.endswith(".jsonl") else [text]:
        for error in validator.iter_errors(json.loads(record)):
            print(kind, error.json_path, error.message[:200])
        count += 1
    print(kind, "records", count)
`

func validate(t *testing.T, dir string) []string {
	t.Helper()
	python := os.Getenv("FANOUTBENCH_PYTHON")
	if python == "" {
		t.Fatal("FANOUTBENCH_PYTHON is not set, want a Python interpreter with jsonschema")
	}
	out, err := exec.Command(python, "-c", validator, "schema", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// withReport is a run with its report for programs beside it.
func withReport(t *testing.T, p Plan, change func(*Trial, []Request)) string {
	t.Helper()
	dir, _ := exampleRun(t, p, change)
	if err := os.WriteFile(filepath.Join(dir, "report.json"), []byte(reported(t, dir, "json")), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRunsAreValidBySchema(t *testing.T) {
	stream := examplePlan(2)
	stream.API, stream.Primary, stream.MarginPct = APIChat, nil, 0
	for name, dir := range map[string]string{
		"verified": withReport(t, examplePlan(7), nil),
		"a shard":  exampleShard{shard: 1, shards: 2}.run(t),
		"merged":   merged(t, exampleShards(t, 2, nil)).Dir,
		"invalid and bare": withReport(t, stream, func(trial *Trial, q []Request) {
			trial.Valid, trial.Reasons, trial.Judged = false, []string{"late"}, nil
			for i := range q {
				q[i] = Request{Round: q[i].Round, Cell: q[i].Cell, Arm: q[i].Arm, Index: i, Body: q[i].Body, IntendedMS: q[i].IntendedMS, Error: "reset"}
			}
		}),
	} {
		for _, line := range validate(t, dir) {
			if !strings.Contains(line, " records ") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func TestSweepsAreValidBySchema(t *testing.T) {
	limits, bases := []float64{0, 4000}, []float64{0.02, 0.005, 0}
	ofLimits, ofBases := exampleSweep(t, limits, nil, nil), sweepOfBases(t, bases, nil)
	finishSweep(t, ofLimits, limits)
	if _, err := FinishSweep(ofBases, sweptBy(t, stepBase), 10, bases); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{ofLimits, ofBases} {
		if got := validate(t, dir); !slices.Equal(got, []string{"sweep records 1"}) {
			t.Errorf("%q", got)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	for _, c := range []struct{ file, old, by, says string }{
		{PlanFile, `"seed": 7`, `"seed": -7`, "plan $.seed"},
		{PlanFile, `"kind": "poisson"`, `"kind": "burst"`, "plan $.cells[2].kind"},
		{PlanFile, `"schema": 1`, `"schema": 1, "more": 2`, "plan $"},
		{RawFile, `"done_ms":`, `"done_ms":-`, "request $.done_ms"},
		{RawFile, `"body":`, `"corpse":`, "request $"},
		{TrialsFile, `"wall_ms":`, `"wall_ms":-`, "trial $.wall_ms"},
		{TrialsFile, `"evidence":"admissions"`, `"evidence":"rumour"`, "trial $.evidence"},
		{ResultFile, `"plan_sha256": "`, `"plan_sha256": "x`, "result $.plan_sha256"},
		{ResultFile, `"metric": "avg_ms"`, `"metric": "speed"`, "result $.summary[0].metric"},
	} {
		dir := withReport(t, examplePlan(2), nil)
		edit(t, dir, c.file, c.old, c.by)
		got := validate(t, dir)
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, c.says) }) {
			t.Errorf("%s instead of %s: %q, want %q", c.by, c.old, got, c.says)
		}
	}
}

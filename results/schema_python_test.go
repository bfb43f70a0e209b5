//go:build python

package results

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// validator validates every record of a run folder with the jsonschema package
// and prints one line for each that is not valid.
const validator = `
import json, pathlib, sys
from jsonschema import Draft202012Validator, FormatChecker

schemas, run = map(pathlib.Path, sys.argv[1:])
def records():
    yield "plan", (run / "plan.json").read_text()
    yield "result", (run / "result.json").read_text()
    if (run / "report.json").exists():
        yield "report", (run / "report.json").read_text()
    for line in (run / "raw.jsonl").read_text().splitlines():
        yield "trial", line
def validator(kind):
    schema = json.loads((schemas / (kind + ".schema.json")).read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema, format_checker=FormatChecker())
validators = {kind: validator(kind) for kind in ("plan", "trial", "result", "report")}
count = 0
for kind, text in records():
    for error in validators[kind].iter_errors(json.loads(text)):
        print(kind, error.json_path, error.message[:200])
    count += 1
print("records", count)
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

func TestRunsAreValidBySchema(t *testing.T) {
	for name, make := range goldenRuns {
		dir := make(t)
		want := fmt.Sprintf("records %d", 2+strings.Count(content(t, dir, RawFile), "\n"))
		if got := validate(t, dir); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The report for programs of every such run, and of one with an analysis.
func TestReportsAreValidBySchema(t *testing.T) {
	put := func(dir string, f *Folder) {
		overwrite(t, dir, "report.json", unchecked(t, f, "json"))
		want := fmt.Sprintf("records %d", 3+strings.Count(content(t, dir, RawFile), "\n"))
		if got := validate(t, dir); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	for _, make := range goldenRuns {
		dir := make(t)
		f, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(dir, f)
	}
	put(exampleRun(t), decided(t))
}

func TestSchemaRefuses(t *testing.T) {
	for _, c := range []struct{ file, old, by, says string }{
		{PlanFile, `"seed": 7`, `"seed": -7`, "plan $.seed"},
		{PlanFile, `"pace": "arrived"`, `"pace": "slow"`, "plan $.pace"},
		{PlanFile, `"schema": 1`, `"schema": 1, "more": 2`, "plan $"},
		{RawFile, `"complete_ms":`, `"complete_ms":-`, "trial $.complete_ms"},
		{RawFile, `"outer_ms":`, `"inner_ms":`, "trial $"},
		{ResultFile, `"plan_sha256": "`, `"plan_sha256": "x`, "result $.plan_sha256"},
		{ResultFile, `"status": "verified"`, `"status": "invalid"`, "result $.summary"},
		{ResultFile, `"metric": "complete_ms"`, `"metric": "speed"`, "result $.summary[0].metric"},
	} {
		dir := exampleRun(t)
		before := content(t, dir, c.file)
		after := strings.Replace(before, c.old, c.by, 1)
		if after == before {
			t.Fatalf("%s has no %s", c.file, c.old)
		}
		overwrite(t, dir, c.file, after)
		got := validate(t, dir)
		if !slices.ContainsFunc(got, func(line string) bool { return strings.HasPrefix(line, c.says) }) {
			t.Errorf("%s instead of %s: %q, want %q", c.by, c.old, got, c.says)
		}
	}
}

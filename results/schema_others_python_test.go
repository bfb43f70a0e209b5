//go:build python

package results

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// othersValidator validates pairs of a schema and a record. Then it spoils each
// record: without a key that is not one of the optional ones, with a key that is
// unknown in what is not one of the maps (counters are maps of maps), with another word under the keys that
// have a list of words; of a list it takes the first. It does not ask the schema
// what to spoil. What is still valid is printed, and whether enough was tried.
const othersValidator = `
import json, pathlib, sys
from jsonschema import Draft202012Validator

optional, maps, words = (set(arg.split()) for arg in sys.argv[1:4])

def spoilt(record, free=None):
    if isinstance(record, dict):
        if not free:
            yield "an unknown key", {**record, "x": "1"}
        for key, value in record.items():
            if not free and key not in optional:
                yield "no " + key, {k: v for k, v in record.items() if k != key}
            if not free and key in words and isinstance(value, str):
                yield key + " x", {**record, key: "x"}
            for what, changed in spoilt(value, key if key in maps else free == "counters"):
                yield key + ": " + what, {**record, key: changed}
    if isinstance(record, list) and record:
        for what, changed in spoilt(record[0]):
            yield "[0]: " + what, [changed] + record[1:]

tried = 0
for schema, record in zip(sys.argv[4::2], sys.argv[5::2]):
    root = json.loads(pathlib.Path(schema).read_text())
    Draft202012Validator.check_schema(root)
    validator = Draft202012Validator(root)
    text = pathlib.Path(record).read_text()
    good = json.loads(text.splitlines()[0] if record.endswith(".jsonl") else text)
    for error in validator.iter_errors(good):
        print(record, error.json_path, error.message[:200])
    for what, bad in spoilt(good):
        tried += 1
        if validator.is_valid(bad):
            print(record, "is valid with", what)
print("done", "enough" if tried > 300 else tried)
`

// wordKeys are those under which every record has a word of a list.
const wordKeys = "transport consumer consumers process loop metadata metric role status decision kind outcome arm modified turbo"

// keysOf adds the keys of a record that may be left out, and those of maps.
func keysOf(t reflect.Type, optional, free map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return
	}
	for f := range t.Fields() {
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if option != "" {
			optional[key] = true
		}
		if f.Type.Kind() == reflect.Map {
			free[key] = true
		}
		if f.IsExported() {
			keysOf(f.Type, optional, free)
		}
	}
}

// A record of every kind is valid by its schema, and spoilt in any way it is not.
func TestRecordsAreValidAndSpoiltOnesAreNot(t *testing.T) {
	dir := t.TempDir()
	campaign := filepath.Join(dir, "campaign.json")
	if _, err := WriteCampaign(campaign, exampleCampaign(3)); err != nil {
		t.Fatal(err)
	}
	optional, free := map[string]bool{}, map[string]bool{}
	for _, s := range schemaFiles {
		keysOf(s.Record, optional, free)
	}
	joined := func(m map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }
	args := []string{"-c", othersValidator, joined(optional), joined(free), wordKeys, "schema/campaign.schema.json", campaign}
	anytime := withFamily()
	anytime.Kind = KindAnytime
	for name, p := range map[string]Plan{"fixed": withFamily(), "anytime": anytime} {
		m, err := Merge(shardRuns(t, p, 2, nil))
		if err == nil {
			err = WriteMerged(filepath.Join(dir, name), m)
		}
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "schema/merged.schema.json", filepath.Join(dir, name, MergedFile))
	}
	old, again := twice(t, withFamily(), unchangedRun)
	if _, err := WriteReproduces(old, again, []string{"reference: as it was"}); err != nil {
		t.Fatal(err)
	}
	overwrite(t, again.Dir, "report.json", unchecked(t, again, "json"))
	for schema, file := range map[string]string{
		"reproduces": ReproducesFile, "plan": PlanFile, "trial": RawFile, "result": ResultFile, "report": "report.json",
	} {
		args = append(args, "schema/"+schema+".schema.json", filepath.Join(again.Dir, file))
	}
	args = append(args, "schema/calibration.schema.json", filepath.Join("runs", "calibration", "calibration.json"))
	out, err := exec.Command(os.Getenv("FANOUTBENCH_PYTHON"), args...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done enough" {
		t.Errorf("%v\n%s", err, out)
	}
}

// Every committed run is valid by the schemas, those with a control among them.
func TestCommittedRunsAreValidBySchema(t *testing.T) {
	plans, err := filepath.Glob("runs/*/" + PlanFile)
	if err != nil || len(plans) < 10 {
		t.Fatalf("%d runs, %v, want those that are committed", len(plans), err)
	}
	for _, plan := range plans {
		dir := filepath.Dir(plan)
		want := fmt.Sprintf("records %d", 2+strings.Count(content(t, dir, RawFile), "\n"))
		if got := validate(t, dir); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %.600q, want %q", dir, got, want)
		}
	}
}

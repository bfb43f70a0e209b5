//go:build python

package results

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// othersValidator validates pairs of a schema and a record.
const othersValidator = `
import json, pathlib, sys
from jsonschema import Draft202012Validator

names = sys.argv[1:]
for schema, record in zip(names[::2], names[1::2]):
    schema = json.loads(pathlib.Path(schema).read_text())
    Draft202012Validator.check_schema(schema)
    for error in Draft202012Validator(schema).iter_errors(json.loads(pathlib.Path(record).read_text())):
        print(record, error.json_path, error.message[:200])
print("done")
`

// Campaigns, merged runs and reproductions are valid by their schemas.
func TestOtherRecordsAreValidBySchema(t *testing.T) {
	dir := t.TempDir()
	campaign := filepath.Join(dir, "campaign.json")
	if _, err := WriteCampaign(campaign, exampleCampaign(3)); err != nil {
		t.Fatal(err)
	}
	args := []string{"-c", othersValidator, "schema/campaign.schema.json", campaign}
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
	args = append(args, "schema/reproduces.schema.json", filepath.Join(again.Dir, ReproducesFile))
	out, err := exec.Command(os.Getenv("FANOUTBENCH_PYTHON"), args...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "done" {
		t.Errorf("%v\n%s", err, out)
	}
}

package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results/schemagen"
)

// schemaFiles are the schemas, each with its title and the record it is made from.
var schemaFiles = []schemagen.File{
	{Name: "plan.schema.json", Title: "plan.json", Record: reflect.TypeFor[Plan]()},
	{Name: "trial.schema.json", Title: "one line of raw.jsonl", Record: reflect.TypeFor[Trial]()},
	{Name: "result.schema.json", Title: "result.json", Record: reflect.TypeFor[Result]()},
	{Name: "report.schema.json", Title: "report --format json", Record: reflect.TypeFor[report]()},
	{Name: "calibration.schema.json", Title: "calibration.json", Record: reflect.TypeFor[Calibration]()},
	{Name: "campaign.schema.json", Title: "the file of plan --shards", Record: reflect.TypeFor[Campaign]()},
	{Name: "merged.schema.json", Title: "merged.json", Record: reflect.TypeFor[Merged]()},
	{Name: "reproduces.schema.json", Title: "reproduces.json", Record: reflect.TypeFor[Reproduces]()},
}

// The schemas are what the types, their comments and the rules give, and no rule
// is left that nothing asks for. With -rewrite they are written anew.
func TestSchemasAreFresh(t *testing.T) {
	comments, err := schemagen.CommentsOf(".")
	if err != nil {
		t.Fatal(err)
	}
	g := &schemagen.Generator{Base: "https://github.com/fanoutbench/fanoutbench/results/schema/", Comments: comments, Rules: schemaRules, Used: map[string]bool{}}
	stale, err := g.Stale("schema", schemaFiles, *rewrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range stale {
		t.Error(finding)
	}
}

// The schema takes every pace that the program takes, and no other word.
func TestSchemaPaces(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("schema", "plan.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var plan struct {
		Properties struct {
			Pace struct{ Pattern string }
		}
	}
	if err := json.Unmarshal(b, &plan); err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(plan.Properties.Pace.Pattern)
	for _, pace := range append([]string{protocol.RatePace(100), protocol.RatePace(protocol.MinRate), protocol.RatePace(protocol.MaxRate)}, paces...) {
		p := examplePlan()
		p.Pace = pace
		if err := p.Validate(); err != nil || !pattern.MatchString(pace) {
			t.Errorf("pace %q: %v, want it taken by program and schema", pace, err)
		}
	}
	for _, pace := range []string{"slow", "", "rate:", "rate:x", "arrived,none", "100"} {
		p := examplePlan()
		p.Pace = pace
		if err := p.Validate(); err == nil || pattern.MatchString(pace) {
			t.Errorf("pace %q: %v, want it refused by program and schema", pace, err)
		}
	}
}

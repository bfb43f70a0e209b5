package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results/schemagen"
)

// schemaFiles are the schemas, each with its title and the record it is made from.
var schemaFiles = []struct {
	name, title string
	record      reflect.Type
}{
	{"plan.schema.json", "plan.json", reflect.TypeFor[Plan]()},
	{"trial.schema.json", "one line of raw.jsonl", reflect.TypeFor[Trial]()},
	{"result.schema.json", "result.json", reflect.TypeFor[Result]()},
	{"report.schema.json", "report --format json", reflect.TypeFor[report]()},
	{"calibration.schema.json", "calibration.json", reflect.TypeFor[Calibration]()},
	{"campaign.schema.json", "the file of plan --shards", reflect.TypeFor[Campaign]()},
	{"merged.schema.json", "merged.json", reflect.TypeFor[Merged]()},
	{"reproduces.schema.json", "reproduces.json", reflect.TypeFor[Reproduces]()},
}

// The schemas are what the types, their comments and the rules give, and no rule
// is left that nothing asks for. With -rewrite they are written anew.
func TestSchemasAreFresh(t *testing.T) {
	comments, err := schemagen.CommentsOf(".")
	if err != nil {
		t.Fatal(err)
	}
	g := &schemagen.Generator{Base: "https://github.com/fanoutbench/fanoutbench/results/schema/", Comments: comments, Rules: schemaRules, Used: map[string]bool{}}
	var names []string
	for _, s := range schemaFiles {
		got := schemagen.Render(g.Schema(s.name, s.title, s.record), "") + "\n"
		path := filepath.Join("schema", s.name)
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what the types give: go test ./results -run Schema -rewrite writes it anew", path)
		}
		names = append(names, path)
	}
	for rule := range schemaRules {
		if !g.Used[rule] {
			t.Errorf("no key of a record asks for rule %q", rule)
		}
	}
	there, err := filepath.Glob("schema/*")
	if slices.Sort(names); err != nil || !slices.Equal(there, names) {
		t.Errorf("schema/ has %q (%v), want %q", there, err, names)
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

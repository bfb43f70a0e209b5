package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
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
	comments, err := commentsOf(".")
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{comments: comments, rules: schemaRules, used: map[string]bool{}}
	var names []string
	for _, s := range schemaFiles {
		got := render(g.schema(s.name, s.title, s.record), "") + "\n"
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
		if !g.used[rule] {
			t.Errorf("no key of a record asks for rule %q", rule)
		}
	}
	there, err := filepath.Glob("schema/*")
	if slices.Sort(names); err != nil || !slices.Equal(there, names) {
		t.Errorf("schema/ has %q (%v), want %q", there, err, names)
	}
}

// sample has every kind of field that the records have.
//
// Its comment goes over two paragraphs.
type sample struct {
	Name    string             `json:"name"` // behind it
	Word    string             `json:"word,omitempty"`
	Count   int                `json:"count"`
	Seed    uint64             `json:"seed"`
	Share   *float64           `json:"share"`
	Maybe   *int64             `json:"maybe,omitempty"`
	Yes     bool               `json:"yes"`
	Only    bool               `json:"only,omitempty"`
	At      time.Time          `json:"at"`
	Part    part               `json:"part"`
	Null    *part              `json:"null"`
	Absent  *part              `json:"absent,omitempty"`
	List    []*float64         `json:"list"`
	Some    []part             `json:"some,omitempty"`
	Figures map[string]float64 `json:"figures,omitempty"`
	private int
}

type part struct {
	// Above it.
	Kind string `json:"kind"`
}

func TestSchemaOfSample(t *testing.T) {
	comments, err := commentsOf(".")
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{comments: comments, used: map[string]bool{}, rules: map[string]object{
		"count": between(1, 9), "part.kind": oneOf("a", "b"), "list": items(2, 0), "list[]": atLeast(0), "word": oneOf("w"),
	}}
	got := render(g.schema("sample.schema.json", "a sample", reflect.TypeFor[sample]()), "") + "\n"
	golden(t, "../sample.schema.json", got)
	if _ = (sample{}.private); !json.Valid([]byte(got)) {
		t.Errorf("not JSON:\n%s", got)
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

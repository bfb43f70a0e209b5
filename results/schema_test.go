package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// schemaNode is what these tests read of a JSON Schema.
type schemaNode struct {
	Ref        string                `json:"$ref"`
	Defs       map[string]schemaNode `json:"$defs"`
	Required   []string              `json:"required"`
	Properties map[string]schemaNode `json:"properties"`
	Additional json.RawMessage       `json:"additionalProperties"`
	Items      *schemaNode           `json:"items"`
	Type       any                   `json:"type"`
}

func readSchema(t *testing.T, name string) schemaNode {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("schema", name))
	if err != nil {
		t.Fatal(err)
	}
	var s schemaNode
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

var schemaFiles = map[string]reflect.Type{
	"plan.schema.json":        reflect.TypeFor[Plan](),
	"trial.schema.json":       reflect.TypeFor[Trial](),
	"result.schema.json":      reflect.TypeFor[Result](),
	"calibration.schema.json": reflect.TypeFor[Calibration](),
	"report.schema.json":      reflect.TypeFor[report](),

	"campaign.schema.json":   reflect.TypeFor[Campaign](),
	"merged.schema.json":     reflect.TypeFor[Merged](),
	"reproduces.schema.json": reflect.TypeFor[Reproduces](),
}

// Every key of the records stands in the schema, and every key of the schema in
// the records; required are those that are always written.
func TestSchemaHasEveryKey(t *testing.T) {
	for name, record := range schemaFiles {
		s := readSchema(t, name)
		seen := map[string]bool{}
		matchKeys(t, name, s, s, record, seen)
		for def := range s.Defs {
			if !seen[def] {
				t.Errorf("%s: nothing that a record has leads to $defs/%s", name, def)
			}
		}
	}
}

func matchKeys(t *testing.T, where string, root, node schemaNode, record reflect.Type, seen map[string]bool) {
	t.Helper()
	if def, ok := strings.CutPrefix(node.Ref, "#/$defs/"); ok {
		seen[def] = true
		node, ok = root.Defs[def]
		if !ok {
			t.Fatalf("%s: there is no $defs/%s", where, def)
		}
	}
	for record.Kind() == reflect.Pointer {
		record = record.Elem()
	}
	switch {
	case record.Kind() == reflect.Slice:
		if node.Items == nil {
			t.Fatalf("%s: no items", where)
		}
		matchKeys(t, where+"[]", root, *node.Items, record.Elem(), seen)
	case record.Kind() == reflect.Map:
		var value schemaNode
		if err := json.Unmarshal(node.Additional, &value); err != nil {
			t.Fatalf("%s: additionalProperties: %v", where, err)
		}
		matchKeys(t, where+"{}", root, value, record.Elem(), seen)
	case record.Kind() == reflect.Struct && record != reflect.TypeFor[time.Time]():
		matchFields(t, where, root, node, record, seen)
	}
}

func matchFields(t *testing.T, where string, root, node schemaNode, record reflect.Type, seen map[string]bool) {
	t.Helper()
	if string(node.Additional) != "false" {
		t.Errorf("%s: additionalProperties is %s, want false", where, node.Additional)
	}
	var keys, always []string
	for _, f := range reflect.VisibleFields(record) {
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() {
			continue
		}
		keys = append(keys, key)
		if option != "omitempty" {
			always = append(always, key)
		}
		property, ok := node.Properties[key]
		if !ok {
			t.Errorf("%s: the schema lacks %s", where, key)
			continue
		}
		matchKeys(t, where+"."+key, root, property, f.Type, seen)
	}
	for key := range node.Properties {
		if !slices.Contains(keys, key) {
			t.Errorf("%s: the record lacks %s", where, key)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(node.Required)), slices.Sorted(slices.Values(always))) {
		t.Errorf("%s: required are %q, want %q", where, node.Required, always)
	}
}

// The lists of the program and of the schemas are the same.
func TestSchemaHasSameLists(t *testing.T) {
	for _, c := range []struct {
		file string
		path []string
		want []string
	}{
		{"plan.schema.json", []string{"properties", "transport"}, transports},
		{"plan.schema.json", []string{"properties", "consumer"}, consumers},
		{"plan.schema.json", []string{"properties", "process"}, processes},
		{"plan.schema.json", []string{"properties", "metadata", "items"}, metadataKinds},
		{"trial.schema.json", []string{"properties", "metadata"}, metadataKinds},
		{"result.schema.json", []string{"properties", "transport"}, transports},
		{"report.schema.json", []string{"properties", "transport"}, transports},
		{"report.schema.json", []string{"properties", "status"}, []string{StatusVerified, StatusIncomplete, StatusInvalid}},
		{"report.schema.json", []string{"$defs", "decision"}, Decisions},
		{"merged.schema.json", []string{"$defs", "decision"}, Decisions},
		{"reproduces.schema.json", []string{"$defs", "cell", "properties", "outcome"}, []string{Reproduced, NotReproduced, TooImprecise}},
		{"result.schema.json", []string{"$defs", "row", "properties", "metric"}, Metrics},
		{"result.schema.json", []string{"$defs", "decision"}, Decisions},
		{"calibration.schema.json", []string{"$defs", "metric"}, Metrics},
		{"calibration.schema.json", []string{"$defs", "metadata"}, metadataKinds},
		{"calibration.schema.json", []string{"$defs", "run", "properties", "kind"}, []string{RunSame, RunLayouts, RunDelay}},
		{"result.schema.json", []string{"$defs", "verdict", "properties", "status"}, []string{StatusVerified, StatusIncomplete, StatusInvalid}},
	} {
		b, err := os.ReadFile(filepath.Join("schema", c.file))
		if err != nil {
			t.Fatal(err)
		}
		node := json.RawMessage(b)
		for _, key := range append(c.path, "enum") {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(node, &object); err != nil {
				t.Fatal(err)
			}
			node = object[key]
		}
		var got []string
		if err := json.Unmarshal(node, &got); err != nil {
			t.Fatalf("%s %q: %v", c.file, c.path, err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %q lists %q, want %q", c.file, c.path, got, c.want)
		}
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

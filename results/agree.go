package results

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Two runs of one plan agree in everything but what their seeds draw. What differs
// is named by the keys of the files.

// settings is the plan without what its seed decides and without its place in a
// campaign.
func (p Plan) settings() Plan {
	p.Seed, p.First, p.ControlAt = 0, nil, nil
	p.Reference.Layout, p.Candidate.Layout = nil, nil
	if p.Control != nil {
		control := *p.Control
		control.Layout = nil
		p.Control = &control
	}
	p.CampaignSHA256, p.Shard, p.Shards = "", nil, 0
	p.Budget = nil // how the rounds were chosen, which are compared themselves
	return p
}

// differing are the fields, by their keys, in which two records differ; those
// that are named are not looked at.
func differing[T any](a, b T, except ...string) []string {
	var found []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		name, _, _ := strings.Cut(x.Type().Field(i).Tag.Get("json"), ",")
		if name == "" || slices.Contains(except, name) {
			continue
		}
		if u, v := asWritten(x.Field(i).Interface()), asWritten(y.Field(i).Interface()); u != v {
			found = append(found, fmt.Sprintf("%s is %s and %s", name, shortened(u), shortened(v)))
		}
	}
	return found
}

// asWritten is a field as it stands in a file. Fields of records can all be written.
func asWritten(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v (%v)", v, err)
	}
	return string(b)
}

// sourceDifferences are the files in which two arms differ, a few by name.
func sourceDifferences(a, b []Source) []string {
	hashes := map[string]string{}
	for _, s := range a {
		hashes[s.Path] = s.SHA256
	}
	var found []string
	for _, s := range b {
		switch hash, ok := hashes[s.Path]; {
		case !ok:
			found = append(found, s.Path+" is new")
		case hash != s.SHA256:
			found = append(found, fmt.Sprintf("%s has sha256 %.12s and %.12s", s.Path, hash, s.SHA256))
		}
		delete(hashes, s.Path)
	}
	for _, s := range a {
		if _, left := hashes[s.Path]; left {
			found = append(found, s.Path+" is gone")
		}
	}
	if more := len(found) - 3; more > 0 {
		found = append(found[:3], fmt.Sprintf("and %d more", more))
	}
	return found
}

// SourcesDiffer says in which files two lists of sources differ, a few by name;
// it is empty where they do not.
func SourcesDiffer(a, b []Source) string { return strings.Join(sourceDifferences(a, b), ", ") }

// dissimilar says in what two arms differ that must be alike for their rounds to
// be of one comparison. Executables are compared where they must be equal.
func (a Arm) dissimilar(b Arm) []string {
	found := differing(a, b, "sources", "binary_sha256", "layouts")
	if s := SourcesDiffer(a.Sources, b.Sources); s != "" {
		found = append(found, "sources: "+s)
	}
	return found
}

package results

import (
	"fmt"
	"strings"
)

// text is the failure in full, on one line.
func (f *Failure) text() string {
	if f == nil {
		return "no failure is recorded"
	}
	parts := []string{f.Message}
	for _, field := range f.fields() {
		parts = append(parts, fmt.Sprintf("%s %s", field[0], field[1]))
	}
	return strings.Join(parts, "; ")
}

// fields are the parts of a failure that are there, without the message: where
// it was, and what was wanted and got.
func (f *Failure) fields() [][2]string {
	var out [][2]string
	add := func(name, value string) { out = append(out, [2]string{name, value}) }
	if f.Arm != "" {
		add("arm", f.Arm)
	}
	if f.Count != 0 {
		add("count", fmt.Sprint(f.Count))
	}
	if f.Metadata != "" {
		add("metadata", f.Metadata)
	}
	for _, n := range []struct {
		name  string
		value *int
	}{{"round", f.Round}, {"repetition", f.Repetition}, {"consumer", f.Consumer}} {
		if n.value != nil {
			add(n.name, fmt.Sprint(*n.value))
		}
	}
	if f.RID != "" {
		add("rid", f.RID)
	}
	if f.Field != "" {
		add("field", f.Field)
	}
	for _, s := range []struct {
		name  string
		value *string
	}{{"wanted", f.Wanted}, {"got", f.Got}} {
		if s.value != nil {
			add(s.name, *s.value)
		}
	}
	return out
}

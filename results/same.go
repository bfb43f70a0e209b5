package results

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// sameFields compares two summary rows field by field, by what is written of
// each, and names the first that differs.
func sameFields(got, want SummaryRow) error {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range w.NumField() {
		name := w.Type().Field(i).Tag.Get("json")
		if err := sameField(name, g.Field(i).Interface(), w.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// differing names the first field in which two records of different runs differ,
// with its two values; it is empty where none does.
func differing[T any](there, here T) string {
	a, b := reflect.ValueOf(there), reflect.ValueOf(here)
	for i := range a.NumField() {
		x, y := fieldText(a.Field(i)), fieldText(b.Field(i))
		if x != y {
			name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
			return fmt.Sprintf("%s is %s there, %s here", name, shortened(x), shortened(y))
		}
	}
	return ""
}

// fieldText is a value of a record that was read from JSON, as it is written there.
func fieldText(v reflect.Value) string {
	b, err := json.Marshal(v.Interface())
	if err != nil {
		panic(fmt.Sprintf("results: a value that was read is not written: %v", err))
	}
	return string(b)
}

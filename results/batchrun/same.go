package batchrun

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// sameRecord compares two records field by field, by what is written of each, and
// names the first that differs.
func sameRecord[T any](got, want T) error {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range w.NumField() {
		name, _, _ := strings.Cut(w.Type().Field(i).Tag.Get("json"), ",")
		if err := sameText(name, g.Field(i).Interface(), w.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

// sameList compares two lists of records; name tells which one an error is about.
func sameList[T any](what string, got, want []T, name func(T) string) error {
	if len(got) != len(want) {
		return form.Unwanted("the number of "+what, len(got), "%d", len(want))
	}
	for i := range want {
		if err := sameRecord(got[i], want[i]); err != nil {
			return fmt.Errorf("%s %d (%s): %w", what, i, name(want[i]), err)
		}
	}
	return nil
}

// sameText compares what is written of two values.
func sameText(name string, got, want any) error {
	a, err := json.Marshal(got)
	if err != nil {
		return err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if string(a) != string(b) {
		return fmt.Errorf("%s is %s, recomputed %s", name, form.Shortened(string(a)), form.Shortened(string(b)))
	}
	return nil
}

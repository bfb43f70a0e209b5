package results

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// sameFields compares two summary rows field by field, by what is written of
// each, and names the first that differs.
func sameFields(got, want SummaryRow) error {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range w.NumField() {
		a, err := json.Marshal(g.Field(i).Interface())
		if err != nil {
			return err
		}
		b, err := json.Marshal(w.Field(i).Interface())
		if err != nil {
			return err
		}
		if string(a) != string(b) {
			name := w.Type().Field(i).Tag.Get("json")
			return fmt.Errorf("%s is %s, recomputed %s", name, shortened(string(a)), shortened(string(b)))
		}
	}
	return nil
}

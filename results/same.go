package results

import "reflect"

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

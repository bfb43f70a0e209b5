package results

import (
	"reflect"
	"strings"
)

// sameFields compares two records field by field, by what is written of each, and
// names the first that differs.
func sameFields[T any](got, want T) error {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	for i := range w.NumField() {
		name, _, _ := strings.Cut(w.Type().Field(i).Tag.Get("json"), ",")
		if err := sameField(name, g.Field(i).Interface(), w.Field(i).Interface()); err != nil {
			return err
		}
	}
	return nil
}

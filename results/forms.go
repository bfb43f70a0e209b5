package results

import "github.com/fanoutbench/fanoutbench/results/form"

// What package form has, by the names that this package's records use for it.

func readFile(dir, name string, limit int64) ([]byte, error) { return form.ReadFile(dir, name, limit) }

func replace(path string, b []byte) error { return form.Replace(path, b) }

func sum(b []byte) string { return form.Sum(b) }

func checkHash(name, value string) error { return form.CheckHash(name, value) }

func unwanted(field string, value any, wanted string, args ...any) error {
	return form.Unwanted(field, value, wanted, args...)
}

func shortened(s string) string { return form.Shortened(s) }

func six(v *float64) *float64 { return form.Six(v) }

func orEmpty[K comparable, V any](m map[K]V) map[K]V { return form.OrEmpty(m) }

func listed[T any](s []T) []T { return form.Listed(s) }

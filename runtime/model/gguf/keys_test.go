package gguf

import (
	"fmt"
	"math"
	"testing"
)

// The file has a key of each type, and an array of each.
func everyType() made {
	numbers := []any{
		uint8(200), int8(-100), uint16(60000), int16(-30000), uint32(4e9), int32(-2e9), float32(1.5), uint8(1), "text",
		nil, uint64(1 << 62), int64(math.MinInt64), 2.5,
	}
	var m made
	for i, n := range numbers {
		if i == int(kindArray) {
			continue
		}
		m.keyBytes = append(m.keyBytes, pack(fmt.Sprint("k", i), u32(i), n, fmt.Sprint("a", i), u32(9), u32(i), u64(2), n, n)...)
		m.keys += 2
	}
	m.keyBytes = append(m.keyBytes, pack("large", u32(10), uint64(math.MaxUint64), "empty", u32(9), u32(8), u64(0))...)
	m.keys += 2
	return m
}

func TestKeys(t *testing.T) {
	f, err := Parse("f", everyType().bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]int64{0: 200, 1: -100, 2: 60000, 3: -30000, 4: 4e9, 5: -2e9, 10: 1 << 62, 11: math.MinInt64} {
		one, err := f.Int(fmt.Sprint("k", i))
		two, err2 := f.Ints(fmt.Sprint("a", i))
		if err != nil || err2 != nil || one != want || fmt.Sprint(two) != fmt.Sprint([]int64{want, want}) {
			t.Errorf("type %d: %d and %d, %v and %v, want %d", i, one, two, err, err2, want)
		}
	}
	for i, want := range map[int]float64{6: 1.5, 12: 2.5} {
		one, err := f.Float(fmt.Sprint("k", i))
		two, err2 := f.Floats(fmt.Sprint("a", i))
		if err != nil || err2 != nil || one != want || fmt.Sprint(two) != fmt.Sprint([]float64{want, want}) {
			t.Errorf("type %d: %v and %v, %v and %v, want %v", i, one, two, err, err2, want)
		}
	}
	text, err := f.String("k8")
	texts, err2 := f.Strings("a8")
	if err != nil || err2 != nil || text != "text" || fmt.Sprint(texts) != "[text text]" {
		t.Errorf("%q and %q, %v and %v", text, texts, err, err2)
	}
	if yes, err := f.Bool("k7"); err != nil || !yes {
		t.Errorf("%v, %v", yes, err)
	}
	if n, err := f.Len("a8"); err != nil || n != 2 {
		t.Errorf("%d, %v", n, err)
	}
	if none, err := f.Strings("empty"); err != nil || len(none) != 0 {
		t.Errorf("%q, %v", none, err)
	}
	if !f.Has("empty") || f.Has("none") {
		t.Error("Has is wrong")
	}
}

func TestKeysAskedForWrongly(t *testing.T) {
	f, err := Parse("f", everyType().bytes())
	if err != nil {
		t.Fatal(err)
	}
	get := func(_ any, err error) error { return err }
	for want, err := range map[string]error{
		"no key none, expected a whole number of at most 63 bits": get(f.Int("none")),
		"key k8 is string, expected a whole number":               get(f.Int("k8")),
		"key a4 is an array of u32, expected a whole number":      get(f.Int("a4")),
		"key large is u64, expected a whole number of at most 63": get(f.Int("large")),
		"key k4 is u32, expected f32 or f64":                      get(f.Float("k4")),
		"key a6 is an array of f32, expected f32 or f64":          get(f.Float("a6")),
		"key k0 is u8, expected a bool":                           get(f.Bool("k0")),
		"key a7 is an array of bool, expected a bool":             get(f.Bool("a7")),
		"key k0 is u8, expected a string":                         get(f.String("k0")),
		"key k8 is string, expected an array of strings":          get(f.Strings("k8")),
		"key a0 is an array of u8, expected an array of strings":  get(f.Strings("a0")),
		"key a6 is an array of f32, expected an array of whole":   get(f.Ints("a6")),
		"key a8 is an array of string, expected an array of whol": get(f.Ints("a8")),
		"key k6 is f32, expected an array of f32 or f64":          get(f.Floats("k6")),
		"key a0 is an array of u8, expected an array of f32 or f": get(f.Floats("a0")),
		"key k0 is u8, expected an array":                         get(f.Len("k0")),
	} {
		wantError(t, err, want)
	}
}

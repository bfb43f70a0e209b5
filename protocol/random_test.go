package protocol

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// text has what strings of real lines have, and what JSON must escape.
const text = "aZ09 _-/:.λ中😀\u2028\"\\<&>\n\t\x00\x7f"

// random fills every field of v, to any depth, with a value that survives JSON:
// strings of whole characters, compact raw values, no empty slice or map.
func random(rng *rand.Rand, v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(randomJSON(rng, 2)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			random(rng, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		random(rng, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+rng.IntN(3), 3))
		for i := range v.Len() {
			random(rng, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + rng.IntN(3) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			random(rng, key)
			random(rng, value)
			v.SetMapIndex(key, value)
		}
	default:
		randomScalar(rng, v)
	}
}

func randomScalar(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(randomText(rng))
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(rng.Uint64()) >> rng.IntN(64))
	case reflect.Uint8:
		v.SetUint(rng.Uint64() & 0xff)
	case reflect.Float64:
		v.SetFloat(rng.NormFloat64() * 1e3)
	default:
		panic(fmt.Sprintf("no random value for %v", v.Type())) // a type of this package that the test does not know
	}
}

func randomText(rng *rand.Rand) string {
	alphabet := []rune(text)
	var b strings.Builder
	for range rng.IntN(8) {
		b.WriteRune(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// randomJSON is one JSON value as encoding/json writes it.
func randomJSON(rng *rand.Rand, depth int) string {
	var v any
	switch rng.IntN(7 - 2*(1-min(depth, 1))) {
	case 0:
		v = nil
	case 1:
		v = rng.IntN(2) == 0
	case 2:
		v = rng.IntN(1000)
	case 3:
		v = rng.NormFloat64()
	case 4:
		v = randomText(rng)
	case 5:
		v = []json.RawMessage{[]byte(randomJSON(rng, depth-1)), []byte(randomJSON(rng, depth-1))}
	case 6:
		v = map[string]json.RawMessage{randomText(rng): []byte(randomJSON(rng, depth-1))}
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what is marshalled is made here
	}
	return string(b)
}

package request

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
)

// gen fills messages at random, by the types of their fields alone.
type gen struct {
	*rand.Rand
	utf8 bool // text is valid
}

func newGen(seed uint64) gen { return gen{rand.New(rand.NewPCG(seed, 11)), false} }

// message is one of every class in turn, with random fields.
func (g gen) message(i int) Message {
	m := reflect.New(layouts[i%len(layouts)].of)
	g.fill(m.Elem())
	return m.Interface().(Message)
}

func (g gen) text() string {
	const bytes = "aZ0 \n\"\\é語🙂\x00\xff"
	n := g.IntN(8)
	if g.IntN(16) == 0 {
		n = 20 + g.IntN(300)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = bytes[g.IntN(len(bytes))]
	}
	if g.utf8 {
		return strings.ToValidUTF8(string(b), "語")
	}
	return string(b)
}

func (g gen) int() int64 {
	v := int64(g.Uint64()) >> g.IntN(64)
	if v == everything {
		return -1 // which is how topK reads it
	}
	return v
}

func (g gen) fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(g.text())
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(g.int())
	case reflect.Float64:
		v.SetFloat(g.NormFloat64() * 10)
	case reflect.Uint8:
		v.SetUint(uint64(g.IntN(256)))
	case reflect.Struct:
		for i := range v.NumField() {
			g.fill(v.Field(i))
		}
	case reflect.Pointer:
		if g.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem())
		}
	case reflect.Slice:
		g.slice(v)
	case reflect.Map:
		if g.IntN(3) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range g.IntN(5) {
				v.SetMapIndex(reflect.ValueOf(g.int()), reflect.ValueOf(g.NormFloat64()))
			}
		}
	default:
		panic(fmt.Sprintf("no random %v", v.Type()))
	}
}

// slice is null, empty or has entries. A batch is never null.
func (g gen) slice(v reflect.Value) {
	n := g.IntN(6) - 1
	if v.Type() == reflect.TypeFor[[]TokenizedGenerateReqInput]() {
		n = max(n, 0)
	}
	if n < 0 {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		g.fill(v.Index(i))
	}
}

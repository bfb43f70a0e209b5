package wire

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
)

// gen fills messages at random, by the types of their fields alone.
type gen struct {
	*rand.Rand
	tensors bool // routed_experts and indexer_topk may hold tensors
}

func newGen(seed uint64) *gen { return &gen{Rand: rand.New(rand.NewPCG(seed, 7))} }

func (g *gen) chance(n int) bool { return g.IntN(n) == 0 }

// message fills every field of the message that m points to.
func (g *gen) message(t testing.TB, m Message, rows int) {
	t.Helper()
	s := reflect.ValueOf(m).Elem()
	for i := range s.NumField() {
		f, name := s.Field(i), s.Type().Field(i).Tag.Get("wire")
		switch {
		case name == "rids":
			rids := make([]string, rows)
			for k := range rids {
				rids[k] = fmt.Sprintf("rid-%d-%s", k, g.text())
			}
			f.Set(reflect.ValueOf(rids))
		case f.Type() == reflect.TypeFor[*Opaque]():
			f.Set(reflect.ValueOf(g.opaque(t, rows)))
		default:
			g.column(t, f, rows)
			if (name == "routed_experts" || name == "indexer_topk") && !g.tensors {
				for k := range f.Len() {
					f.Index(k).SetZero()
				}
			}
		}
	}
}

// column is null, empty, short, long, or has one entry a row.
func (g *gen) column(t testing.TB, f reflect.Value, rows int) {
	n := g.columnLen(rows)
	if n < 0 {
		f.SetZero()
		return
	}
	f.Set(reflect.MakeSlice(f.Type(), n, n))
	for k := range n {
		g.fill(t, f.Index(k))
	}
}

func (g *gen) columnLen(rows int) int {
	switch g.IntN(12) {
	case 0, 1:
		return -1
	case 2, 3:
		return g.IntN(rows + 1)
	case 4:
		return rows + 1 + g.IntN(2)
	}
	return rows
}

func (g *gen) fill(t testing.TB, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *Opt[string]:
		*p = maybe(g, g.text)
	case *Opt[bool]:
		*p = maybe(g, func() bool { return g.chance(2) })
	case *Opt[int64]:
		*p = maybe(g, g.int)
	case *Opt[float64]:
		*p = maybe(g, g.float)
	case *Opt[IntArray]:
		*p = maybe(g, g.intArray)
	case *Opt[Ext]:
		*p = maybe(g, g.ext)
	case *Map:
		if !g.chance(4) {
			*p = g.dict(2)
		}
	case *Value:
		*p = g.value(3)
	case *Embedding:
		*p = g.embedding()
	default:
		if v.Kind() != reflect.Slice {
			t.Fatalf("no random values for type %s: add them", v.Type())
		}
		if g.chance(5) {
			return
		}
		n := g.IntN(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for k := range n {
			g.fill(t, v.Index(k))
		}
	}
}

func maybe[T any](g *gen, f func() T) Opt[T] {
	if g.chance(5) {
		return Opt[T]{}
	}
	return Some(f())
}

func (g *gen) text() string {
	alphabet := []rune("ab λé😀\x00\n語")
	out := make([]rune, g.IntN(6))
	if g.chance(12) {
		out = make([]rune, 20+g.IntN(300))
	}
	for i := range out {
		out[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(out)
}

// int is of any encoded width, of either sign.
func (g *gen) int() int64 {
	v := int64(g.Uint64() >> g.IntN(64))
	if g.chance(3) {
		return -v - 1
	}
	return v
}

func (g *gen) float() float64 {
	if g.chance(6) {
		return []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 3, math.MaxFloat64}[g.IntN(6)]
	}
	return g.NormFloat64()
}

func (g *gen) intArray() IntArray {
	code := "bBhHiIlLqQ"[g.IntN(10)]
	size, unsigned, _ := typecode(code)
	a := IntArray{Typecode: code, Values: make([]int64, g.IntN(5))}
	for i := range a.Values {
		v := int64(g.Uint64()) >> (64 - 8*size)
		if unsigned {
			v = int64(g.Uint64() >> (64 - 8*size) & math.MaxInt64)
		}
		a.Values[i] = v
	}
	return a
}

func (g *gen) ext() Ext { return Ext{Type: int8(g.Uint32()), Data: g.bytes()} }

func (g *gen) bytes() []byte {
	b := make([]byte, g.IntN(20))
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

func (g *gen) value(depth int) Value {
	n := 12
	if depth == 0 {
		n = 9
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return g.chance(2)
	case 2, 3:
		return g.int()
	case 4:
		return g.Uint64() | 1<<63
	case 5:
		return g.float()
	case 6:
		return Float32(g.float())
	case 7:
		return g.text()
	case 8:
		if g.chance(2) {
			return g.bytes()
		}
		return g.ext()
	case 9:
		return g.dict(depth - 1)
	}
	list := make([]Value, g.IntN(4))
	for i := range list {
		list[i] = g.value(depth - 1)
	}
	return list
}

// embedding is of any form.
func (g *gen) embedding() Embedding {
	switch g.IntN(5) {
	case 0:
		return nil
	case 1:
		return g.number()
	case 2:
		m := make(Map, g.IntN(20))
		for i := range m {
			m[i] = Pair{g.int(), g.number()}
		}
		return m
	case 3:
		return g.vector()
	}
	list := make([]Value, g.IntN(20))
	for i := range list {
		if list[i] = g.number(); g.chance(2) {
			list[i] = g.vector()
		}
	}
	return list
}

func (g *gen) vector() []Value {
	list := make([]Value, g.IntN(20))
	for i := range list {
		list[i] = g.number()
	}
	return list
}

func (g *gen) number() Value {
	switch g.IntN(6) {
	case 0:
		return g.int()
	case 1:
		return Float32(g.float())
	}
	return g.float()
}

func (g *gen) dict(depth int) Map {
	m := make(Map, g.IntN(4))
	for i := range m {
		m[i] = Pair{g.text(), g.value(depth)}
	}
	return m
}

// opaque is null, or a list or a map of lists, native or wrapped.
func (g *gen) opaque(t testing.TB, rows int) *Opaque {
	if g.chance(6) {
		return nil
	}
	v := g.opaqueValue(rows)
	if g.chance(3) && v != nil {
		return &Opaque{Native: v}
	}
	o, err := Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (g *gen) opaqueValue(rows int) Value {
	if g.chance(2) {
		return g.rowList(rows)
	}
	m := make(Map, g.IntN(20))
	for i := range m {
		m[i] = Pair{fmt.Sprintf("key-%d-%s", i, g.text()), g.rowList(rows)}
	}
	return m
}

func (g *gen) rowList(rows int) Value {
	n := g.columnLen(rows)
	if n < 0 {
		return nil
	}
	list := make([]Value, n)
	for i := range list {
		list[i] = g.value(2)
	}
	return list
}

// randomBatches calls f with random batches; a failure names the seed.
func randomBatches(t *testing.T, n int, tensors bool, f func(t *testing.T, g *gen, m *BatchTokenIDOutput)) {
	t.Helper()
	for seed := range uint64(n) {
		g := newGen(seed)
		g.tensors = tensors
		rows := 1 + g.IntN(6)
		if g.chance(10) {
			rows = 14 + g.IntN(30)
		}
		m := &BatchTokenIDOutput{}
		g.message(t, m, rows)
		f(t, g, m)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func mustEncode(t testing.TB, m Message) []byte {
	t.Helper()
	b, err := Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

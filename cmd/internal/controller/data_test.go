package controller

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Values and their plain JSON, as package protocol describes it.
var plain = []struct {
	value wire.Value
	json  string
}{
	{nil, "null"},
	{true, "true"},
	{int64(-7), "-7"},
	{int64(maxExact), "9007199254740992"},
	{0.5, "0.5"},
	{1e300, "1e+300"},
	{math.Inf(1), `{"$f":"inf"}`},
	{math.Inf(-1), `{"$f":"-inf"}`},
	{"λ \" \n", `"λ \" \n"`},
	{[]byte{0, 255}, `{"$b64":"AP8="}`},
	{[]wire.Value{}, "[]"},
	{[]wire.Value{nil, int64(1), "x"}, `[null,1,"x"]`},
	{wire.Map{{Key: "b", Value: int64(1)}, {Key: "a", Value: wire.Map{}}}, `{"b":1,"a":{}}`},
}

func TestPlainJSON(t *testing.T) {
	for _, k := range plain {
		got, err := toJSON(nil, k.value)
		if err != nil || string(got) != k.json {
			t.Errorf("%#v is %s, %v; want %s", k.value, got, err, k.json)
		}
		back, err := fromJSON([]byte(k.json))
		if err != nil || !reflect.DeepEqual(back, k.value) {
			t.Errorf("%s is %#v, %v; want %#v", k.json, back, err, k.value)
		}
	}
}

// What JSON has no number for is a string, and a null is a null however it is
// typed.
func TestOneWay(t *testing.T) {
	for want, v := range map[string]wire.Value{
		`"9007199254740993"`:     int64(maxExact + 1),
		`"-9007199254740993"`:    int64(-maxExact - 1),
		`"18446744073709551615"`: uint64(math.MaxUint64),
		`{"$f":"nan"}`:           math.NaN(),
		"0.25":                   wire.Float32(0.25),
		"null":                   wire.Map(nil),
	} {
		if got, err := toJSON(nil, v); err != nil || string(got) != want {
			t.Errorf("%#v is %s, %v; want %s", v, got, err, want)
		}
	}
	for _, v := range []wire.Value{wire.Map{{Key: int64(1), Value: nil}}, struct{}{}, []wire.Value{struct{}{}}} {
		if got, err := toJSON(nil, v); err == nil {
			t.Errorf("%#v is %s, want an error", v, got)
		}
	}
}

// Whatever JSON comes, it gives a value that is written and read back the same,
// or an error.
func FuzzFromJSON(f *testing.F) {
	for _, k := range plain {
		f.Add([]byte(k.json))
	}
	for _, s := range []string{`{"$f":"nan"}`, `{"$f":1}`, `{"$b64":"*"}`, "[", "1 2", "12345678901234567890", `{"a":1,"a":2}`, "-0", "1e999"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := fromJSON(raw)
		if err != nil {
			return
		}
		first, err := toJSON(nil, v)
		if err != nil {
			t.Fatalf("%s is read as %#v, which cannot be written: %v", raw, v, err)
		}
		if !json.Valid(first) {
			t.Fatalf("%s is written as %s", raw, first)
		}
		back, err := fromJSON(first)
		if err != nil {
			t.Fatalf("%s, written of %s, cannot be read: %v", first, raw, err)
		}
		if second, err := toJSON(nil, back); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s is written again as %s, %v", first, second, err)
		}
	})
}

// Times survive the way to the sender's own clock and back.
func TestClocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		offset := rng.Float64() * 2e9
		row := wire.Map{
			{Key: "forward_entry_time", Value: 1.8e9 + rng.Float64()*1000},
			{Key: "unset_time", Value: 0.0}, {Key: "none_time", Value: nil},
			{Key: "queue_duration_s", Value: rng.Float64()}, {Key: "has_timing_data", Value: true},
		}
		own, err := toOwnClock([]wire.Value{row}, offset)
		if err != nil {
			t.Fatal(err)
		}
		sent := own.([]wire.Value)[0].(wire.Map)
		if at, ok := sent.Get(clockOffset); !ok || at != offset {
			t.Fatalf("the row carries the offset %v, want %v", at, offset)
		}
		if at, _ := sent.Get("forward_entry_time"); at == row[0].Value {
			t.Fatalf("%v was not shifted by %v", at, offset)
		}
		back, err := toSharedClock(sent)
		if err != nil {
			t.Fatal(err)
		}
		got := back.(wire.Map)
		if len(got) != len(row) {
			t.Fatalf("got %v, sent %v", got, row)
		}
		if d := got[0].Value.(float64) - row[0].Value.(float64); math.Abs(d) > 5e-6 {
			t.Errorf("offset %v: a time is %v s off", offset, d)
		}
		if !reflect.DeepEqual(got[1:], row[1:]) {
			t.Errorf("got %v, sent %v", got, row)
		}
	}
	for _, bad := range []wire.Value{nil, "x", []wire.Value{"x"}, []wire.Value{wire.Map{{Key: "a_time", Value: "x"}}}} {
		if v, err := toOwnClock(bad, 1); err == nil {
			t.Errorf("%#v gives %#v, want an error", bad, v)
		}
	}
	for _, odd := range []wire.Value{nil, "x", wire.Map{}, wire.Map{{Key: clockOffset, Value: "x"}}} {
		if v, err := toSharedClock(odd); err != nil || !reflect.DeepEqual(v, odd) {
			t.Errorf("%#v gives %#v, %v; want it as it is, for the driver to judge", odd, v, err)
		}
	}
}

// A row's nulls are left out; what cannot be written is named.
func TestFields(t *testing.T) {
	got, err := fields(map[string]wire.Value{"a": nil, "b": int64(1), "c": wire.Map(nil)})
	if err != nil || len(got) != 1 || string(got["b"]) != "1" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := fields(map[string]wire.Value{"odd": struct{}{}}); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("got %v, want an error that names the field", err)
	}
}

// Text that JSON cannot hold is an error, not U+FFFD, which might be right.
func TestBrokenText(t *testing.T) {
	for _, v := range []wire.Value{"a\xffb", []wire.Value{"\xc3"}, wire.Map{{Key: "\x80", Value: nil}}, wire.Map{{Key: "k", Value: "\xed\xa0\x80"}}} {
		if got, err := toJSON(nil, v); err == nil {
			t.Errorf("%q became %s, want an error", v, got)
		}
	}
}

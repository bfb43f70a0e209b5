package counters

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// The bytes of a file, as doc.go has them.
func TestLayout(t *testing.T) {
	s, path := create(t, t.TempDir(), "worker-0", all)
	s.Counter("rows_built").Add(5)
	s.Gauge("queue").Set(-1.5)
	for _, v := range []float64{1, 2, 2, 3} { // 1 is a bound: it counts below it
		s.Histogram("wait_seconds").Observe(v)
	}
	s.metrics["loop"].words[0].Store(7<<2 | 1)
	s.Counter("bytes_2").Add(1 << 40)

	header := "fanoutbench counters 1\n5\n" +
		`{"name":"rows_built","help":"Rows.","kind":"counter"}` + "\n" +
		`{"name":"queue","help":"Waiting, \"now\" \u003c1\u003e.","kind":"gauge"}` + "\n" +
		`{"name":"wait_seconds","help":"Wait.","kind":"histogram","buckets":[0.001,1,2.5]}` + "\n" +
		`{"name":"loop","help":"Turns.","kind":"beat"}` + "\n" +
		`{"name":"bytes_2","help":"Bytes.","kind":"counter"}` + "\n"
	header += strings.Repeat("\x00", (8-len(header)%8)%8)
	want := []byte(header)
	for _, word := range []uint64{5, math.Float64bits(-1.5), 0, 1, 2, 1, math.Float64bits(8), 7<<2 | 1, 1 << 40} {
		want = binary.NativeEndian.AppendUint64(want, word)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want) {
		t.Fatalf("%v\n got %q\nwant %q", err, got, want)
	}

	values := read(t, path)
	for name, v := range map[string]Value{
		"rows_built":   {Spec: all[0], Count: 5},
		"queue":        {Spec: all[1], Gauge: -1.5},
		"wait_seconds": {Spec: all[2], Count: 4, Sum: 8, Bucket: []uint64{0, 1, 2, 1}},
		"loop":         {Spec: all[3], Gauge: 7e-9, State: Busy},
		"bytes_2":      {Spec: all[4], Count: 1 << 40},
	} {
		if !reflect.DeepEqual(values[name], v) {
			t.Errorf("read %+v, wanted %+v", values[name], v)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	counter := Spec{Name: "a", Help: "A.", Kind: KindCounter}
	histogram := func(bounds ...float64) []Spec { return []Spec{{"h", "H.", KindHistogram, bounds}} }
	for name, c := range map[string]struct {
		specs []Spec
		want  string
	}{
		"nothing":        {nil, "0 metrics, wanted 1 to 1000"},
		"too many":       {make([]Spec, 1001), "1001 metrics, wanted 1 to 1000"},
		"no name":        {[]Spec{{"", "A.", KindCounter, nil}}, `metric 0 has the name "", wanted snake_case`},
		"capital":        {[]Spec{counter, {"aB", "A.", KindCounter, nil}}, `metric 1 has the name "aB"`},
		"line":           {[]Spec{{"a\n", "A.", KindCounter, nil}}, `the name "a\n"`},
		"double":         {[]Spec{counter, counter}, "two metrics are named a"},
		"no help":        {[]Spec{{"a", "", KindCounter, nil}}, "metric a: it has no help"},
		"kind":           {[]Spec{{"a", "A.", "summary", nil}}, `metric a: kind "summary", wanted counter, gauge`},
		"buckets":        {[]Spec{{"a", "A.", KindGauge, []float64{1}}}, "a gauge has no buckets"},
		"no bucket":      {histogram(), "metric h: 0 buckets, wanted 1 to 200"},
		"many buckets":   {histogram(make([]float64, 201)...), "201 buckets, wanted 1 to 200"},
		"descending":     {histogram(1, 3, 2), "bucket 2 ends at 2, not above the one before it, 3"},
		"equal":          {histogram(1, 1), "bucket 1 ends at 1, not above the one before it, 1"},
		"not a number":   {histogram(math.NaN()), "bucket 0 ends at NaN, wanted a finite bound"},
		"infinite":       {histogram(1, math.Inf(1)), "bucket 1 ends at +Inf"},
		"a header of MB": {[]Spec{{"a", strings.Repeat("A", maxHeader), KindCounter, nil}}, "at most 1048576 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "worker-0.counters")
			_, err := Create(path, c.specs)
			wantError(t, err, path, c.want)
			wantFiles(t, folder)
		})
	}
}

func TestCreateLeavesWhatIsThere(t *testing.T) {
	folder := t.TempDir()
	s, path := create(t, folder, "worker-0", all)
	s.Counter("rows_built").Add(3)
	_, err := Create(path, all)
	wantError(t, err, path, "file exists")
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v is not fs.ErrExist", err)
	}
	if n := read(t, path)["rows_built"].Count; n != 3 {
		t.Errorf("the first has counted %d, wanted 3", n)
	}
	wantFiles(t, folder, "worker-0.counters")

	_, err = Create(filepath.Join(folder, "none", "worker-0.counters"), all)
	wantError(t, err, "none", "no such file")
}

// wantFiles wants the folder to hold nothing else.
func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the folder has %q, wanted %q", got, want)
	}
}

func TestNamesOfTheProgram(t *testing.T) {
	s, path := create(t, t.TempDir(), "worker-0", all)
	for _, c := range []struct {
		take func()
		want string
	}{
		{func() { s.Counter("rows_sent") }, `no metric "rows_sent" was declared`},
		{func() { s.Gauge("rows_built") }, "rows_built was declared as a counter, not as a gauge"},
		{func() { s.Histogram("loop") }, "loop was declared as a beat, not as a histogram"},
		{func() { s.Beat("queue") }, "queue was declared as a gauge, not as a beat"},
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, c.want) || !strings.Contains(text, path) {
					t.Errorf("panic %q, wanted %q and the path", text, c.want)
				}
			}()
			c.take()
		}()
	}
}

package counters

import (
	"path/filepath"
	"strings"
	"testing"
)

// all has a metric of each kind.
var all = []Spec{
	{Name: "rows_built", Help: "Rows.", Kind: KindCounter},
	{Name: "queue", Help: `Waiting, "now" <1>.`, Kind: KindGauge},
	{Name: "wait_seconds", Help: "Wait.", Kind: KindHistogram, Buckets: []float64{0.001, 1, 2.5}},
	{Name: "loop", Help: "Turns.", Kind: KindBeat},
	{Name: "bytes_2", Help: "Bytes.", Kind: KindCounter},
}

func create(t testing.TB, folder, part string, specs []Spec) (*Set, string) {
	t.Helper()
	path := filepath.Join(folder, part+suffix)
	s, err := Create(path, specs)
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

func read(t testing.TB, path string) map[string]Value {
	t.Helper()
	values, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// wantError wants an error that has all of the texts.
func wantError(t testing.TB, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, wanted one with %q", texts)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Fatalf("error %q, wanted one with %q", err, text)
		}
	}
}

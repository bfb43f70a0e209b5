package counters

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
)

func counterSpecs(names ...string) []Spec {
	var specs []Spec
	for _, name := range names {
		specs = append(specs, Spec{Name: name, Help: "Rows.", Kind: KindCounter})
	}
	return specs
}

func TestLedger(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "scheduler"), nil, 0o600); err != nil { // as a socket would lie there
		t.Fatal(err)
	}
	workers := []string{"rows_delivered", "rows_dropped_request_ended", "rows_dropped_unknown", "rows_missing", "rows_doubled", "rows_reordered", "messages"}
	for part, c := range map[string]struct {
		names []string
		first uint64
	}{
		"scheduler":          {[]string{"rows_built", "messages"}, 1000},
		"detokenizer-router": {[]string{"rows_dropped_router"}, 3},
		"detokenizer-0":      {[]string{"rows_dropped_detokenizer"}, 5},
		"detokenizer-1":      {[]string{"rows_dropped_detokenizer", "rows_dropped_new_reason"}, 7},
		"worker-0":           {workers, 10},
		"worker-1":           {workers, 100},
	} {
		s, _ := create(t, folder, part, counterSpecs(c.names...))
		for i, name := range c.names {
			s.Counter(name).Add(c.first + uint64(i))
		}
	}
	got, err := ReadLedger(folder)
	want := Ledger{
		Built: 1000, Delivered: 10 + 100,
		Dropped: map[string]uint64{"router": 3, "detokenizer": 5 + 7, "new_reason": 8, "request_ended": 11 + 101, "unknown": 12 + 102},
		Missing: 13 + 103, Doubled: 14 + 104, Reordered: 15 + 105,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	if n := got.InFlight(); n != 1000-110-3-12-8-112-114 {
		t.Errorf("%d in flight", n)
	}
	got.Delivered += 2000
	if n := got.InFlight(); n >= 0 {
		t.Errorf("%d in flight, wanted fewer than none: more came than was built", n)
	}
}

func TestLedgerRefuses(t *testing.T) {
	folder := t.TempDir()
	_, err := ReadLedger(folder)
	wantError(t, err, folder, "no part has a file NAME.counters")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}

	create(t, folder, "worker-0", []Spec{{"rows_delivered", "Rows.", KindGauge, nil}})
	_, err = ReadLedger(folder)
	wantError(t, err, "rows_delivered of worker-0 is a gauge, wanted a counter")

	if err := os.WriteFile(filepath.Join(folder, "worker-1.counters"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = ReadLedger(folder)
	wantError(t, err, "worker-1.counters", `begins with ""`)
}

// However a reading falls, nothing is delivered that was not built, and all reasons are there.
func TestLedgerUnderLoad(t *testing.T) {
	folder := t.TempDir()
	// Their names are read in this order, which would be the wrong one.
	scheduler, _ := create(t, folder, "a-scheduler", counterSpecs("rows_built"))
	worker, _ := create(t, folder, "b-worker", counterSpecs("rows_delivered", "rows_dropped_unknown"))
	rows, done := make(chan int, 16), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(rows)
		built := scheduler.Counter("rows_built")
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			built.Add(1)
			rows <- i
		}
	})
	wg.Go(func() {
		delivered, unknown := worker.Counter("rows_delivered"), worker.Counter("rows_dropped_unknown")
		for i := range rows {
			if i%10 == 0 {
				unknown.Add(1)
			} else {
				delivered.Add(1)
			}
		}
	})
	for range 2000 {
		l, err := ReadLedger(folder)
		if err != nil || l.InFlight() < 0 || len(l.Dropped) != 4 {
			t.Errorf("%v: %+v, %d in flight", err, l, l.InFlight())
			break
		}
	}
	close(done)
	wg.Wait()
	if l, err := ReadLedger(folder); err != nil || l.InFlight() != 0 || l.Built == 0 {
		t.Errorf("at the end: %v, %+v, %d in flight", err, l, l.InFlight())
	}
}

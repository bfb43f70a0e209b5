package counters

import (
	"path/filepath"
	"testing"
)

func TestFirst(t *testing.T) {
	folder := t.TempDir()
	s, err := Create(filepath.Join(folder, "scheduler.counters"), []Spec{{"rows_built", "Rows.", KindCounter, nil}, {"depth", "Depth.", KindGauge, nil}, {"ttft", "T.", KindHistogram, []float64{1, 2}}, {"loop", "L.", KindBeat, nil}})
	if err != nil {
		t.Fatal(err)
	}
	s.Counter("rows_built").Add(3)
	s.Gauge("depth").Max(4)
	s.Histogram("ttft").Observe(2)
	s.Beat("loop").Busy()
	l, err := ReadLedger(folder)
	if err != nil || l.InFlight() != 3 {
		t.Fatal(l, err)
	}
	v, err := Read(filepath.Join(folder, "scheduler.counters"))
	t.Log(v, err)
	t.Log(Stuck(folder, Now()+5, 4e9))
}

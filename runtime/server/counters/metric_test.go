package counters

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Many goroutines and two mappings of one file: nothing is lost.
func TestManyAddAtOnce(t *testing.T) {
	const goroutines, each = 8, 5000
	s, path := create(t, t.TempDir(), "worker-0", all)
	counter, gauge, histogram, high := s.Counter("rows_built"), s.Gauge("queue"), s.Histogram("wait_seconds"), s.Counter("bytes_2")
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				counter.Add(uint64(g))
				gauge.Add(float64(1 - 2*(i%2)))
				histogram.Observe(float64(i % 4))
				high.Add(1)
			}
			gauge.Add(float64(g))
		})
	}
	wg.Wait()
	values := read(t, path)
	triangle := uint64(goroutines * (goroutines - 1) / 2)
	if n := values["rows_built"].Count; n != triangle*each || counter.Value() != n {
		t.Errorf("counted %d, %d, wanted %d", n, counter.Value(), triangle*each)
	}
	if v := values["queue"].Gauge; v != float64(triangle) || gauge.Value() != v {
		t.Errorf("the gauge is at %v, %v, wanted %d", v, gauge.Value(), triangle)
	}
	quarter := uint64(goroutines * each / 4)
	h := values["wait_seconds"]
	if want := []uint64{quarter, quarter, quarter, quarter}; !slices.Equal(h.Bucket, want) || h.Sum != float64(6*quarter) || h.Count != 4*quarter {
		t.Errorf("the histogram is %+v, wanted buckets %d and the sum %d", h, want, 6*quarter)
	}
}

func TestHighWaterMark(t *testing.T) {
	s, path := create(t, t.TempDir(), "worker-0", all)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				s.Gauge("queue").Max(float64(i*8 + g))
			}
		})
	}
	wg.Wait()
	s.Gauge("queue").Max(3)
	if v := read(t, path)["queue"].Gauge; v != 7999 {
		t.Errorf("the highest was %v, wanted 7999", v)
	}
}

// twin counts as a reader of the definition would: a comparison a bound.
type twin struct {
	bounds []float64
	bucket []uint64
	sum    float64
}

func (h *twin) observe(v float64) {
	i := 0
	for i < len(h.bounds) && !(v <= h.bounds[i]) {
		i++
	}
	h.bucket[i]++
	h.sum += v
}

func TestHistogramAgainstItsTwin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 7))
	for range 100 {
		bounds := make([]float64, 1+random.IntN(20))
		for i := range bounds {
			bounds[i] = math.Trunc(random.NormFloat64()*30) / 4
		}
		slices.Sort(bounds)
		bounds = slices.Compact(bounds)
		s, path := create(t, t.TempDir(), "worker-0", []Spec{{"h", "H.", KindHistogram, bounds}})
		want := twin{bounds, make([]uint64, len(bounds)+1), 0}
		observe := func(v float64) { s.Histogram("h").Observe(v); want.observe(v) }
		for range 200 {
			switch random.IntN(10) {
			case 0, 1, 2:
				observe(bounds[random.IntN(len(bounds))])
			case 3:
				observe(math.Nextafter(bounds[random.IntN(len(bounds))], math.Inf(1)))
			default:
				observe(random.NormFloat64() * 10)
			}
		}
		got := read(t, path)["h"]
		if !slices.Equal(got.Bucket, want.bucket) || got.Sum != want.sum || got.Count != 200 {
			t.Fatalf("bounds %v: %v, sum %v; wanted %v, sum %v", bounds, got.Bucket, got.Sum, want.bucket, want.sum)
		}
		observe(math.Inf(-1))
		observe(math.NaN())
		got = read(t, path)["h"]
		if !slices.Equal(got.Bucket, want.bucket) || !math.IsNaN(got.Sum) {
			t.Fatalf("bounds %v: %v, sum %v; wanted %v, sum NaN", bounds, got.Bucket, got.Sum, want.bucket)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	s, _ := create(t, t.TempDir(), "worker-0", all)
	counter, gauge, histogram, beat := s.Counter("rows_built"), s.Gauge("queue"), s.Histogram("wait_seconds"), s.Beat("loop")
	n := testing.AllocsPerRun(100, func() {
		counter.Add(counter.Value())
		gauge.Set(1)
		gauge.Add(gauge.Value())
		gauge.Max(9)
		histogram.Observe(1.5)
		beat.Busy()
		beat.Idle()
	})
	if n != 0 {
		t.Errorf("%v allocations, wanted none", n)
	}
}

// A metric outlives its Set, and what counts after Close counts.
func TestCountAfterClose(t *testing.T) {
	s, path := create(t, t.TempDir(), "worker-0", all)
	counter, histogram := s.Counter("rows_built"), s.Histogram("wait_seconds")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = nil
	for range 5 {
		runtime.GC() // the mapping would go here
		counter.Add(1)
		histogram.Observe(1)
	}
	if values := read(t, path); values["rows_built"].Count != 5 || values["wait_seconds"].Count != 5 {
		t.Errorf("read %+v, wanted 5 of each", values)
	}
}

func BenchmarkCount(b *testing.B) {
	s, _ := create(b, b.TempDir(), "worker-0", all)
	counter, histogram, beat := s.Counter("rows_built"), s.Histogram("wait_seconds"), s.Beat("loop")
	b.Run("counter", func(b *testing.B) {
		for b.Loop() {
			counter.Add(1)
		}
	})
	b.Run("histogram", func(b *testing.B) {
		for b.Loop() {
			histogram.Observe(1)
		}
	})
	b.Run("beat", func(b *testing.B) {
		for b.Loop() {
			beat.Busy()
		}
	})
}

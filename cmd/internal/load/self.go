package load

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"

	"golang.org/x/sys/unix"
)

// use is what the process has used so far.
type use struct {
	cpu     float64 // seconds
	pauses  *metrics.Float64Histogram
	pausing uint64 // nanoseconds
}

// pausesMetric has all stops of the world for garbage collection.
const pausesMetric = "/sched/pauses/total/gc:seconds"

func takeUsage() (use, error) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return use{}, fmt.Errorf("load: CPU time of this process: %w", err)
	}
	sample := []metrics.Sample{{Name: pausesMetric}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return use{}, fmt.Errorf("load: this Go runtime has no metric %s", pausesMetric)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return use{
		cpu:    float64(unix.TimevalToNsec(r.Utime)+unix.TimevalToNsec(r.Stime)) / 1e9,
		pauses: sample[0].Value.Float64Histogram(), pausing: m.PauseTotalNs,
	}, nil
}

func (s *sender) account(before, after use) {
	s.self.CPU = after.cpu - before.cpu
	s.self.GCPauses = pausesBetween(before, after)
	s.self.Connections = int(s.opened.Load())
	s.self.AnswerBytes = s.answerBytes.Load()
	s.self.Goroutines = int(s.goroutines.Load())
	s.self.MaxInFlight = int(s.most.Load())
	s.self.StoodIn = int(s.stoodIn.Load())
	var late []float64
	for _, r := range s.records {
		if l, ok := r.Lateness(); ok {
			late = append(late, l)
			s.self.RequestBytes += int64(len(s.requests[r.Request]))
		}
		if r.Redialled {
			s.self.RedialledCount++
		}
	}
	s.self.Lateness = SpreadOf(late)
}

func pausesBetween(before, after use) Pauses {
	if after.pauses == nil || before.pauses == nil {
		return Pauses{}
	}
	p := Pauses{Total: float64(after.pausing-before.pausing) / 1e9}
	for i, n := range after.pauses.Counts {
		if n -= before.pauses.Counts[i]; n > 0 {
			p.Count += int(n)
			p.Worst = after.pauses.Buckets[i+1]
			if math.IsInf(p.Worst, 1) {
				p.Worst = after.pauses.Buckets[i]
			}
		}
	}
	return p
}

// SpreadOf is the distribution of the values, which it sorts.
func SpreadOf(x []float64) Spread {
	slices.Sort(x)
	return Spread{
		N: len(x), P50: rank(x, 50, 100), P90: rank(x, 90, 100), P99: rank(x, 99, 100),
		P999: rank(x, 999, 1000), Max: rank(x, 1, 1),
	}
}

// rank is the nearest-rank quantile part/whole of sorted values; 0 of none. It counts in integers, since 0.9*10 in
// floating point may lie above 9.
func rank(sorted []float64, part, whole int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, (len(sorted)*part+whole-1)/whole-1)]
}

// raiseDescriptors raises the soft limit on open files to the hard one.
func raiseDescriptors() (Descriptors, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return Descriptors{}, fmt.Errorf("load: limit of descriptors: %w", err)
	}
	d := Descriptors{Before: l.Cur, Limit: l.Max}
	if l.Cur == l.Max {
		return d, nil
	}
	l.Cur = l.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return Descriptors{}, fmt.Errorf("load: raise the limit of descriptors from %d to the hard limit %d: %w", d.Before, d.Limit, err)
	}
	d.Raised = true
	return d, nil
}

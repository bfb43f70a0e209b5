package transport_test

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// engineLanes are what BenchmarkEngines puts side by side; with the build tag python libzmq is there too.
var engineLanes = map[string]func(b *testing.B, row []byte) lane{
	"zmtp": func(b *testing.B, row []byte) lane { return engineLane(b, "zmtp", inProcess, row) },
	"zmq4": func(b *testing.B, row []byte) lane { return engineLane(b, "zmq4", inProcess, row) },
	"raw":  func(b *testing.B, row []byte) lane { return rawLane(b, inProcess, row) },
}

// BenchmarkEngines sends a burst of 310 rows of 200 B over each engine in turn, the reader in a process of
// its own, and reports the median time of each and the median of its ratios to zmtp in the same round.
// The lane of pyzmq has its sender in a process of its own as well, so that its time has one message over
// a pipe in it that the others have not.
func BenchmarkEngines(b *testing.B) {
	row := make([]byte, 200)
	names := slices.Sorted(maps.Keys(engineLanes))
	lanes := make([]lane, len(names))
	for i, name := range names {
		lanes[i] = engineLanes[name](b, row)
		lanes[i].burst(b) // what is slow only once
	}
	times, ratios := make([][]float64, len(names)), make([][]float64, len(names))
	zmtp := slices.Index(names, "zmtp")
	for round := 0; b.Loop(); round++ {
		d := make([]time.Duration, len(lanes))
		for k := range lanes {
			i := (round + k) % len(lanes)
			d[i] = lanes[i].burst(b)
		}
		for i := range lanes {
			times[i] = append(times[i], float64(d[i]))
			ratios[i] = append(ratios[i], float64(d[i])/float64(d[zmtp]))
		}
	}
	for i, name := range names {
		b.ReportMetric(median(times[i]), name+"-ns/burst")
		if i != zmtp {
			b.ReportMetric(median(ratios[i]), name+"/zmtp")
		}
	}
}

func median(all []float64) float64 {
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

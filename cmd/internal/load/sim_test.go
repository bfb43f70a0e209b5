package load

import (
	"math/rand/v2"
	"testing"
)

// queue plays one server with exponential or fixed service times over the schedule.
func queue(s Schedule, service func() float64) Result {
	sent := make([]Sent, len(s.At))
	free := 0.0
	for i, at := range s.At {
		sentAt, start := at, max(at, free)
		done := start + service()
		free = done
		sent[i] = Sent{Index: i, Request: s.Request[i], Intended: at, Sent: &sentAt, FirstByte: &done, Done: &done, Status: 200}
	}
	return Result{Sent: sent, Wall: free}
}

func TestSimProbe(t *testing.T) {
	for _, n := range []float64{200, 1000, 5000} {
		for _, rho := range []float64{0.3, 0.5, 0.7, 0.8, 0.9, 1.05, 1.1, 1.2, 1.5, 2} {
			bad, grow := 0, 0
			for seed := range uint64(300) {
				s, err := NewSchedule(Spec{Seed: seed, Distribution: Poisson, RPS: 100, Seconds: n / 100, Unique: 1, Shards: 1})
				if err != nil {
					t.Fatal(err)
				}
				r := rand.New(rand.NewPCG(seed, 99))
				v := Judge(s, queue(s, func() float64 { return r.ExpFloat64() * rho / 100 }), NullLimits())
				if !v.Valid {
					bad++
				}
				for _, x := range v.Reasons {
					if x[:20] == "saturation: requests"[:20] && x[21:23] == "in" {
						grow++
					}
				}
			}
			t.Logf("n %v rho %v invalid %d growth %d of 300", n, rho, bad, grow)
		}
	}
}

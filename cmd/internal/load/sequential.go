package load

import (
	"context"
	"fmt"
)

// Sequential sends n requests one after the other, the next when the one before has been answered: the latency of a single
// request, with nothing else on the server. It is a closed loop, so a request has no intended time of
// its own: it is due when it is sent. What waits while the server stalls is therefore never seen; a
// load is not measured so.
func Sequential(ctx context.Context, n int, t Target, bodies [][]byte, check func(Sent) error) (Result, error) {
	if n < 1 {
		return Result{}, fmt.Errorf("load: %d requests, want 1 or more", n)
	}
	if len(bodies) == 0 {
		return Result{}, fmt.Errorf("load: no bodies")
	}
	s := Schedule{At: make([]float64, n), Request: make([]int, n)}
	for i := range s.Request {
		s.Request[i] = i % len(bodies)
	}
	return runWith(ctx, s, t, bodies, check, way{clock: realClock, sequential: true})
}

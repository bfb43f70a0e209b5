package load

import (
	"context"
	"testing"
	"time"
)

const guard = 60 * time.Second // a test that hangs; never a judgement

func schedule(t *testing.T, rps, seconds float64) Schedule {
	t.Helper()
	s, err := NewSchedule(Spec{Seed: 7, Distribution: Poisson, RPS: rps, Seconds: seconds, Unique: 3, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bodies() [][]byte { return [][]byte{[]byte("zero"), []byte("one"), make([]byte, 20<<10)} }

func nullServer(t *testing.T) (*NullServer, Target) {
	t.Helper()
	n, err := StartNullServer("127.0.0.1:0", []byte(`{"scores":[[0.5]]}`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, Target{URL: n.URL(), Path: "/v1/score", Timeout: guard}
}

func TestRunAgainstNullServer(t *testing.T) {
	n, target := nullServer(t)
	s := schedule(t, 1000, 1)
	r, err := Run(context.Background(), s, target, bodies(), func(Sent) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v %+v", r.Self, Judge(s, r, NullLimits()))
	if n.Served() != int64(len(s.At)) {
		t.Errorf("the server answered %d requests, want %d", n.Served(), len(s.At))
	}
}

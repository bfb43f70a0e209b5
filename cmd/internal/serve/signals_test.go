package serve

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// What sends a signal twice means it once; who sends another one later does not want
// to wait.
func TestSignalsOfOneSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan os.Signal, 2)
		ended, now := 0, 0
		go heed(got, func() { ended++ }, func() { now++ })
		for _, c := range []struct {
			wait       time.Duration
			ended, now int
		}{{0, 1, 0}, {0, 1, 0}, {sameSignal - 1, 1, 0}, {1, 1, 1}} {
			time.Sleep(c.wait)
			got <- syscall.SIGTERM
			synctest.Wait()
			if ended != c.ended || now != c.now {
				t.Errorf("%v later: ended %d times, at once %d times; want %d and %d", c.wait, ended, now, c.ended, c.now)
			}
		}
	})
}

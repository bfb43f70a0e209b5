package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// replays is how often a stream is played at most for a profile: a worker that
// does next to nothing for it would need many more.
const replays = 20_000

// replay plays a stream again and again, for the worker's profile to get enough
// samples, until the worker has used protocol.ProfileCPUMS or protocol.ProfileMS
// have passed. Only the number of rows is looked at; the same stream is played once
// more afterwards, as in any trial, and judged.
func (c *controller) replay(ctx context.Context, t protocol.Trial, w protocol.Work, stream []*outgoing) error {
	begin := time.Now()
	pids := c.crew.pids()
	before, cpuErr := cpuclock.Sum(pids)
	run := newRun(c, w)
	for n := 0; n < replays && time.Since(begin) < protocol.ProfileMS*time.Millisecond; n++ {
		if err := c.prepare(ctx, t, w, stream); err != nil {
			return err
		}
		if err := c.once(ctx, run, stream); err != nil {
			return fmt.Errorf("replay %d for the profile: %w", n, err)
		}
		if cpuErr != nil {
			continue // this platform does not tell: the time decides
		}
		now, err := cpuclock.Sum(pids)
		if err != nil {
			return err
		}
		if now-before >= protocol.ProfileCPUMS*time.Millisecond {
			return nil
		}
	}
	return nil
}

// unprofiled reports whether err is the answer of a worker of an older revision,
// which does not know the key. It goes on after such an answer.
func unprofiled(err error) bool {
	var told *protocol.PeerError
	return errors.As(err, &told) && strings.Contains(told.Message, `unknown field "profile"`)
}

// once plays a stream and waits for its rows.
func (c *controller) once(ctx context.Context, run *run, stream []*outgoing) error {
	wait := time.Duration(c.hello.WaitMS) * time.Millisecond
	limited, cancel := context.WithTimeoutCause(ctx, wait, errStalled)
	defer cancel()
	if err := c.inbox.begin(ctx, run.rows()); err != nil {
		return err
	}
	pace := c.hello.Pace
	if pace != protocol.PaceNone {
		pace = protocol.PaceArrived // at a rate most of the time would go by unused
	}
	return run.send(limited, stream, pace, time.Now())
}

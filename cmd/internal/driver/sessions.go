package driver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/fanoutbench/fanoutbench/cmd/internal/arm"
	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results"
)

// errOther ends the start of an arm when another one has failed.
var errOther = errors.New("another arm did not start")

// start brings the arms up side by side: some take a minute each. The first fault
// ends the others' start, and is the one that is told. Then each is met, in order.
func (d *driver) start(ctx context.Context, round int, order []string) error {
	starting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var (
		all   sync.WaitGroup
		mu    sync.Mutex
		first error
	)
	for _, name := range order {
		if err := os.Mkdir(d.folder(name, round), 0o700); err != nil {
			return fmt.Errorf("driver: %w", err)
		}
	}
	for _, name := range order {
		rests := d.resting[name]
		delete(d.resting, name)
		all.Go(func() {
			s, err := d.startOne(starting, rests, name, round)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				d.sessions[name] = s
			} else if first == nil {
				first = &located{err: err, arm: name, slot: results.Slot{Round: round}}
				giveUp(errOther)
			}
		})
	}
	all.Wait()
	if first != nil {
		return first
	}
	for _, name := range order {
		if err := d.meet(name, round, d.sessions[name]); err != nil {
			return &located{err: err, arm: name, slot: results.Slot{Round: round}}
		}
	}
	if round == -1 {
		return d.compare()
	}
	return nil
}

// startOne brings one arm up: the controller that rests, or a new one.
func (d *driver) startOne(ctx context.Context, rests *arm.Session, name string, round int) (*arm.Session, error) {
	conf := arm.StartConfig{
		Name: name, Timeout: milliseconds(d.plan.StartTimeoutMS), Log: d.logs[name],
		Hello: protocol.Hello{
			Version:   protocol.Version,
			Transport: d.plan.Transport, HTTPWorkers: d.plan.HTTPWorkers,
			Consumer: d.plan.Consumer, Consumers: d.plan.Consumers, Pace: d.plan.Pace, Loop: d.plan.Loop, Dir: d.folder(name, round),
			WaitMS: max(1, d.plan.TimeoutMS*2/3),
		},
	}
	if rests != nil {
		return rests, rests.Wake(ctx, conf)
	}
	return arm.Start(ctx, d.armIn(name, round), conf)
}

// stop ends all arms, at the same time, those that rest too. Once ctx is done
// their complaints about being ended are no news.
func (d *driver) stop(ctx context.Context) error {
	maps.Copy(d.sessions, d.resting)
	clear(d.resting)
	err := d.endEach(ctx, func(s *arm.Session) error { return s.Stop(ctx) })
	clear(d.sessions)
	return err
}

// endRound ends what a round began. A controller that offers it is kept for the
// next one, but not with --process spawn, and not behind the last.
func (d *driver) endRound(ctx context.Context, round int) error {
	last := (d.settled || round == d.plan.Rounds-1) && !d.conf.Profile
	if d.plan.Process == ProcessSpawn || last {
		return d.stop(ctx)
	}
	err := d.endEach(ctx, func(s *arm.Session) error {
		if s.Receipt.Again {
			return s.Rest(ctx)
		}
		return s.Stop(ctx)
	})
	for name, s := range d.sessions {
		if s.Receipt.Again {
			d.resting[name] = s
		}
	}
	clear(d.sessions)
	return err
}

// endEach does the same to all sessions, at the same time.
func (d *driver) endEach(ctx context.Context, end func(*arm.Session) error) error {
	names := slices.Sorted(maps.Keys(d.sessions))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			if err := end(d.sessions[name]); err != nil && ctx.Err() == nil {
				errs[i] = &located{err: err, arm: name, slot: results.Slot{Round: afterRounds}}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

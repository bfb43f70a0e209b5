package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/process"
	"github.com/fanoutbench/fanoutbench/protocol"
)

// audience is the consumers of an arm, each in a process of its own. What they
// say comes together in one channel; a consumer tells its rows after each wake-up,
// and between collect and begin it says nothing and leaves its socket alone.
type audience struct {
	dir       string
	processes []*workerProcess
	clock     monotonic
	heard     chan heard
	silence   context.CancelFunc // ends the listeners
	listeners sync.WaitGroup

	total         int
	rows          []int // by consumer
	firsts, lasts []time.Time
}

// heard is one line of a consumer, or its end.
type heard struct {
	consumer int
	line     protocol.Line
	err      error
}

func (c *controller) openAudience(ctx context.Context) (*audience, error) {
	listening, silence := context.WithCancel(context.Background())
	n := len(c.ends)
	a := &audience{
		dir: c.hello.Dir, heard: make(chan heard, n), silence: silence,
		rows: make([]int, n), firsts: make([]time.Time, n), lasts: make([]time.Time, n),
	}
	var err error
	a.clock, err = newMonotonic(c.now)
	for i := 0; i < n && err == nil; i++ {
		var child *process.Child
		if child, err = process.Start(c.conf.Consumer, process.DieWithParent, c.conf.Log); err == nil {
			p := &workerProcess{name: fmt.Sprintf("consumer %d", i), child: child, socket: strings.TrimPrefix(c.ends[i], "ipc://")}
			a.processes = append(a.processes, p)
			a.listeners.Go(func() { a.listen(listening, i, child) })
		}
	}
	if err == nil {
		err = a.ask(ctx, typeBound, func(i int) any {
			return bindLine{Type: typeBind, Number: i, ZMQ: c.options[optionZMQ], Endpoint: c.ends[i], Consumer: c.hello.Consumer, Class: c.loop.class}
		}, func(heard) error { return nil })
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("controller: start the consumers: %w", err), a.close())
	}
	return a, nil
}

// listen passes on what a consumer says, up to its first error.
func (a *audience) listen(ctx context.Context, i int, child *process.Child) {
	for {
		line, err := child.Next(ctx)
		select {
		case a.heard <- heard{i, line, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// next waits for a consumer to say something, without end if d is negative. It
// reports whether one did.
func (a *audience) next(ctx context.Context, d time.Duration) (h heard, ok bool, err error) {
	var late <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case h = <-a.heard:
	case <-late:
		return h, false, nil
	case <-ctx.Done():
		return h, false, context.Cause(ctx)
	}
	if h.err == nil && h.line.Type == protocol.TypeError {
		h.err = h.line.Expect(typeRows, nil)
	}
	if h.err != nil {
		p := a.processes[h.consumer]
		p.told.Store(true)
		return h, false, fmt.Errorf("the %s's process: %w", p.name, h.err)
	}
	return h, true, nil
}

// note takes a consumer's tally down.
func (a *audience) note(h heard, kind string) (tallyLine, error) {
	var t tallyLine
	if err := h.line.Expect(kind, &t); err != nil {
		return t, fmt.Errorf("consumer %d: %w", h.consumer, err)
	}
	a.total += t.Rows - a.rows[h.consumer]
	a.rows[h.consumer] = t.Rows
	a.firsts[h.consumer], a.lasts[h.consumer] = a.clock.time(t.FirstNS), a.clock.time(t.LastNS)
	return t, nil
}

// ask sends every consumer a line and takes all their answers. What they had to
// say of rows before that is noted.
func (a *audience) ask(ctx context.Context, want string, question func(i int) any, answer func(heard) error) error {
	for i, p := range a.processes {
		if err := p.child.Tell(question(i)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	for answers := 0; answers < len(a.processes); {
		h, _, err := a.next(ctx, -1)
		if err != nil {
			return err
		}
		if h.line.Type != want {
			_, err = a.note(h, typeRows)
		} else {
			answers++
			err = answer(h)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *audience) begin(ctx context.Context, rows int) error {
	return a.ask(ctx, typeBegun, func(int) any {
		return beginLine{Type: typeBegin, Rows: rows}
	}, func(h heard) error {
		a.forget(h.consumer)
		return nil
	})
}

// forget is for a consumer that has begun anew: what it tells from here on counts.
func (a *audience) forget(i int) {
	a.total -= a.rows[i]
	a.rows[i] = 0
	a.firsts[i], a.lasts[i] = time.Time{}, time.Time{}
}

func (a *audience) receive(ctx context.Context, rows int) error {
	for a.total < rows {
		h, _, err := a.next(ctx, -1)
		if err != nil {
			return err
		}
		if _, err := a.note(h, typeRows); err != nil {
			return err
		}
	}
	return nil
}

func (a *audience) quiet(ctx context.Context, d time.Duration) error {
	for {
		h, ok, err := a.next(ctx, d)
		if err != nil || !ok {
			return err
		}
		if _, err := a.note(h, typeRows); err != nil {
			return err
		}
	}
}

func (a *audience) count() int                         { return a.total }
func (a *audience) times() (firsts, lasts []time.Time) { return a.firsts, a.lasts }

func (a *audience) surplus(ctx context.Context) error {
	if err := a.begin(ctx, 0); err != nil {
		return err
	}
	d, err := a.collect(ctx)
	if err == nil && len(d.Rows) > 0 {
		err = tooLate(d)
	}
	return err
}

// collect joins the rows files of the consumers, in their order.
func (a *audience) collect(ctx context.Context) (protocol.Delivery, error) {
	parts := make([]protocol.Delivery, len(a.processes))
	err := a.ask(ctx, typeCollected, func(i int) any {
		return collectLine{Type: typeCollect, Path: filepath.Join(a.dir, fmt.Sprintf("rows-%d.json", i))}
	}, func(h heard) error {
		t, err := a.note(h, typeCollected)
		if err != nil {
			return err
		}
		if t.File == nil {
			return fmt.Errorf("consumer %d: no rows file", h.consumer)
		}
		if err := protocol.ReadFile(*t.File, &parts[h.consumer]); err != nil {
			return fmt.Errorf("consumer %d: %w", h.consumer, err)
		}
		return os.Remove(t.File.Path)
	})
	d := protocol.Delivery{Rows: []protocol.Row{}}
	for _, part := range parts {
		d.Rows = append(d.Rows, part.Rows...)
	}
	return d, err
}

// close ends every consumer's process and removes its socket.
func (a *audience) close() error {
	a.silence()
	a.listeners.Wait()
	errs := make([]error, len(a.processes))
	var all sync.WaitGroup
	for i, p := range a.processes {
		all.Go(func() { errs[i] = p.stop() })
	}
	all.Wait()
	return errors.Join(errs...)
}

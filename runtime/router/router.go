package router

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// Rules by which a row's detokenizer is chosen.
const (
	ByRID = "rid" // by crc32 of the rid
	ByIPC = "ipc" // by crc32 of the http_worker_ipc, as SGLang does
)

var rules = []string{ByRID, ByIPC}

// Target is the detokenizer, of n, that has the rows of that key.
func Target(key []byte, n int) int { return int(crc32.ChecksumIEEE(key) % uint32(n)) }

// Sender is one detokenizer's PUSH. transport.Push is one.
type Sender interface {
	// Send queues or writes one message. It does not keep frame.
	Send(frame []byte) error
	// Flush returns nil when every message sent has been written.
	Flush() error
}

// Counters add up over all batches of a Strategy. Read them between batches.
type Counters struct {
	OpaqueDecodes int64 // calls that opened a wrapped column
	Messages      int64 // taken by a Sender
	Bytes         int64 // of these messages
	FailedRows    int64 // rows that were not sent
}

// Config is what a Strategy works with.
type Config struct {
	Rule     string
	Targets  []Sender  // the detokenizers in index order, at least one
	Counters *Counters // nil: the Strategy counts for itself
}

// Strategy is one way to cut batches and send the parts.
type Strategy interface {
	// Batch sends the rows of one received frame. What it returns has been flushed or is in the error.
	Batch(frame []byte) error
}

// Info describes a Strategy.
type Info struct{ Name, Summary string }

// registry holds every strategy: one line each.
var registry = []struct {
	info Info
	make func(*line) Strategy
}{
	{Info{"per-row", "a message a row; every row decodes the opaque columns anew"}, newPerRow},
	{Info{"grouped", "a message a detokenizer; the opaque columns are decoded for each"}, newGrouped},
	{Info{"grouped-splice", "a message a detokenizer cut from the batch's bytes; nothing is decoded"}, newGroupedSplice},
}

// List describes the strategies in the order of the registry.
func List() []Info {
	list := make([]Info, len(registry))
	for i, r := range registry {
		list[i] = r.info
	}
	return list
}

// New makes the strategy of that name.
func New(name string, c Config) (Strategy, error) {
	switch {
	case !slices.Contains(rules, c.Rule):
		return nil, fmt.Errorf("router: no rule %q, expected one of %s", c.Rule, strings.Join(rules, ", "))
	case len(c.Targets) == 0:
		return nil, errors.New("router: Config.Targets is empty, expected at least one")
	}
	names := make([]string, len(registry))
	for i, r := range registry {
		if r.info.Name == name {
			return r.make(newLine(c)), nil
		}
		names[i] = r.info.Name
	}
	return nil, fmt.Errorf("router: no strategy %q, expected one of %s", name, strings.Join(names, ", "))
}

// line is what all strategies are made of: where rows go, and the account of
// what failed. Everything but the first three is of one batch.
type line struct {
	rule     string
	targets  []Sender
	counters *Counters

	groups [][]int32 // by target, its rows
	failed []*SendError
	errs   []error
}

func newLine(c Config) *line {
	if c.Counters == nil {
		c.Counters = new(Counters)
	}
	n := len(c.Targets)
	return &line{rule: c.Rule, targets: c.Targets, counters: c.Counters, groups: make([][]int32, n), failed: make([]*SendError, n)}
}

// batch is a received batch as the rules see it.
type batch interface {
	Rows() int
	key(rule string, i int) []byte // nil where the row has none
	rid(i int) string
}

// split gives every row to its target's group, and notes those without a key.
func (l *line) split(b batch) {
	for t := range l.groups {
		l.groups[t] = l.groups[t][:0]
	}
	for i := range b.Rows() {
		key := b.key(l.rule, i)
		if key == nil {
			l.fail(&RowError{Row: i, RID: b.rid(i), Rows: 1, Err: errNoIPC})
			continue
		}
		t := Target(key, len(l.targets))
		l.groups[t] = append(l.groups[t], int32(i))
	}
}

// post sends one message of n rows, of which row i is the first, unless its
// target has failed in this batch.
func (l *line) post(target int, b batch, i int32, n int, frame []byte) {
	if e := l.failed[target]; e != nil {
		e.Rows += n
		l.counters.FailedRows += int64(n)
		return
	}
	s := l.targets[target]
	op, err := "send", s.Send(frame)
	if err == nil {
		l.counters.Messages++
		l.counters.Bytes += int64(len(frame))
		op, err = "flush", s.Flush()
	}
	if err != nil {
		l.counters.FailedRows += int64(n)
		l.failed[target] = &SendError{Target: target, Op: op, Row: int(i), Rows: n, Err: err}
		if n > 0 {
			l.failed[target].RID = strings.Clone(b.rid(int(i)))
		}
	}
}

// idle passes a batch without rows to every target.
func (l *line) idle(b batch, frame []byte) error {
	for t := range l.targets {
		l.post(t, b, 0, 0, frame)
	}
	return l.end()
}

func (l *line) fail(e *RowError) {
	l.counters.FailedRows += int64(e.Rows)
	l.errs = append(l.errs, e)
}

// end returns what failed in this batch, rows first, then targets in order.
func (l *line) end() error {
	for t, e := range l.failed {
		if e != nil {
			l.errs = append(l.errs, e)
			l.failed[t] = nil
		}
	}
	if len(l.errs) == 0 {
		return nil
	}
	err := errors.Join(l.errs...)
	l.errs = nil
	return err
}

// decodeAnew is the wire.Opener that opens a column at every call.
func (l *line) decodeAnew(_ string, o *wire.Opaque) (wire.Value, error) {
	l.counters.OpaqueDecodes++
	return o.OpenRows()
}

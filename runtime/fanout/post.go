package fanout

import (
	"errors"
	"strings"
)

// post hands a batch's messages to their consumers and keeps account of what
// failed.
type post struct {
	dial     Dial
	counters *Counters
	byIPC    map[string]*consumer
	visited  []*consumer // consumers of this batch, by first appearance
	errs     []error     // of this batch, but for the consumers'
}

// consumer is one HTTP worker. Everything but ipc and sender is of one batch.
type consumer struct {
	ipc     string
	sender  Sender // nil until dialled
	visited bool
	rows    []int32 // for strategies that group
	queued  rows    // sent and not flushed
	failed  *SendError
}

// rows are some rows of a batch: the first one, and how many.
type rows struct {
	first int
	rid   string
	n     int
}

func newPost(d Dial, c *Counters) *post {
	return &post{dial: d, counters: c, byIPC: make(map[string]*consumer)}
}

// find returns the consumer of that name, new if it is not known.
func (p *post) find(ipc string) *consumer {
	c := p.byIPC[ipc]
	if c == nil {
		c = &consumer{ipc: ipc}
		p.byIPC[ipc] = c
	}
	return c
}

// visit is find for a consumer that has a row in this batch.
func (p *post) visit(ipc string) *consumer { return p.mark(p.find(ipc)) }

// visitBytes is visit for a name that lies in a frame.
func (p *post) visitBytes(ipc []byte) *consumer {
	if c := p.byIPC[string(ipc)]; c != nil { // this conversion allocates nothing
		return p.mark(c)
	}
	return p.visit(string(ipc))
}

func (p *post) mark(c *consumer) *consumer {
	if !c.visited {
		c.visited = true
		p.visited = append(p.visited, c)
	}
	return c
}

// send queues one message of rows r for c, unless c has failed in this batch.
func (p *post) send(c *consumer, r rows, frame []byte) {
	if c.failed != nil {
		p.lose(c, r, "", nil)
		return
	}
	if c.sender == nil {
		s, err := p.dial(c.ipc)
		if err != nil {
			p.lose(c, r, "dial", err)
			return
		}
		c.sender = s
	}
	if err := c.sender.Send(frame); err != nil {
		p.lose(c, r, "send", err)
		return
	}
	p.counters.Messages++
	p.counters.Bytes += int64(len(frame))
	if c.queued.n == 0 {
		c.queued = r
	} else {
		c.queued.n += r.n
	}
}

// flush writes what is queued for c. What was queued before a send that failed
// is flushed as well: it may still be good.
func (p *post) flush(c *consumer) {
	if c.queued.n == 0 {
		return
	}
	r := c.queued
	c.queued = rows{}
	if err := c.sender.Flush(); err != nil {
		p.lose(c, r, "flush", err)
	}
}

// lose counts rows r to c as failed. The error names the earliest row.
func (p *post) lose(c *consumer, r rows, op string, err error) {
	p.counters.FailedRows += int64(r.n)
	e := c.failed
	if e == nil {
		c.failed = &SendError{Consumer: c.ipc, Op: op, Row: r.first, RID: strings.Clone(r.rid), Rows: r.n, Err: err}
		return
	}
	e.Rows += r.n
	if r.first < e.Row {
		e.Row, e.RID = r.first, strings.Clone(r.rid)
		e.Op += " and " + op
		e.Err = errors.Join(e.Err, err)
	}
}

// fail counts rows r as failed for a reason of their own.
func (p *post) fail(r rows, err error) {
	p.counters.FailedRows += int64(r.n)
	p.errs = append(p.errs, &RowError{Row: r.first, RID: strings.Clone(r.rid), Rows: r.n, Err: err})
}

// refuse takes note of what is wrong with row r: it is lost, unless an abort is
// sent in its place.
func (p *post) refuse(r rows, aborted bool, err error) {
	if !aborted {
		p.fail(r, err)
		return
	}
	p.errs = append(p.errs, &RowError{Row: r.first, RID: strings.Clone(r.rid), Aborted: true, Err: err})
}

// end flushes every consumer and returns what failed in this batch, rows by
// their own fault first, then consumers by first appearance.
func (p *post) end() error {
	for _, c := range p.visited {
		p.flush(c)
		if c.failed != nil {
			p.errs = append(p.errs, c.failed)
		}
		*c = consumer{ipc: c.ipc, sender: c.sender, rows: c.rows[:0]}
	}
	p.visited = p.visited[:0]
	if len(p.errs) == 0 {
		return nil
	}
	err := errors.Join(p.errs...)
	p.errs = nil
	return err
}

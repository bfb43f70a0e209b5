package manager

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// errClosed is what Next says after Close.
var errClosed = errors.New("manager: the call is closed")

// call is a submitted request: one slot an index.
type call struct {
	m         *Manager
	submitted time.Time
	wake      chan struct{} // has one entry where there may be something for Next

	mu     sync.Mutex
	slots  []slot
	ring   []int32 // indexes with news, the oldest at head
	head   int
	count  int
	open   int // indexes whose finish Next has not given
	closed bool
}

// slot is the state of one index. Only the Manager's map decides how long rows
// find it; everything but rid, index and call is under call.mu.
type slot struct {
	call    *call
	rid     string
	index   int32
	logprob bool // as many logprobs as ids are expected
	queued  bool // in the ring
	ended   bool // its finish is in news, or was given
	order   numbers
	news    Update    // what Next gives next; Text is in text and more
	more    []byte    // text of the second and later rows of news
	tokenAt time.Time // of the last row with tokens
}

func newCall(m *Manager, submitted time.Time, reqs []request.TokenizedGenerateReqInput) *call {
	c := &call{
		m:         m,
		submitted: submitted,
		wake:      make(chan struct{}, 1),
		slots:     make([]slot, len(reqs)),
		ring:      make([]int32, len(reqs)),
		open:      len(reqs),
	}
	for i := range reqs {
		r := &reqs[i]
		c.slots[i] = slot{
			call: c, rid: r.RID, index: int32(i),
			logprob: r.ReturnLogprob && r.SamplingParams.MaxNewTokens > 0,
			news:    Update{Index: i, RID: r.RID},
		}
	}
	return c
}

// Next is part of Call.
func (c *call) Next(ctx context.Context) (Update, error) {
	for {
		u, err := c.pop()
		if err != nil || u.Rows > 0 || u.Finish != nil {
			return u, err
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return Update{}, ctx.Err()
		}
	}
}

// pop gives the oldest index's news; an Update without rows and finish: there are none.
func (c *call) pop() (Update, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return Update{}, errClosed
	case c.open == 0:
		return Update{}, io.EOF
	case c.count == 0:
		return Update{}, nil
	}
	s := &c.slots[c.ring[c.head]]
	c.head = (c.head + 1) % len(c.ring)
	c.count--
	s.queued = false
	u := s.news
	if s.more != nil {
		u.Text = string(s.more)
	}
	s.more = nil
	s.news = Update{
		Index: u.Index, RID: u.RID,
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.CachedTokens, Retractions: u.Retractions,
	}
	if u.Finish != nil {
		c.open--
	}
	return u, nil
}

// push queues a slot that has news, and wakes Next. c.mu is held.
func (c *call) push(s *slot) {
	if !s.queued {
		s.queued = true
		c.ring[(c.head+c.count)%len(c.ring)] = s.index
		c.count++
	}
	select {
	case c.wake <- struct{}{}:
	default: // Next is to look already
	}
}

// end gives a slot its finish. c.mu is held.
func (c *call) end(s *slot, f *Finish, now time.Time) {
	s.ended = true
	s.news.Finish = f
	s.news.Latency = now.Sub(c.submitted)
	if f.Type == "abort" {
		c.m.metrics.aborted.Add(1)
	}
	c.push(s)
}

// stop ends a slot without a row, and says whether it did: it may have ended
// before.
func (c *call) stop(s *slot, f *Finish, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.ended || c.closed {
		return false
	}
	c.end(s, f, now)
	return true
}

// Close is part of Call. The states stay until the scheduler's last word on each
// has come, so that the abort has a request to end and late rows are known.
func (c *call) Close() { c.close("the client left") }

func (c *call) close(message string) {
	var unfinished []string
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		for i := range c.slots {
			s := &c.slots[i]
			if !s.ended { // one that ended here without the scheduler is aborted already
				unfinished = append(unfinished, s.rid)
			}
			s.news, s.more = Update{}, nil
		}
	}
	c.mu.Unlock()
	c.m.metrics.aborted.Add(uint64(len(unfinished)))
	c.m.sendAborts(unfinished, message)
}

// takeBack ends a call of which only the first few requests were sent: those are
// aborted; the others are forgotten, as the scheduler will never say a word on them.
func (c *call) takeBack(sent int) {
	c.m.mu.Lock()
	for i := sent; i < len(c.slots); i++ {
		s := &c.slots[i]
		if c.m.states[s.rid] == s {
			delete(c.m.states, s.rid)
		}
	}
	c.m.mu.Unlock()
	c.mu.Lock()
	for i := sent; i < len(c.slots); i++ {
		c.slots[i].ended = true
	}
	c.mu.Unlock()
	c.close("the rest of its batch was refused")
}

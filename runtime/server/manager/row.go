package manager

import (
	"fmt"
	"time"
)

// backlogRows is how many merged rows make a caller slow: SGLang's number.
const backlogRows = 20

// row takes row i of a batch for a slot. What it returns ended the request here,
// though the scheduler did not say so.
func (c *call) row(s *slot, b *columns, i int, now time.Time, t *tally) *Finish {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := b.last(i)
	gone := c.closed || s.ended
	place, wrong := s.place(b, i, t)
	switch {
	case place == doubled && wrong == nil:
		if !last || gone {
			return nil
		}
		wrong = fmt.Errorf("the last row of %q has an earlier one's number", s.rid)
	case gone:
		t.left++
		return nil
	case wrong == nil:
		if wrong = c.deliver(s, b, i, now, t); wrong == nil {
			return nil
		}
		t.left++
	default:
		t.left++
	}
	f := fault("%v", wrong)
	c.end(s, f, now)
	return f
}

// place counts what the row's number says.
func (s *slot) place(b *columns, i int, t *tally) (order, error) {
	n, err := b.number(i)
	if err != nil {
		return 0, fmt.Errorf("a row of %q: %w", s.rid, err)
	}
	place, missing := s.order.see(n)
	switch place {
	case early:
		t.missing += uint64(missing)
		return place, fmt.Errorf("rows %d to %d of %q are missing", n-missing, n-1, s.rid)
	case doubled:
		t.doubled++
	case reordered:
		t.reordered++ // its absence ended the request
	}
	return place, nil
}

// deliver merges a row into the slot's news. An error has changed nothing.
func (c *call) deliver(s *slot, b *columns, i int, now time.Time, t *tally) error {
	finish, err := b.finish(i)
	if err != nil {
		return fmt.Errorf("a row of %q: %w", s.rid, err)
	}
	in, err := b.input.row(i)
	if err != nil {
		return fmt.Errorf("a row of %q: %w", s.rid, err)
	}
	out, err := b.output.row(i)
	if err != nil {
		return fmt.Errorf("a row of %q: %w", s.rid, err)
	}
	ids := at(b.OutputIDs, i).V.Values
	aborted := finish != nil && finish.Type == "abort"
	if s.logprob && !aborted && len(out) != len(ids) {
		return fmt.Errorf("a row of %q has %d output logprobs for %d output_ids", s.rid, len(out), len(ids))
	}
	s.merge(b, i, ids, in, out)
	t.delivered++
	if s.news.Rows == backlogRows {
		c.logBacklog(s, now)
	}
	if !aborted {
		c.timing(s, len(ids), now)
	}
	if finish == nil {
		c.push(s)
		return nil
	}
	t.finished(&s.news)
	c.m.metrics.endToEnd.Observe(now.Sub(c.submitted).Seconds())
	c.end(s, finish, now)
	return nil
}

// merge appends what came new; of the counters the newest count.
func (s *slot) merge(b *columns, i int, ids []int64, in, out []Position) {
	u := &s.news
	switch text := at(b.OutputStrs, i).V; {
	case u.Text == "" && s.more == nil:
		u.Text = text // a caller that keeps up costs no copy
	case s.more == nil:
		s.more = append(append(s.more, u.Text...), text...)
	default:
		s.more = append(s.more, text...)
	}
	u.OutputIDs = join(u.OutputIDs, ids)
	u.InputLogprobs = join(u.InputLogprobs, in)
	u.OutputLogprobs = join(u.OutputLogprobs, out)
	u.Rows++
	newest(&u.PromptTokens, at(b.PromptTokens, i))
	newest(&u.CompletionTokens, at(b.CompletionTokens, i))
	newest(&u.CachedTokens, at(b.CachedTokens, i))
	newest(&u.Retractions, at(b.RetractionCounts, i))
}

// join appends; the first part is taken as it is, being nobody else's.
func join[T any](to, more []T) []T {
	if len(to) == 0 {
		return more[:len(more):len(more)]
	}
	return append(to, more...)
}

// timing observes the row's tokens as SGLang does: the first row by its distance
// from the submission, each later token by its part of the time since the last.
func (c *call) timing(s *slot, tokens int, now time.Time) {
	x := &c.m.metrics
	if tokens == 0 {
		return
	}
	if s.tokenAt.IsZero() {
		x.firstToken.Observe(now.Sub(c.submitted).Seconds())
	} else {
		each := now.Sub(s.tokenAt).Seconds() / float64(tokens)
		for range tokens {
			x.interToken.Observe(each)
		}
	}
	s.tokenAt = now
}

// finished counts a request whose last row came.
func (t *tally) finished(u *Update) {
	t.requests++
	t.prompt += uint64(u.PromptTokens)
	t.generated += uint64(u.CompletionTokens)
	t.cached += uint64(u.CachedTokens)
}

func (c *call) logBacklog(s *slot, now time.Time) {
	if skipped, ok := c.m.backlog.allow(now); ok {
		c.m.config.Log.Warn("Streaming backlog", "rid", s.rid, "rows", s.news.Rows, "skipped_lines", skipped)
	}
}

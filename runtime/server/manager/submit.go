package manager

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Submit is part of Service.
func (m *Manager) Submit(ctx context.Context, items []Item, n int) (Call, error) {
	at := m.config.Now()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.refusal(); err != nil {
		return nil, err
	}
	reqs, err := m.prepare(items, n)
	if err != nil {
		return nil, err
	}
	together := n == 1 && m.together(items)
	if together || n > 1 || m.config.EnableTokenizerBatchEncode {
		if err := m.tokenizeAll(reqs, items); err != nil {
			return nil, err
		}
	}
	if n > 1 {
		if err := m.cachePrompts(ctx, reqs); err != nil {
			return nil, err
		}
		reqs = copies(reqs, n)
	}
	var c *call
	if together {
		c, err = m.sendBatch(at, reqs)
	} else {
		c, err = m.sendInTurn(ctx, at, reqs, items)
	}
	if err != nil {
		return nil, err // not c, which would be a Call that is not nil
	}
	return c, nil
}

// together is SGLang's rule of when items go as a batch: there are many, and they
// are tokenized together or not at all.
func (m *Manager) together(items []Item) bool {
	if m.config.DisableBatchSend || len(items) < 2 {
		return false
	}
	if m.config.EnableTokenizerBatchEncode {
		return true
	}
	for _, item := range items {
		if item.InputIDs == nil {
			return false
		}
	}
	return true
}

// sendBatch sends requests together. All frames are made before the first is sent,
// so that an error leaves nothing half done.
func (m *Manager) sendBatch(at time.Time, reqs []request.TokenizedGenerateReqInput) (*call, error) {
	frames, err := m.batches(reqs)
	if err != nil {
		return nil, err
	}
	c := newCall(m, at, reqs)
	if err := m.enter(c); err != nil {
		return nil, err
	}
	if err := m.post(frames...); err != nil {
		return nil, err
	}
	return c, nil
}

// sendInTurn sends each request as soon as it has its ids. An error takes back
// those that were sent before.
func (m *Manager) sendInTurn(ctx context.Context, at time.Time, reqs []request.TokenizedGenerateReqInput, items []Item) (*call, error) {
	c := newCall(m, at, reqs)
	if err := m.enter(c); err != nil {
		return nil, err
	}
	for i := range reqs {
		if err := m.sendNext(ctx, reqs, items, i); err != nil {
			c.takeBack(i)
			return nil, err
		}
	}
	return c, nil
}

// sendNext sends request i, tokenized now if it was not before.
func (m *Manager) sendNext(ctx context.Context, reqs []request.TokenizedGenerateReqInput, items []Item, i int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := m.refusal(); err != nil {
		return err
	}
	if err := m.tokenize(reqs, items, i); err != nil {
		return err
	}
	frame, err := m.frame(&reqs[i])
	if err != nil {
		return err
	}
	return m.post(frame)
}

// enter makes a call's requests known, all or none.
func (m *Manager) enter(c *call) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return unavailable("the server ends: " + m.err.Error())
	}
	for i := range c.slots {
		if rid := c.slots[i].rid; m.states[rid] != nil {
			return badRequest("rid %.100q is a request's that has not finished, expected another", rid)
		}
	}
	for i := range c.slots {
		s := &c.slots[i]
		m.states[s.rid] = s
	}
	return nil
}

// batches are the frames of requests that go together.
func (m *Manager) batches(reqs []request.TokenizedGenerateReqInput) ([][]byte, error) {
	tokens := make([]int, len(reqs))
	for i := range reqs {
		tokens[i] = len(reqs[i].InputIDs)
	}
	var frames [][]byte
	start, ends := 0, cut(tokens, m.config.BatchSendMaxTokens, m.config.BatchSendMaxReqs)
	for _, end := range ends {
		frame, err := m.frame(&request.BatchTokenizedGenerateReqInput{Batch: reqs[start:end]})
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
		start = end
	}
	m.logCuts(tokens, ends)
	return frames, nil
}

func (m *Manager) frame(r request.Message) ([]byte, error) {
	frame, err := request.Encode(nil, r)
	if err != nil {
		return nil, badRequest("the request cannot be sent: %v", err)
	}
	if len(frame) > m.config.MaxFrame {
		return nil, &Error{Status: 413, Type: "BadRequestError", Message: tooLarge(r, len(frame), m.config.MaxFrame)}
	}
	return frame, nil
}

// copies makes n requests of each, with rids of their own: index is
// item · n + copy. A seed goes up by one from copy to copy: n draws from one seed
// would be the same text n times.
func copies(reqs []request.TokenizedGenerateReqInput, n int) []request.TokenizedGenerateReqInput {
	all := make([]request.TokenizedGenerateReqInput, 0, len(reqs)*n)
	for _, r := range reqs {
		seed := r.SamplingParams.SamplingSeed
		for i := range n {
			r.RID = newRID()
			if seed != nil {
				own := *seed + int64(i) // wraps around, as any seed will do
				r.SamplingParams.SamplingSeed = &own
			}
			all = append(all, r)
		}
	}
	return all
}

// cachePrompts has each prompt computed once, and waits for it, so that its copies
// find it in the cache.
func (m *Manager) cachePrompts(ctx context.Context, reqs []request.TokenizedGenerateReqInput) error {
	runs := copies(reqs, 1)
	for i := range runs {
		r := &runs[i]
		r.SamplingParams.MaxNewTokens, r.SamplingParams.MinNewTokens = 0, 0
		r.SamplingParams.Stop = nil
		r.Stream = false
		r.ReturnLogprob, r.LogprobStartLen, r.TopLogprobsNum, r.TokenIDsLogprob = false, -1, 0, nil
	}
	c, err := m.sendInTurn(ctx, m.config.Now(), runs, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		u, err := c.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case u.Finish != nil && u.Finish.Type == "abort":
			return refused(u.Finish)
		}
	}
}

// refused is the error for a prompt that could not be cached.
func refused(f *Finish) *Error {
	if f.StatusCode == 0 {
		return unavailable("aborted before the copies were sent: " + f.Message)
	}
	return &Error{Status: f.StatusCode, Type: f.ErrType, Message: f.Message}
}

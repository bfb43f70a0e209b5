package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Receiver is the worker's PULL; a transport.Pull is one.
type Receiver interface {
	Recv(ctx context.Context) ([]byte, error)
}

// Run receives until ctx ends, and then returns nil; every other end is an error.
// Either way the service of this worker has ended, as no row can come any more.
func (m *Manager) Run(ctx context.Context, from Receiver) error {
	for {
		m.metrics.receiving.Idle()
		frame, err := from.Recv(ctx)
		if err == nil {
			m.metrics.receiving.Busy()
			err = m.Receive(frame)
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			m.Fail(errors.New("the worker ends"))
			return nil
		}
		err = fmt.Errorf("manager: %s: %w", m.config.IPC, err)
		m.Fail(err)
		return err
	}
}

// Receive takes one frame, and keeps none of its memory. An error means that rows
// or an answer are lost.
func (m *Manager) Receive(frame []byte) error {
	class, _, _, err := wire.Head(frame)
	if err != nil {
		return err
	}
	now := m.config.Now()
	switch string(class) {
	case "BatchStrOutput":
		var b *wire.BatchStrOutput
		if b, err = wire.DecodeStr(frame); err == nil {
			err = m.rows(b, now)
		}
	case "BatchEmbeddingOutput":
		var b *wire.BatchEmbeddingOutput
		if b, err = wire.DecodeEmbedding(frame); err == nil {
			m.embeddings(b, now)
		}
	default:
		var r request.Message
		if r, err = request.Decode(frame); err == nil {
			err = m.answer(r)
		}
	}
	return err
}

// rows hands out a batch.
func (m *Manager) rows(b *wire.BatchStrOutput, now time.Time) error {
	batch, err := newColumns(b)
	if err != nil {
		return err
	}
	var t tally
	m.find(b.RIDs, b.FinishedReasons)
	for i, s := range m.found {
		if s == nil {
			t.unknown++
			continue
		}
		if wrong := s.call.row(s, &batch, i, now, &t); wrong != nil {
			m.report(s, wrong, !batch.last(i), now)
		}
		if batch.last(i) && isInternal(b.FinishedReasons[i]) {
			m.lost = append(m.lost, s.rid)
		}
	}
	m.count(&t)
	m.logUnknown(&t, b.RIDs, now)
	if len(m.lost) > 0 {
		go m.sendAborts(m.lost, "a row of it was lost")
		m.lost = nil
	}
	return nil
}

// isInternal says whether a request failed for no fault of its own. It may be the
// word of a detokenizer that could not make a row's text, and then the scheduler
// goes on; if it is the scheduler's own, an AbortReq for what has ended does nothing.
func isInternal(finished wire.Map) bool {
	return get[string](finished, "type") == "abort" && get[int64](finished, "status_code") == 500
}

// find looks up a frame's rows. Those with a finished reason are the scheduler's
// last word and their states go, before a caller can see the finish and use the
// rid again.
func (m *Manager) find(rids []string, finished []wire.Map) {
	clear(m.found) // what it had may be garbage
	m.found = m.found[:0]
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, rid := range rids {
		m.found = append(m.found, m.states[rid])
		if i < len(finished) && finished[i] != nil {
			delete(m.states, rid)
		}
	}
}

// report says that a request was ended here, and asks the scheduler to end it too
// unless it has. The send must not hold up the rows behind.
func (m *Manager) report(s *slot, f *Finish, running bool, now time.Time) {
	if skipped, ok := m.faults.allow(now); ok {
		m.config.Log.Error("A request was ended because of its rows", "rid", s.rid, "reason", f.Message, "skipped_lines", skipped)
	}
	if running {
		go m.sendAborts([]string{s.rid}, f.Message)
	}
}

// embeddings ends the requests that a batch of a class came for that nothing here
// asks for.
func (m *Manager) embeddings(b *wire.BatchEmbeddingOutput, now time.Time) {
	var t tally
	m.find(b.RIDs, b.FinishedReasons)
	for i, s := range m.found {
		if s == nil {
			t.unknown++
			continue
		}
		t.left++
		f := fault("a BatchEmbeddingOutput came for %q, expected a BatchStrOutput", s.rid)
		running := i >= len(b.FinishedReasons) || b.FinishedReasons[i] == nil
		if s.call.stop(s, f, now) {
			m.report(s, f, running, now)
		}
	}
	m.count(&t)
	m.logUnknown(&t, b.RIDs, now)
}

// logUnknown says that rows came whose request nobody knows.
func (m *Manager) logUnknown(t *tally, rids []string, now time.Time) {
	if t.unknown == 0 {
		return
	}
	skipped, ok := m.strays.allow(now)
	for i := range m.found {
		if ok && m.found[i] == nil {
			m.config.Log.Warn("Rows of unknown requests were dropped", "rows", t.unknown, "rid", rids[i], "skipped_lines", skipped)
			return
		}
	}
}

// tally sums up what a frame adds to the counters.
type tally struct {
	delivered, left, unknown, missing, doubled, reordered uint64
	requests, prompt, generated, cached                   uint64
}

func (m *Manager) count(t *tally) {
	x := &m.metrics
	x.delivered.Add(t.delivered)
	x.left.Add(t.left)
	x.unknown.Add(t.unknown)
	x.missing.Add(t.missing)
	x.doubled.Add(t.doubled)
	x.reordered.Add(t.reordered)
	x.requests.Add(t.requests)
	x.promptTokens.Add(t.prompt)
	x.generationTokens.Add(t.generated)
	x.cachedTokens.Add(t.cached)
}

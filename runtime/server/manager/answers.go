package manager

import (
	"context"
	"fmt"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// answer takes what is no row.
func (m *Manager) answer(r request.Message) error {
	switch r := r.(type) {
	case *request.AbortReq:
		m.aborted(r)
	case *request.TokenizerWorkerRegistrationReq:
		if r.WorkerIPCName != m.config.IPC {
			return fmt.Errorf("the router acknowledges the worker %q, expected %q", r.WorkerIPCName, m.config.IPC)
		}
		m.once.Do(func() { close(m.registered) })
	case *request.FlushCacheReqOutput:
		m.settle(r.RID, r)
	case *request.GetInternalStateReqOutput:
		m.settle(r.RID, r)
	case *request.GetAdmissionsReqOutput:
		m.settle(r.RID, r)
	default:
		return fmt.Errorf("got a %s, expected rows or an answer", r.Class())
	}
	return nil
}

// aborted takes the scheduler's word that a request was not taken: there will be
// no row of it.
func (m *Manager) aborted(r *request.AbortReq) {
	m.mu.Lock()
	s := m.states[r.RID]
	delete(m.states, r.RID)
	m.mu.Unlock()
	if s == nil {
		m.config.Log.Debug("An abort came for no request", "rid", r.RID)
		return
	}
	f := abort(0, "", r.AbortMessage)
	if reason := r.FinishedReason; reason != nil {
		f = abort(reason.StatusCode, reason.ErrType, reason.Message)
	}
	s.call.stop(s, f, m.config.Now())
}

// settle hands an answer to whoever waits for it.
func (m *Manager) settle(rid string, r request.Message) {
	m.mu.Lock()
	to := m.answers[rid]
	delete(m.answers, rid)
	m.mu.Unlock()
	if to == nil {
		m.config.Log.Debug("An answer came that nobody waits for any more", "class", r.Class(), "rid", rid)
		return
	}
	to <- r // it has room for the one answer
}

// ask sends a question of this rid and waits for the answer, of class T.
func ask[T request.Message](ctx context.Context, m *Manager, rid string, question request.Message, limit time.Duration) (T, error) {
	var none T
	frame, err := request.Encode(nil, question)
	if err != nil {
		return none, badRequest("%v", err)
	}
	to := make(chan request.Message, 1)
	m.mu.Lock()
	m.answers[rid] = to
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.answers, rid)
		m.mu.Unlock()
	}()
	if err := m.refusal(); err != nil {
		return none, err
	}
	if err := m.post(frame); err != nil {
		return none, err
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-to:
		if answer, ok := got.(T); ok {
			return answer, nil
		}
		return none, fmt.Errorf("manager: a %s was answered with a %s", question.Class(), got.Class())
	case <-m.failed:
		return none, m.refusal()
	case <-ctx.Done():
		return none, ctx.Err()
	case <-timer.C:
		return none, &Error{Status: 503, Type: "ServiceUnavailable", Message: fmt.Sprintf("the scheduler did not answer a %s within %v", question.Class(), limit)}
	}
}

// Abort is part of Service.
func (m *Manager) Abort(ctx context.Context, rid string, all bool, message string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rid == "" && !all {
		return badRequest("rid is empty, expected a request's, or abort_all")
	}
	if err := m.refusal(); err != nil {
		return err
	}
	frame, err := request.Encode(nil, &request.AbortReq{RID: rid, HTTPWorkerIPC: m.config.IPC, AbortAll: all, AbortMessage: message})
	if err != nil {
		return badRequest("%v", err)
	}
	return m.post(frame)
}

// FlushCache is part of Service.
func (m *Manager) FlushCache(ctx context.Context, timeout time.Duration) (bool, string, error) {
	if timeout < 0 {
		return false, "", badRequest("timeout_s is %g, expected at least 0", timeout.Seconds())
	}
	rid := newRID()
	q := &request.FlushCacheReqInput{RID: rid, HTTPWorkerIPC: m.config.IPC, TimeoutS: timeout.Seconds()}
	a, err := ask[*request.FlushCacheReqOutput](ctx, m, rid, q, timeout+m.config.AnswerTimeout)
	if err != nil {
		return false, "", err
	}
	return a.Success, a.Message, nil
}

// InternalState is part of Service.
func (m *Manager) InternalState(ctx context.Context) ([]byte, error) {
	rid := newRID()
	q := &request.GetInternalStateReq{RID: rid, HTTPWorkerIPC: m.config.IPC}
	a, err := ask[*request.GetInternalStateReqOutput](ctx, m, rid, q, m.config.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	return a.InternalState, nil
}

// Admissions is part of Service.
func (m *Manager) Admissions(ctx context.Context, rids []string) ([]byte, error) {
	rid := newRID()
	q := &request.GetAdmissionsReq{RID: rid, HTTPWorkerIPC: m.config.IPC, RIDs: rids}
	a, err := ask[*request.GetAdmissionsReqOutput](ctx, m, rid, q, m.config.AnswerTimeout)
	if err != nil {
		return nil, err
	}
	return a.Admissions, nil
}

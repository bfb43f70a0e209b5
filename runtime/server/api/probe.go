package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// probeInterval is how often a waiting probe looks whether anything came.
const probeInterval = 50 * time.Millisecond

// healthGenerate answers GET /health_generate: it sends one token's work through
// all parts, and is content with any row or answer that comes after that, as the
// work of others may be before it.
func (a *api) healthGenerate(e *exchange) error {
	if err := a.serving(); err != nil {
		return err
	}
	began := a.Now()
	ctx, cancel := a.withTimeout(e.ctx())
	defer cancel()
	call, err := a.Service.Submit(ctx, []manager.Item{probe()}, 1)
	if err != nil {
		return a.unhealthy(ctx, err)
	}
	defer call.Close()
	for {
		alive, err := a.sign(ctx, call, began)
		if alive {
			e.answer(http.StatusOK, "text/plain; charset=utf-8", nil)
			return nil
		}
		if err != nil {
			return a.unhealthy(ctx, err)
		}
	}
}

// sign waits a little for the probe's own row, then looks for others'.
func (a *api) sign(ctx context.Context, call manager.Call, began time.Time) (bool, error) {
	short, cancel := context.WithTimeout(ctx, probeInterval)
	defer cancel()
	_, err := call.Next(short)
	switch {
	case err == nil || a.Service.LastRow().After(began):
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return false, nil
	}
	return false, err
}

// unhealthy says which part does not answer, where that is known.
func (a *api) unhealthy(ctx context.Context, err error) error {
	message := err.Error()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		message = fmt.Sprintf("no token came back within %s", a.healthTimeout())
		if a.Stuck != nil {
			if part := a.Stuck(); part != "" {
				message += "; standing still: " + part
			}
		}
	}
	return &failure{status: http.StatusServiceUnavailable, message: message}
}

// probe is one token, greedy. Each has its own rid: two workers' must not collide.
func probe() manager.Item {
	p := request.NewSamplingParams()
	p.MaxNewTokens, p.Temperature = 1, 0
	return manager.Item{RID: "HEALTH_CHECK_" + uuid(), InputIDs: []int64{0}, Params: p, LogprobStartLen: -1, NoLogs: true}
}

// uuid is a random one, version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

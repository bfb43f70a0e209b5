package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// healthGenerate answers GET /health_generate: it sends one token's work through all
// parts, once for each detokenizer, and wants a row of its own back from each. Rows
// of others say nothing of the part that stands still (SGLang takes any row).
func (a *api) healthGenerate(e *exchange) error {
	if a.State() != Warming {
		if err := a.serving(); err != nil {
			return err
		}
	}
	ctx, cancel := a.withTimeout(e.ctx())
	defer cancel()
	call, err := a.Service.Submit(ctx, probes(a.Args.DetokenizerWorkerNum), 1)
	if err != nil {
		return a.unhealthy(ctx, err)
	}
	defer call.Close()
	if err := comeBack(ctx, call); err != nil {
		return a.unhealthy(ctx, err)
	}
	e.answer(http.StatusOK, "text/plain; charset=utf-8", nil)
	return nil
}

// comeBack waits for the end of each index. A row that refuses the probe (the queue
// is full) has come all the way as well; a finish without a row has not.
func comeBack(ctx context.Context, call manager.Call) error {
	for {
		u, err := call.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case u.Finish != nil && u.Rows == 0:
			return fmt.Errorf("no token came back: %s", u.Finish.Message)
		}
	}
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

// probes are requests of one token, greedy, whose rids the router shares out to the
// detokenizers so that each gets one.
func probes(detokenizers int) []manager.Item {
	items := make([]manager.Item, max(1, detokenizers))
	for i := range items {
		items[i] = probe()
		for router.Target([]byte(items[i].RID), len(items)) != i {
			items[i].RID = probeRID()
		}
	}
	return items
}

func probe() manager.Item {
	p := request.NewSamplingParams()
	p.MaxNewTokens, p.Temperature = 1, 0
	return manager.Item{RID: probeRID(), InputIDs: []int64{0}, Params: p, LogprobStartLen: -1, NoLogs: true}
}

// probeRID is new each time: two workers' probes must not collide.
func probeRID() string { return "HEALTH_CHECK_" + uuid() }

// uuid is a random one, version 4.
func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

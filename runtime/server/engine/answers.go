package engine

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model/sim"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// flush is one that waits for the scheduler to be idle.
type flush struct {
	request.FlushCacheReqInput
	until float64
}

// answerFlushes answers those that are possible, or have waited long enough.
func (g *engine) answerFlushes(now float64) {
	if len(g.flushes) == 0 {
		return
	}
	flushed := g.scheduler.Flush()
	g.flushes = slices.DeleteFunc(g.flushes, func(f flush) bool {
		if !flushed && now < f.until {
			return false
		}
		reply := &request.FlushCacheReqOutput{RID: f.RID, HTTPWorkerIPC: f.HTTPWorkerIPC, Success: flushed, Message: "Cache flushed."}
		if !flushed {
			st := g.scheduler.Stats()
			reply.Message = fmt.Sprintf("The cache was not flushed: %d requests run and %d wait.", st.Running, st.Waiting)
		}
		g.log.Info(reply.Message)
		g.replies = append(g.replies, reply)
		return true
	})
}

// lastBatches is how many prefill batches the state shows.
const lastBatches = 16

// state is the JSON object of GetInternalStateReq.
func (g *engine) state() []byte {
	st := g.scheduler.Stats()
	a := g.env.Args
	batches := g.scheduler.PrefillBatches()
	state := map[string]any{
		"time":                 counters.Now(),
		"num_running_reqs":     st.Running,
		"num_queue_reqs":       st.Waiting,
		"num_used_tokens":      st.Used,
		"evictable_tokens":     st.Evictable,
		"available_tokens":     st.Available,
		"max_total_num_tokens": st.Total,
		"token_usage":          float64(st.Used) / float64(st.Total),
		"new_token_ratio":      st.NewTokenRatio,
		"last_gen_throughput":  st.GenThroughput,
		"received":             st.Received,
		"replied":              st.Replied,
		"finished":             st.Finished,
		"rows":                 st.Rows,
		"generated_tokens":     st.Generated,
		"retracted":            st.Retracted,
		"prefill_batches":      st.Prefills,
		"decode_batches":       st.Decodes,
		"last_prefill_batches": batches[max(0, len(batches)-lastBatches):],
		"limits": map[string]any{
			"vocab_size":           g.limits.VocabSize,
			"context_length":       g.limits.ContextLength,
			"eos_token_ids":        g.limits.EOS,
			"max_running_requests": a.MaxRunningRequests,
			"max_queued_requests":  a.MaxQueuedRequests,
			"max_prefill_tokens":   a.MaxPrefillTokens,
			"chunked_prefill_size": a.ChunkedPrefillSize,
			"max_req_input_len":    min(g.limits.ContextLength, st.Total) - 2,
		},
	}
	if m, ok := g.model.(*sim.Model); ok {
		s := m.Stats()
		state["sim"] = map[string]any{"steps": s.Steps, "seconds": s.Seconds, "late_seconds": s.Late, "worst_late_seconds": s.WorstLate, "missed": s.Missed}
	}
	return encodeJSON(state)
}

// admissions is the JSON object of GetAdmissionsReq.
func (g *engine) admissions(rids []string) []byte {
	records := []scheduler.Record{}
	wanted := map[int]bool{}
	for _, rid := range rids {
		r, ok := g.scheduler.Record(rid)
		if !ok {
			continue
		}
		records = append(records, r)
		for _, a := range r.Admissions {
			wanted[a.Batch] = true
		}
	}
	batches := slices.DeleteFunc(g.scheduler.PrefillBatches(), func(b scheduler.PrefillBatch) bool { return !wanted[b.Number] })
	if batches == nil {
		batches = []scheduler.PrefillBatch{}
	}
	return encodeJSON(map[string]any{"records": records, "prefill_batches": batches})
}

// encodeJSON panics for what has no JSON: every value above has.
func encodeJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("engine: %v", err))
	}
	return data
}

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// receive handles what has arrived, in one pass; with wait it waits for the first.
func (g *engine) receive(ctx context.Context, wait bool) error {
	if wait {
		g.metrics.beat.Idle()
		frame, err := g.requests.Recv(ctx)
		g.metrics.beat.Busy()
		if err == nil {
			g.handle(frame)
		} else if ctx.Err() != nil || !g.peerLeft(err) {
			return err
		}
	}
	g.metrics.beat.Busy()
	for _, frame := range g.backlog {
		g.handle(frame)
	}
	g.backlog = nil
	for {
		frame, err := g.requests.TryRecv()
		switch {
		case err == nil:
			g.handle(frame)
		case errors.Is(err, transport.ErrEmpty):
			return nil
		case !g.peerLeft(err):
			return err
		}
	}
}

// peerLeft says whether the error is about one sender, and the socket goes on.
func (g *engine) peerLeft(err error) bool {
	var peer *transport.PeerError
	if !errors.As(err, &peer) {
		return false
	}
	g.metrics.malformed.Add(1)
	g.log.Warn("A sender was dropped", "error", err)
	return true
}

// handle takes one frame.
func (g *engine) handle(frame []byte) {
	m, err := request.Decode(frame)
	if err != nil {
		g.malformed(frame, err)
		return
	}
	now := counters.Now()
	switch m := m.(type) {
	case *request.TokenizedGenerateReqInput:
		in := toScheduler(m)
		err = g.scheduler.Receive(now, &in)
	case *request.BatchTokenizedGenerateReqInput:
		batch := &scheduler.BatchTokenizedGenerateReqInput{RIDs: m.RIDs, HTTPWorkerIPCs: m.HTTPWorkerIPCs}
		for i := range m.Batch {
			batch.Batch = append(batch.Batch, toScheduler(&m.Batch[i]))
		}
		err = g.scheduler.Receive(now, batch)
	case *request.AbortReq:
		err = g.scheduler.Receive(now, &scheduler.AbortReq{
			RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, AbortAll: m.AbortAll,
			FinishedReason: reasonIn(m.FinishedReason), AbortMessage: m.AbortMessage,
		})
	case *request.FlushCacheReqInput:
		g.flushes = append(g.flushes, flush{*m, now + max(m.TimeoutS, 0)})
		g.answerFlushes(now)
	case *request.GetInternalStateReq:
		g.replies = append(g.replies, &request.GetInternalStateReqOutput{RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, InternalState: g.state()})
	case *request.GetAdmissionsReq:
		g.replies = append(g.replies, &request.GetAdmissionsReqOutput{RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, Admissions: g.admissions(m.RIDs)})
	default:
		err = fmt.Errorf("got a %s, expected a request, an abort or a question to the scheduler", m.Class())
	}
	if err != nil {
		g.malformed(frame, err)
	}
}

// malformed counts a frame that cannot be used, and tells those whose requests
// it had, as far as they can be read.
func (g *engine) malformed(frame []byte, cause error) {
	g.metrics.malformed.Add(1)
	g.log.Warn("A message was refused", "bytes", len(frame), "error", cause)
	for _, to := range addressees(frame) {
		g.replies = append(g.replies, &request.AbortReq{
			RID: to.rid, HTTPWorkerIPC: to.ipc,
			FinishedReason: &request.FinishReason{Type: scheduler.FinishAbort, StatusCode: 400, ErrType: "BadRequestError", Message: cause.Error()},
		})
	}
}

// addressee is a request and where its answers go.
type addressee struct{ rid, ipc string }

// addressees are the requests of a frame that may be malformed.
func addressees(frame []byte) []addressee {
	name, _, o, err := wire.Head(frame)
	if err != nil {
		return nil // it has no class
	}
	switch string(name) {
	case "TokenizedGenerateReqInput":
		return addresseeAt(nil, frame)
	case "BatchTokenizedGenerateReqInput":
		var all []addressee
		for range 2 { // rids, http_worker_ipcs
			if o, err = wire.Skip(frame, o); err != nil {
				return nil
			}
		}
		for item := itemsAt(frame, o); item > 0 && item < len(frame); {
			all = addresseeAt(all, frame[item:])
			next, err := wire.Skip(frame, item)
			if err != nil {
				break // what follows cannot be found
			}
			item = next
		}
		return all
	}
	return nil
}

// itemsAt is where the first item of the array at o starts; 0: there is none.
func itemsAt(frame []byte, o int) int {
	if o >= len(frame) {
		return 0
	}
	switch b := frame[o]; {
	case b >= 0x90 && b <= 0x9f:
		return o + 1
	case b == 0xdc:
		return o + 3
	case b == 0xdd:
		return o + 5
	}
	return 0
}

// addresseeAt appends the one of the request that starts frame, if it can be told.
func addresseeAt(all []addressee, frame []byte) []addressee {
	name, fields, o, err := wire.Head(frame)
	if err != nil || string(name) != "TokenizedGenerateReqInput" || fields < 2 {
		return all
	}
	rid, err := wire.TextAt(frame, o)
	if err != nil || len(rid) == 0 {
		return all
	}
	if o, err = wire.Skip(frame, o); err != nil {
		return all
	}
	ipc, err := wire.TextAt(frame, o)
	if err != nil || len(ipc) == 0 {
		return all // nobody could be told
	}
	return append(all, addressee{string(rid), string(ipc)})
}

func toScheduler(m *request.TokenizedGenerateReqInput) scheduler.TokenizedGenerateReqInput {
	p := &m.SamplingParams
	return scheduler.TokenizedGenerateReqInput{
		RID: m.RID, HTTPWorkerIPC: m.HTTPWorkerIPC, InputIDs: m.InputIDs,
		SamplingParams: scheduler.SamplingParams{
			Sampling: model.Sampling{
				Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
				FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
				MinNewTokens: p.MinNewTokens, StopTokenIDs: p.StopTokenIDs, LogitBias: p.LogitBias, Seed: p.SamplingSeed,
			},
			MaxNewTokens: p.MaxNewTokens, Stop: p.Stop, IgnoreEOS: p.IgnoreEOS,
			SkipSpecialTokens: p.SkipSpecialTokens, SpacesBetweenSpecialTokens: p.SpacesBetweenSpecialTokens,
			NoStopTrim: p.NoStopTrim, StreamInterval: p.StreamInterval,
		},
		ReturnLogprob: m.ReturnLogprob, LogprobStartLen: m.LogprobStartLen, TopLogprobsNum: m.TopLogprobsNum, TokenIDsLogprob: m.TokenIDsLogprob,
		Stream: m.Stream, ExtraKey: m.ExtraKey, CacheSalt: m.CacheSalt,
	}
}

// check is the scheduler's Config.Check: what package sampling would refuse later.
func (g *engine) check(in *scheduler.TokenizedGenerateReqInput) error {
	p := &in.SamplingParams
	if err := sampling.Check(&p.Sampling, p.MaxNewTokens, g.limits.VocabSize); err != nil {
		return err
	}
	return sampling.CheckLogprobs(model.Logprobs{Top: in.TopLogprobsNum, IDs: in.TokenIDsLogprob}, g.limits.VocabSize)
}

func reasonIn(r *request.FinishReason) *scheduler.FinishReason {
	if r == nil {
		return nil
	}
	return &scheduler.FinishReason{Type: scheduler.FinishAbort, Message: r.Message, StatusCode: r.StatusCode, ErrType: r.ErrType}
}

func abortReply(a *scheduler.AbortReq) *request.AbortReq {
	reply := &request.AbortReq{RID: a.RID, HTTPWorkerIPC: a.HTTPWorkerIPC, AbortAll: a.AbortAll, AbortMessage: a.AbortMessage}
	if r := a.FinishedReason; r != nil {
		reply.FinishedReason = &request.FinishReason{Type: r.Type, Message: r.Message, StatusCode: r.StatusCode, ErrType: r.ErrType}
	}
	return reply
}

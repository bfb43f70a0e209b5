package manager

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// FuzzReceive gives a manager with two requests any frame: no panic, and no request
// is forgotten whose caller has no finish.
func FuzzReceive(f *testing.F) {
	set, err := counters.Create(filepath.Join(f.TempDir(), "worker-0.counters"), Specs())
	if err != nil {
		f.Fatal(err)
	}
	long := batch(f, at0("r", "a"), row{rid: "s", number: int64(3), ids: []int64{1}, out: []float64{-1}, finish: stopped()})
	f.Add(encode(f, long))
	f.Add(encode(f, batch(f, row{rid: "r", number: "0", finish: reason("abort")})))
	f.Add(mustEncode(f, &request.AbortReq{RID: "r", FinishedReason: &request.FinishReason{Type: "abort", StatusCode: 503}}))
	f.Add(mustEncode(f, &request.FlushCacheReqOutput{RID: "q"}))
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := New(Config{
			IPC: ipc, Sender: &router{more: make(chan struct{}, 1)}, Tokenizer: byBytes{}, Counters: set,
			Limits: model.Limits{VocabSize: 256, ContextLength: 100}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Now: func() time.Time { return time.Unix(1, 0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Submit(t.Context(), []Item{item("r", "x"), item("s", "x")}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if m.Receive(frame) != nil {
			m.Fail(io.ErrUnexpectedEOF)
		}
		finishes := 0
		for c.(*call).count > 0 {
			if next(t, c).Finish != nil {
				finishes++
			}
		}
		if finishes+m.InFlight() < 2 {
			t.Errorf("%d finishes and %d states of 2 requests", finishes, m.InFlight())
		}
	})
}

package detok

import (
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/router"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
)

// sharing is a router with its detokenizers.
type sharing struct {
	router *running
	detoks []*running
}

func several(t *testing.T, a args.Args, n int) *sharing {
	t.Helper()
	a.DetokenizerWorkerNum = n
	folder := parttest.Folder(t)
	s := &sharing{router: start(t, folder, part.ID{Kind: part.DetokenizerRouter}, a, testOptions())}
	for i := range n {
		s.detoks = append(s.detoks, start(t, folder, part.ID{Kind: part.Detokenizer, Index: i}, a, testOptions()))
	}
	s.router.AwaitReady()
	return s
}

func (s *sharing) stop() {
	for _, d := range append(s.detoks, s.router) {
		d.Stop(d.Env.ID.String())
	}
}

// TestSeveralDetokenizers: three detokenizers and one HTTP worker (sglang#29366:
// one worker used one detokenizer, and its name was null). Every request's rows
// are whole and in order, each detokenizer has the requests that crc32 of the rid
// gives it, and none is left without.
func TestSeveralDetokenizers(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		const n, requests = 3, 300
		s := several(t, a, n)
		list, ipcs := inboxes(t, s.router.Env, 1)
		batches := traffic(2, requests, ipcs, texts)
		postBatches(t, s.router.Connect("detokenizer-router"), batches)
		got := join(t, take(t, list[0], count(batches)))
		if len(got) != requests {
			t.Errorf("%d requests, want %d", len(got), requests)
		}
		for rid, text := range got {
			checkText(t, rid, text)
		}
		want := make([]uint64, n)
		for _, rows := range batches {
			for _, r := range rows {
				want[router.Target([]byte(r.rid), n)]++
			}
		}
		for i, d := range s.detoks {
			d.AwaitCount("rows", want[i])
			if share := want[i] * n * 100 / uint64(count(batches)); share < 70 || share > 130 {
				t.Errorf("detokenizer %d has %d %% of its share", i, share)
			}
		}
		s.router.AwaitCount("rows", uint64(count(batches)))
		s.router.AwaitCount("rows_dropped_router", 0)
		s.router.AwaitCount("opaque_decodes", 0)
		s.stop()
	})
}

// TestSeveralWorkers: with several of both, each worker gets its own rows only,
// whatever the transport.
func TestSeveralWorkers(t *testing.T) {
	for _, engine := range transport.Engines() {
		t.Run(engine, func(t *testing.T) {
			a := defaultArgs()
			a.ZMQ = engine
			s := several(t, a, 2)
			list, ipcs := inboxes(t, s.router.Env, 4)
			batches := traffic(4, 100, ipcs, texts)
			postBatches(t, s.router.Connect("detokenizer-router"), batches)
			want := twin(t, batches)
			for i, b := range list {
				rows := take(t, b, len(want[ipcs[i]]))
				if got, twins := join(t, rows), join(t, want[ipcs[i]]); !reflect.DeepEqual(got, twins) {
					t.Errorf("%s: got %q, want %q", ipcs[i], got, twins)
				}
			}
			s.stop()
		})
	}
}

// TestRouterBroadcasts: an idle batch and a FreezeGCReq go to every detokenizer.
func TestRouterBroadcasts(t *testing.T) {
	s := several(t, defaultArgs(), 3)
	post(t, s.router.Connect("detokenizer-router"), batch(t, nil), []byte("\x93\xabFreezeGCReq\xc0\xc0"))
	for _, d := range s.detoks {
		d.AwaitCount("freeze_gc_requests", 1)
		d.AwaitCount("batches", 1)
	}
	s.router.AwaitCount("freeze_gc_requests", 1)
	s.router.AwaitCount("batches", 1)
	s.stop()
}

// TestRouterMalformed: it ends after what is no batch, like a detokenizer.
func TestRouterMalformed(t *testing.T) {
	for frame, rows := range malformed(t) {
		s := several(t, defaultArgs(), 2)
		post(t, s.router.Connect("detokenizer-router"), []byte(frame))
		if err := s.router.Result(); err == nil || !strings.Contains(err.Error(), "detokenizer-router: a frame of the scheduler is no batch") {
			t.Errorf("%q: got %v, want that it is no batch", frame, err)
		}
		s.router.AwaitCount("frames_malformed", 1)
		s.router.AwaitCount("rows_dropped_router", rows)
		for _, d := range s.detoks {
			d.AwaitCount("batches", 0)
			d.Stop(d.Env.ID.String())
		}
	}
}

// TestBeforeTheDetokenizers: the scheduler connects and sends while there is no
// detokenizer yet; the router is ready when all are there, and nothing is lost.
func TestBeforeTheDetokenizers(t *testing.T) {
	a := defaultArgs()
	a.DetokenizerWorkerNum = 2
	r := start(t, parttest.Folder(t), part.ID{Kind: part.DetokenizerRouter}, a, testOptions())
	list, ipcs := inboxes(t, r.Env, 1)
	batches := traffic(5, 20, ipcs, texts)
	push := r.Connect("detokenizer-router")
	postBatches(t, push, batches[:1])
	s := &sharing{router: r}
	for i := range 2 {
		if r.IsReady() {
			t.Errorf("ready with %d of 2 detokenizers", i)
		}
		s.detoks = append(s.detoks, start(t, r.Env.Folder, part.ID{Kind: part.Detokenizer, Index: i}, a, testOptions()))
	}
	r.AwaitReady()
	postBatches(t, push, batches[1:])
	join(t, take(t, list[0], count(batches)))
	s.stop()
}

// TestDetokenizerDies: the rows of one that has left are counted as dropped, every
// one; the other's arrive.
func TestDetokenizerDies(t *testing.T) {
	s := several(t, defaultArgs(), 2)
	list, ipcs := inboxes(t, s.router.Env, 1)
	batches := traffic(6, 50, ipcs, texts)
	push := s.router.Connect("detokenizer-router")
	postBatches(t, push, batches[:3])
	delivered := count(batches[:3])
	take(t, list[0], delivered)
	s.detoks[1].Stop("detokenizer-1")
	var dropped int
	for _, rows := range batches[3:] {
		for _, r := range rows {
			dropped += router.Target([]byte(r.rid), 2)
		}
	}
	postBatches(t, push, batches[3:])
	for _, r := range take(t, list[0], count(batches[3:])-dropped) {
		if router.Target([]byte(r.rid), 2) == 1 {
			t.Fatalf("%+v came from a detokenizer that has left", r)
		}
	}
	s.router.AwaitCount("rows_dropped_router", uint64(dropped))
	s.router.AwaitCount("rows_unreachable", uint64(dropped))
	s.detoks[0].Stop("detokenizer-0")
	s.router.Stop("detokenizer-router")
}

// TestRouterStart: detokenizers that do not come, and an end before they do.
func TestRouterStart(t *testing.T) {
	a := defaultArgs()
	a.DetokenizerWorkerNum, a.StartTimeout = 2, 0.05
	r := start(t, parttest.Folder(t), part.ID{Kind: part.DetokenizerRouter}, a, testOptions())
	if err := r.Result(); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "detokenizer-router: detokenizer-0") {
		t.Errorf("%v, want that detokenizer-0 does not answer", err)
	}
	a.StartTimeout = parttest.Patience.Seconds()
	r = start(t, parttest.Folder(t), part.ID{Kind: part.DetokenizerRouter}, a, testOptions())
	post(t, r.Connect("detokenizer-router"), batch(t, nil)) // waits
	for r.Read("loop").State != counters.Busy {
		time.Sleep(time.Millisecond)
	}
	r.Stop("detokenizer-router")
	a.DetokenizerWorkerNum = 0
	r = start(t, parttest.Folder(t), part.ID{Kind: part.DetokenizerRouter}, a, testOptions())
	if err := r.Result(); err == nil || !strings.Contains(err.Error(), "Targets is empty") {
		t.Errorf("%v, want that there is no detokenizer", err)
	}
}

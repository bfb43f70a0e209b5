package detok

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// texts have what per-token decoding breaks: characters of two to four bytes, a
// joined emoji, line ends of all kinds, what JSON and SSE escape.
var texts = []string{
	"plain words, and more of them",
	"😀👩‍👩‍👧 4 tokens each 🎉",
	"line\nline\r\nline\n\n\tdata: [DONE]\n",
	"Grüße, λόγος, 中文字符, עברית",
	`{"a": "\n\u0000"} </think>`,
	" ",
}

// TestStrategies: under every strategy and method, workers get the rows that a
// detokenizer asked row by row gives, in its order; every request's text is whole
// (llama.cpp#4036, vllm-mlx#109, exo#1691: characters of several tokens broke;
// mini-sglang: line feeds). Each strategy opens the wrapped columns as often as it
// says (SGLang's 64 for 32 rows, once 2·B a loop).
func TestStrategies(t *testing.T) {
	decodes := map[string]uint64{"per-row": 64, "reuse": 4, "grouped": 6, "splice": 0, "grouped-splice": 0}
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 3)
		d.AwaitReady()
		batches := traffic(1, 32, ipcs, texts)
		push := d.Connect("detokenizer-0")
		post(t, push, batch(t, batches[0]))
		d.AwaitCount("rows", 32)
		d.AwaitCount("opaque_decodes", decodes[a.FanoutStrategy])
		postBatches(t, push, batches[1:])
		want := twin(t, batches)
		for i, b := range list {
			got := take(t, b, len(want[ipcs[i]]))
			sameRows(t, ipcs[i], got, want[ipcs[i]])
			for rid, text := range join(t, got) {
				checkText(t, rid, text)
			}
		}
		d.AwaitCount("rows", uint64(count(batches)))
		d.AwaitCount("batches", uint64(len(batches)))
		d.AwaitCount("rows_dropped_detokenizer", 0)
		if n, bytes := d.Read("messages").Count, d.Read("bytes").Count; n == 0 || bytes < n*100 {
			t.Errorf("%d messages of %d bytes counted", n, bytes)
		}
		d.Stop("detokenizer-0")
		if n := d.Read("states").Gauge; n != 0 {
			t.Errorf("%v states are left of finished requests", n)
		}
	})
}

// checkText compares with the text that traffic gave the rid.
func checkText(t testing.TB, rid, got string) {
	t.Helper()
	var seed, i int
	if _, err := fmt.Sscanf(rid, "rid-%d-%d", &seed, &i); err != nil {
		t.Fatal(err)
	}
	if want := texts[i%len(texts)]; got != want {
		t.Errorf("%s: got %q, want %q", rid, got, want)
	}
}

// TestEmojiOfFourTokens: a token a row, by either method; no row has half a
// character (llama.cpp#4036).
func TestEmojiOfFourTokens(t *testing.T) {
	for _, method := range []string{"offset", "bytes"} {
		a := defaultArgs()
		a.DetokenizeMethod = method
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 1)
		var batches [][]row
		const text = "a😀b\n中"
		for i, b := range []byte(text) {
			r := row{rid: "rid", ipc: ipcs[0], number: int64(i), ids: []int64{int64(b)}}
			if i == len(text)-1 {
				r.finish = byLength
			}
			batches = append(batches, []row{r})
		}
		postBatches(t, d.Connect("detokenizer-0"), batches)
		rows := take(t, list[0], len(text))
		for i, r := range rows {
			if !utf8.ValidString(r.text) || strings.Contains(r.text, "\ufffd") {
				t.Errorf("%s, row %d: got %q, half a character", method, i, r.text)
			}
		}
		if got := join(t, rows)["rid"]; got != text {
			t.Errorf("%s: got %q, want %q", method, got, text)
		}
		d.Stop("detokenizer-0")
	}
}

// TestEvictedState: at the capacity the oldest request is aborted with status 500,
// and nobody else (sglang#2812: a KeyError ended the server).
func TestEvictedState(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		o := testOptions()
		o.capacity = 2
		d := one(t, a, o)
		list, ipcs := inboxes(t, d.Env, 1)
		step := func(number int64, finish wire.Map, rids ...string) (rows []row) {
			for _, rid := range rids {
				rows = append(rows, row{rid: rid, ipc: ipcs[0], number: number, ids: []int64{'x', ' '}, finish: finish})
			}
			return rows
		}
		postBatches(t, d.Connect("detokenizer-0"), [][]row{
			step(0, nil, "old", "b"), step(0, nil, "c"), step(1, byLength, "old", "b", "c"),
		})
		rows := take(t, list[0], 6)
		for _, r := range rows[3:] {
			kind, _ := r.finish.Get("type")
			status, _ := r.finish.Get("status_code")
			if r.rid == "old" {
				if kind != "abort" || status != int64(500) || r.text != "" {
					t.Errorf("the evicted request got %+v, want an abort with 500", r)
				}
			} else if kind != "length" || r.text != "x " {
				t.Errorf("%s got %+v, want its text", r.rid, r)
			}
		}
		d.AwaitCount("evicted_states", 1)
		d.AwaitCount("rows_dropped_detokenizer", 0)
		d.Stop("detokenizer-0")
	})
}

// TestRefusedRows: one whose offset is beyond its ids becomes an abort with status
// 500, and its neighbours arrive.
func TestRefusedRows(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 2)
		postBatches(t, d.Connect("detokenizer-0"), [][]row{{
			{rid: "a", ipc: ipcs[0], ids: []int64{'a'}, finish: byLength},
			{rid: "c", ipc: ipcs[1], ids: []int64{'c'}, offset: 2},
			{rid: "d", ipc: ipcs[1], ids: []int64{'d'}, finish: byLength},
		}})
		if r := take(t, list[0], 1)[0]; r.rid != "a" || r.text != "a" {
			t.Errorf("got %+v, want row a", r)
		}
		rows := take(t, list[1], 2)
		if status, _ := rows[0].finish.Get("status_code"); rows[0].rid != "c" || status != int64(500) || rows[0].text != "" {
			t.Errorf("got %+v, want row c as an abort", rows[0])
		}
		if r := rows[1]; r.rid != "d" || r.text != "d" {
			t.Errorf("got %+v, want row d", r)
		}
		d.AwaitCount("rows_aborted", 1)
		d.AwaitCount("rows_dropped_detokenizer", 0)
		d.Stop("detokenizer-0")
		if log := d.Log.String(); !strings.Contains(log, `rid \"c\"`) || !strings.Contains(log, "read offset 2") {
			t.Errorf("the log does not name row c and its fault:\n%s", log)
		}
	})
}

// TestRowWithoutWorker: nobody can be told, so the part ends, when its neighbours
// have been sent.
func TestRowWithoutWorker(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 1)
		postBatches(t, d.Connect("detokenizer-0"), [][]row{{
			{rid: "a", ipc: ipcs[0], ids: []int64{'a'}},
			{rid: "b", ids: []int64{'b'}},
			{rid: "c", ipc: ipcs[0], ids: []int64{'c'}},
		}})
		take(t, list[0], 2)
		if err := d.Result(); err == nil || !strings.Contains(err.Error(), "detokenizer-0: ") || !strings.Contains(err.Error(), `"b"`) || !errors.Is(err, fanout.ErrNoConsumer) {
			t.Errorf("got %v, want that row b has no worker", err)
		}
	})
}

// malformed are frames that are no batches, and how many rows each is known to have.
func malformed(t *testing.T) map[string]uint64 {
	whole := batch(t, []row{{rid: "a", ids: []int64{'a'}}, {rid: "b", ids: []int64{'b'}}})
	return map[string]uint64{
		"": 0, "garbage": 0, "\x91\xa4Nope": 0, "\xdd\xff\xff\xff\xff": 0, "\x93\xa8AbortReq\xa1r\xc0": 0,
		string(whole[:len(whole)-1]): 2,
	}
}

// TestMalformedFrames: after what is no batch the part ends, as nobody knows whose
// rows it had; where they can be counted, they are dropped ones.
func TestMalformedFrames(t *testing.T) {
	for frame, rows := range malformed(t) {
		d := one(t, defaultArgs(), testOptions())
		post(t, d.Connect("detokenizer-0"), []byte(frame))
		if err := d.Result(); err == nil || !strings.Contains(err.Error(), "detokenizer-0: a frame of the scheduler is no batch") {
			t.Errorf("%q: got %v, want that it is no batch", frame, err)
		}
		d.AwaitCount("frames_malformed", 1)
		d.AwaitCount("rows_dropped_detokenizer", rows)
	}
}

// TestIdle: a batch without rows and a FreezeGCReq go to nobody and are no fault.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, a args.Args) {
		d := one(t, a, testOptions())
		list, ipcs := inboxes(t, d.Env, 1)
		push := d.Connect("detokenizer-0")
		post(t, push, batch(t, nil), []byte("\x93\xabFreezeGCReq\xc0\xc0"))
		postBatches(t, push, [][]row{{{rid: "a", ipc: ipcs[0], ids: []int64{'a'}}}})
		take(t, list[0], 1)
		d.AwaitCount("batches", 2)
		d.AwaitCount("freeze_gc_requests", 1)
		d.AwaitCount("frames_malformed", 0)
		d.Stop("detokenizer-0")
		if log := d.Log.String(); log != "" {
			t.Errorf("the log has %s, want nothing", log)
		}
	})
}

// TestCannotStart: settings that no detokenizer can have.
func TestCannotStart(t *testing.T) {
	words := func(args.Args) (detokenizer.Decoder, error) {
		return tokenizer.NewWordLevel([]tokenizer.Token{{ID: 0, Bytes: []byte("w")}})
	}
	for _, c := range []struct {
		change func(*args.Args, *options)
		want   string
	}{
		{func(a *args.Args, _ *options) { a.FanoutStrategy = "floor" }, "detokenizer-0: fanout strategy floor"},
		{func(a *args.Args, _ *options) { a.FanoutStrategy = "fastest" }, `"fastest"`},
		{func(a *args.Args, _ *options) { a.DetokenizeMethod = "guess" }, `"guess"`},
		{func(a *args.Args, _ *options) { a.ZMQ = "tcp" }, `"tcp"`},
		{func(a *args.Args, o *options) { a.DetokenizeMethod, o.tokenizer = "bytes", words }, "vocabulary of bytes"},
		{func(_ *args.Args, o *options) {
			o.tokenizer = func(args.Args) (detokenizer.Decoder, error) { return nil, errors.New("no such tokenizer") }
		}, "no such tokenizer"},
	} {
		a, o := defaultArgs(), testOptions()
		c.change(&a, &o)
		d := one(t, a, o)
		if err := d.Result(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
		if d.IsReady() {
			t.Errorf("%s: ready", c.want)
		}
		if left, err := os.ReadDir(d.Env.Folder); err != nil || len(left) > 1 {
			t.Errorf("%s: %v is left, want the counters only: %v", c.want, left, err)
		}
	}
}

// TestUnderLoad: the context ends while batches come in without a pause; nothing
// is left.
func TestUnderLoad(t *testing.T) {
	d := one(t, defaultArgs(), testOptions())
	list, ipcs := inboxes(t, d.Env, 2)
	push := d.Connect("detokenizer-0")
	frame := batch(t, traffic(1, 32, ipcs, texts)[0])
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for push.Send(frame) == nil {
		}
	}()
	for _, b := range list {
		b.Next()
		go func() {
			for {
				select {
				case <-b.Frames:
				case <-sent:
					return
				}
			}
		}()
	}
	d.Stop("detokenizer-0")
	<-sent
}

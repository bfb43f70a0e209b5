package detok

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/fanout"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/part"
	"github.com/fanoutbench/fanoutbench/runtime/server/parttest"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/transport"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

var post = parttest.Post

// Ids beyond the bytes.
const (
	special = 256 + iota
	empty
)

// vocabulary has every byte as a token of its own id, so that an emoji is four
// tokens, and one token each that is special and that is empty.
func vocabulary(args.Args) (detokenizer.Decoder, error) {
	var tokens []tokenizer.Token
	for b := range 256 {
		tokens = append(tokens, tokenizer.Token{ID: int64(b), Bytes: []byte{byte(b)}})
	}
	tokens = append(tokens, tokenizer.Token{ID: special, Bytes: []byte("<|end|>"), Special: true}, tokenizer.Token{ID: empty})
	return tokenizer.NewBytes(tokens)
}

// running is a detokenizer or their router, beside the test.
type running struct {
	*parttest.Part
	t testing.TB
}

// defaultArgs are those of one detokenizer.
func defaultArgs() args.Args {
	return args.Args{
		ZMQ: "zmtp", FanoutStrategy: "splice", DetokenizeMethod: "offset",
		DetokenizerWorkerNum: 1, StartTimeout: parttest.Patience.Seconds(),
	}
}

func testOptions() options {
	return options{tokenizer: vocabulary, workerTimeout: parttest.Patience, grace: parttest.Patience}
}

func start(t testing.TB, folder string, id part.ID, a args.Args, o options) *running {
	t.Helper()
	life := func(ctx context.Context, e part.Env) error { return run(ctx, e, o) }
	return &running{parttest.Start(t, life, part.Env{ID: id, Args: a, Folder: folder}), t}
}

// one is a detokenizer of its own.
func one(t testing.TB, a args.Args, o options) *running {
	t.Helper()
	return start(t, parttest.Folder(t), part.ID{Kind: part.Detokenizer}, a, o)
}

// each runs a test for every strategy that a server can have.
func each(t *testing.T, test func(t *testing.T, a args.Args)) {
	for _, info := range fanout.List() {
		if info.NeedsPrepared {
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			a := defaultArgs()
			a.FanoutStrategy = info.Name
			test(t, a)
		})
	}
}

// row is a row of the scheduler, and, with its text, one that a worker gets.
type row struct {
	rid    string
	ipc    string // empty: null
	number int64
	ids    []int64
	offset int64
	finish wire.Map
	text   string
}

var byLength = wire.Map{{Key: "type", Value: "length"}, {Key: "length", Value: int64(3)}}

// batch is the scheduler's frame of some rows.
func batch(t testing.TB, rows []row) []byte {
	t.Helper()
	m := &wire.BatchTokenIDOutput{RIDs: []string{}}
	var numbers, times []wire.Value
	for _, r := range rows {
		m.RIDs = append(m.RIDs, r.rid)
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, wire.Opt[string]{V: r.ipc, OK: r.ipc != ""})
		m.FinishedReasons = append(m.FinishedReasons, r.finish)
		m.DecodedTexts = append(m.DecodedTexts, wire.Some(""))
		m.DecodeIDs = append(m.DecodeIDs, wire.Some(wire.IntArray{Values: r.ids}))
		m.ReadOffsets = append(m.ReadOffsets, wire.Some(r.offset))
		m.OutputIDs = append(m.OutputIDs, wire.Some(wire.IntArray{Values: r.ids}))
		m.SkipSpecialTokens = append(m.SkipSpecialTokens, wire.Some(true))
		m.SpacesBetweenSpecialTokens = append(m.SpacesBetweenSpecialTokens, wire.Some(true))
		m.NoStopTrim = append(m.NoStopTrim, wire.Some(false))
		m.CompletionTokens = append(m.CompletionTokens, wire.Some(r.number+1))
		numbers = append(numbers, r.number)
		times = append(times, wire.Map{{Key: "created_time", Value: float64(r.number)}})
	}
	if len(rows) > 0 {
		m.CustomizedInfo = wrap(t, wire.Map{{Key: "row", Value: numbers}})
		m.TimeStats = wrap(t, times)
	}
	frame, err := wire.Encode(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

func wrap(t testing.TB, v wire.Value) *wire.Opaque {
	t.Helper()
	o, err := wire.Wrap(v)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// received are the rows of one frame that a worker got.
func received(t testing.TB, ipc string, frame []byte) (rows []row) {
	t.Helper()
	m, err := wire.DecodeStr(frame)
	if err != nil {
		t.Fatal(err)
	}
	v, err := m.CustomizedInfo.Open()
	if err != nil {
		t.Fatal(err)
	}
	numbers, _ := v.(wire.Map).Get("row")
	for i, rid := range m.RIDs {
		rows = append(rows, row{rid: rid, ipc: ipc, number: numbers.([]wire.Value)[i].(int64), ids: m.OutputIDs[i].V.Values, finish: m.FinishedReasons[i], text: m.OutputStrs[i].V})
	}
	return rows
}

// take waits until a worker has got so many rows.
func take(t testing.TB, b *parttest.Inbox, n int) (rows []row) {
	t.Helper()
	for len(rows) < n {
		rows = append(rows, received(t, b.Endpoint(), b.Next())...)
	}
	if len(rows) > n {
		t.Fatalf("%s got %d rows, want %d", b.Endpoint(), len(rows), n)
	}
	return rows
}

// twin is what the workers must get: every row's text by a detokenizer that is
// asked row by row.
func twin(t testing.TB, batches [][]row) map[string][]row {
	t.Helper()
	decoder, err := vocabulary(args.Args{})
	if err != nil {
		t.Fatal(err)
	}
	d := detokenizer.New(decoder, detokenizer.Options{})
	want := map[string][]row{}
	for _, rows := range batches {
		for _, r := range rows {
			text, err := d.Append(nil, detokenizer.Row{
				RID: r.rid, DecodeIDs: r.ids, ReadOffset: int(r.offset), SkipSpecial: true, SpacesBetween: true,
				Finish: detokenizer.Finish{Done: r.finish != nil},
			})
			if err != nil {
				t.Fatal(err)
			}
			r.text, r.offset = string(text), 0
			want[r.ipc] = append(want[r.ipc], r)
		}
	}
	return want
}

// sameRows says which row differs.
func sameRows(t testing.TB, who string, got, want []row) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s, row %d: got %+v, want %+v", who, i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d rows, want %d", who, len(got), len(want))
	}
}

// traffic makes steps of rows: requests with texts, one to three tokens a step,
// worker i mod the number of workers.
func traffic(seed uint64, requests int, ipcs []string, texts []string) (batches [][]row) {
	rng := rand.New(rand.NewPCG(seed, 7))
	type request struct {
		row
		left []int64
	}
	var live []*request
	for i := range requests {
		q := &request{row: row{rid: fmt.Sprintf("rid-%d-%d", seed, i), ipc: ipcs[i%len(ipcs)]}}
		for _, b := range []byte(texts[i%len(texts)]) {
			q.left = append(q.left, int64(b))
			if rng.IntN(10) == 0 {
				q.left = append(q.left, empty)
			}
		}
		live = append(live, q)
	}
	for len(live) > 0 {
		var rows []row
		var next []*request
		for _, q := range live {
			n := min(1+rng.IntN(3), len(q.left))
			q.ids, q.left = q.left[:n:n], q.left[n:]
			if len(q.left) == 0 {
				q.finish = byLength
			} else {
				next = append(next, q)
			}
			rows = append(rows, q.row)
			q.number++
		}
		batches, live = append(batches, rows), next
	}
	return batches
}

func count(batches [][]row) (n int) {
	for _, rows := range batches {
		n += len(rows)
	}
	return n
}

// join is the text of each rid, and says where a rid's rows are out of order.
func join(t testing.TB, rows []row) map[string]string {
	t.Helper()
	next, texts := map[string]int64{}, map[string]string{}
	for _, r := range rows {
		if r.number != next[r.rid] {
			t.Fatalf("%s: got row %d, want %d", r.rid, r.number, next[r.rid])
		}
		next[r.rid]++
		texts[r.rid] += r.text
	}
	return texts
}

// inboxes are the sockets of n workers.
func inboxes(t testing.TB, e part.Env, n int) (list []*parttest.Inbox, ipcs []string) {
	t.Helper()
	for i := range n {
		b := parttest.Bind(t, e, part.ID{Kind: part.Worker, Index: i}.String())
		list, ipcs = append(list, b), append(ipcs, b.Endpoint())
	}
	return list, ipcs
}

func postBatches(t testing.TB, push transport.Push, batches [][]row) {
	t.Helper()
	for _, rows := range batches {
		post(t, push, batch(t, rows))
	}
}

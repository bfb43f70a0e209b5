package manager

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// diary is a tokenizer that writes down, with its router, what was done in which order.
type diary struct {
	byBytes
	lines []string
}

func (d *diary) EncodePrompt(text string) ([]int64, error) {
	d.lines = append(d.lines, "tokenize "+text[:1])
	return byBytes{}.EncodePrompt(text)
}

func (d *diary) keep(k *kit) *kit {
	k.router.reply = func(m request.Message) { d.lines = append(d.lines, shape([]request.Message{m})...) }
	return k
}

func TestOrderOfTokenizingAndSending(t *testing.T) {
	texts := []Item{item("", "a"), item("", "b"), item("", "c")}
	first := []string{"tokenize a", "tokenize b", "tokenize c"}
	for _, c := range []struct {
		name   string
		change func(*Config)
		items  []Item
		want   []string
	}{
		{"in turn", nil, texts, []string{"tokenize a", "one a", "tokenize b", "one b", "tokenize c", "one c"}},
		{"in turn, whatever the rule", func(c *Config) { c.DisableBatchSend = true }, texts[:2], []string{"tokenize a", "one a", "tokenize b", "one b"}},
		{"in turn, with ids between", nil, []Item{texts[0], Item{InputIDs: ids("x")}.with(8), texts[1]}, []string{"tokenize a", "one a", "one x", "tokenize b", "one b"}},
		{"a batch", func(c *Config) { c.EnableTokenizerBatchEncode = true }, texts, append(first[:3:3], "batch [a b c]")},
		{"a batch, cut", func(c *Config) { c.EnableTokenizerBatchEncode, c.BatchSendMaxReqs = true, 2 }, texts, append(first[:3:3], "batch [a b]", "batch [c]")},
		{"encoded at once, sent in turn", func(c *Config) { c.EnableTokenizerBatchEncode, c.DisableBatchSend = true, true }, texts, append(first[:3:3], "one a", "one b", "one c")},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &diary{}
			k := d.keep(start(t, func(config *Config) {
				config.Tokenizer = d
				if c.change != nil {
					c.change(config)
				}
			}))
			k.submit(1, c.items...)
			if !slices.Equal(d.lines, c.want) {
				t.Errorf("got %q, want %q", d.lines, c.want)
			}
		})
	}
}

func TestALaterItemThatIsRefusedTakesBackThoseBefore(t *testing.T) {
	for _, c := range []struct {
		name    string
		bad     Item
		status  int
		message string
	}{
		{"not tokenized", item("c", "untokenizable"), 400, "item 2: text cannot be tokenized: no piece fits"},
		{"too long", item("c", strings.Repeat("x", 99)), 400, "item 2: the prompt has 99 tokens"},
		{"logprobs behind its end", Item{RID: "c", Text: "abc", Params: params(8), LogprobStartLen: 4}, 400, "item 2: logprob_start_len is 4, expected -1 to 3"},
		{"too large a message", Item{RID: "c", Text: "abc", Params: params(8), LogprobStartLen: -1, ExtraKey: strings.Repeat("k", 5000)}, 413, "expected at most 5000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := start(t, func(c *Config) { c.MaxFrame = 5000 })
			_, err := k.Submit(context.Background(), []Item{item("a", "x"), item("b", "y"), c.bad, item("d", "z")}, 1)
			if status(err) != c.status || !strings.Contains(err.Error(), c.message) {
				t.Errorf("got %v, want %d %q", err, c.status, c.message)
			}
			if got, want := shape(k.router.sent()), []string{"one x", "one y", "AbortReq", "AbortReq"}; !slices.Equal(got, want) {
				t.Errorf("sent %q, want %q", got, want)
			}
			if got := k.router.aborts(); !slices.Equal(got, []string{"a", "b"}) {
				t.Errorf("got the aborts %q", got)
			}
			k.counts("num_aborted_requests_total=2")
			if k.InFlight() != 2 {
				t.Errorf("%d states, want those of a and b until the last word on them", k.InFlight())
			}
			k.submit(1, item("c", "x"), item("d", "x")) // whose rids are free at once
			k.rows(row{rid: "a", number: int64(0), finish: reason("abort")}, row{rid: "b", number: int64(0), finish: stopped()})
			k.counts("rows_dropped_request_ended=2", "rows_dropped_unknown=0")
			k.submit(1, item("a", "x"), item("b", "x"))
		})
	}
}

// One that had its last row before a later item was refused is not aborted.
func TestWhatEndedIsNotTakenBack(t *testing.T) {
	k := start(t, nil)
	k.router.reply = func(m request.Message) {
		if r, ok := m.(*request.TokenizedGenerateReqInput); ok && r.RID == "a" {
			k.rows(row{rid: "a", number: int64(0), finish: stopped()})
		}
	}
	if _, err := k.Submit(context.Background(), []Item{item("a", "x"), item("b", "x"), item("c", "untokenizable")}, 1); status(err) != 400 {
		t.Errorf("got %v", err)
	}
	if got := k.router.aborts(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("got the aborts %q, want b's", got)
	}
}

func TestItemsThatAreWrongWithoutIdsAreRefusedBeforeAnyIsSent(t *testing.T) {
	hot := item("", "b")
	hot.Params.Temperature = -1
	for _, bad := range []Item{hot, item("", "b\xff"), item("", ""), Item{InputIDs: []int64{256}}.with(8), Item{InputIDs: make([]int64, 99)}.with(8)} {
		k := start(t, nil)
		if e := k.refused(1, item("", "a"), bad); !strings.HasPrefix(e.Message, "item 1: ") {
			t.Errorf("got %q", e.Message)
		}
		if k.InFlight() != 0 {
			t.Errorf("%d states are left", k.InFlight())
		}
	}
}

func TestAClientThatLeavesBetweenItems(t *testing.T) {
	k := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	k.router.reply = func(m request.Message) {
		if r, ok := m.(*request.TokenizedGenerateReqInput); ok && r.RID == "b" {
			cancel()
		}
	}
	if _, err := k.Submit(ctx, []Item{item("a", "x"), item("b", "y"), item("c", "z")}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got, want := shape(k.router.sent()), []string{"one x", "one y", "AbortReq", "AbortReq"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestTheServiceEndsBetweenItems(t *testing.T) {
	k := start(t, nil)
	k.router.reply = func(request.Message) { k.Fail(errors.New("a detokenizer died")) }
	if _, err := k.Submit(context.Background(), []Item{item("a", "x"), item("b", "y")}, 1); status(err) != 503 || !strings.Contains(err.Error(), "a detokenizer died") {
		t.Errorf("got %v", err)
	}
	if got := shape(k.router.sent()); !slices.Equal(got, []string{"one x"}) {
		t.Errorf("sent %q, want the first only", got)
	}
	k.counts("num_aborted_requests_total=2") // by the end of the service
}

// Latency counts from Submit, whatever its tokenizing takes and however it sends.
func TestLatencyHasTheTokenizing(t *testing.T) {
	for _, together := range []bool{false, true} {
		slow := &slowTokenizer{}
		k := start(t, func(c *Config) { c.Tokenizer, c.EnableTokenizerBatchEncode = slow, together })
		slow.clock = k.clock
		c := k.submit(1, item("a", "x"), item("b", "x"))
		k.rows(row{rid: "a", number: int64(0), finish: stopped()})
		if u := next(t, c); u.Latency != 2000 {
			t.Errorf("together %v: latency %d ns, want the 2000 of the tokenizer", together, u.Latency)
		}
	}
}

// slowTokenizer lets a microsecond pass for each text.
type slowTokenizer struct {
	byBytes
	clock *clock
}

func (s *slowTokenizer) EncodePrompt(text string) ([]int64, error) {
	s.clock.advance(1000)
	return byBytes{}.EncodePrompt(text)
}

// Whatever the items and the way: a request is served whole, or nothing of it runs; and the
// scheduler knows exactly what the Manager waits for.
func TestRefusedOrServed(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	refusals := 0
	for range 300 {
		k := start(t, func(c *Config) {
			c.EnableTokenizerBatchEncode, c.DisableBatchSend, c.BatchSendMaxReqs = r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(3)
		})
		var items []Item
		for range 1 + r.IntN(6) {
			switch r.IntN(12) {
			case 0:
				items = append(items, item("", "untokenizable"))
			case 1:
				items = append(items, item("", strings.Repeat("x", 99)))
			case 2:
				items = append(items, Item{InputIDs: ids("abc")}.with(8))
			default:
				items = append(items, item("", "ok"))
			}
		}
		_, err := k.Submit(context.Background(), items, 1)
		running := map[string]bool{}
		for _, m := range k.router.sent() {
			switch m := m.(type) {
			case *request.TokenizedGenerateReqInput:
				running[m.RID] = true
			case *request.BatchTokenizedGenerateReqInput:
				for i := range m.Batch {
					running[m.Batch[i].RID] = true
				}
			case *request.AbortReq:
				if !running[m.RID] {
					t.Fatalf("%q is aborted before it was sent, or twice", m.RID)
				}
				delete(running, m.RID)
				k.rows(row{rid: m.RID, number: int64(0), finish: reason("abort")})
			}
		}
		want := len(items)
		if err != nil {
			refusals++
			want = 0
		}
		if len(running) != want || k.InFlight() != want {
			t.Fatalf("%d items, error %v: %d run, %d states", len(items), err, len(running), k.InFlight())
		}
	}
	if refusals == 0 || refusals == 300 {
		t.Errorf("%d of 300 refused, want some", refusals)
	}
}

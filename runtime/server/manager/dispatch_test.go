package manager

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// shape is what was sent as classes and texts: "one abc", "batch [abc de]".
func shape(sent []request.Message) []string {
	var all []string
	for _, m := range sent {
		switch m := m.(type) {
		case *request.TokenizedGenerateReqInput:
			all = append(all, "one "+text(m.InputIDs))
		case *request.BatchTokenizedGenerateReqInput:
			var texts []string
			for _, r := range m.Batch {
				texts = append(texts, text(r.InputIDs))
			}
			all = append(all, fmt.Sprint("batch ", texts))
		default:
			all = append(all, m.Class())
		}
	}
	return all
}

func text(ids []int64) string {
	b := make([]byte, len(ids))
	for i, id := range ids {
		b[i] = byte(id)
	}
	return string(b)
}

func ids(text string) []int64 {
	all, _ := byBytes{}.EncodePrompt(text) // a text without the word that it refuses
	return all
}

func TestDispatch(t *testing.T) {
	texts := []Item{item("", "a"), item("", "bb"), item("", "ccc")}
	pretokenized := []Item{{InputIDs: ids("a")}, {InputIDs: ids("bb")}, {InputIDs: ids("ccc")}}
	for i := range pretokenized {
		pretokenized[i].Params = params(8)
	}
	mixed := []Item{pretokenized[0], texts[1]}
	for _, c := range []struct {
		name   string
		change func(*Config)
		items  []Item
		want   []string
	}{
		{"text goes item by item", nil, texts, []string{"one a", "one bb", "one ccc"}},
		{"ids go as a batch", nil, pretokenized, []string{"batch [a bb ccc]"}},
		{"one text is enough", nil, mixed, []string{"one a", "one bb"}},
		{"one item is no batch", nil, pretokenized[:1], []string{"one a"}},
		{"the flag makes a batch of text", func(c *Config) { c.EnableTokenizerBatchEncode = true }, texts, []string{"batch [a bb ccc]"}},
		{"no batch, whatever the rule", func(c *Config) { c.EnableTokenizerBatchEncode, c.DisableBatchSend = true, true }, pretokenized, []string{"one a", "one bb", "one ccc"}},
		{"cut by tokens", func(c *Config) { c.BatchSendMaxTokens = 3 }, pretokenized, []string{"batch [a bb]", "batch [ccc]"}},
		{"an item larger than the limit", func(c *Config) { c.BatchSendMaxTokens = 1 }, pretokenized, []string{"batch [a]", "batch [bb]", "batch [ccc]"}},
		{"cut by items", func(c *Config) { c.BatchSendMaxReqs = 2 }, pretokenized, []string{"batch [a bb]", "batch [ccc]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := start(t, c.change)
			k.submit(1, c.items...)
			if got := shape(k.router.sent()); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if k.InFlight() != len(c.items) {
				t.Errorf("got %d states, want %d", k.InFlight(), len(c.items))
			}
		})
	}
}

func TestCutSizesAreLogged(t *testing.T) {
	k := start(t, func(c *Config) { c.BatchSendMaxTokens = 3 })
	k.submit(1, Item{InputIDs: ids("a")}.with(8), Item{InputIDs: ids("bb")}.with(8), Item{InputIDs: ids("ccc")}.with(8))
	if k.log.count(`msg="Batch send" reqs="[2 1]" tokens="[3 3]"`) != 1 {
		t.Errorf("got the log\n%s", k.log.b.String())
	}
}

// with gives an item's parameters.
func (it Item) with(maxNew int) Item {
	it.Params, it.LogprobStartLen = params(maxNew), -1
	return it
}

func TestEveryFieldGoesToTheScheduler(t *testing.T) {
	k := start(t, nil)
	seed := int64(7)
	p := params(8)
	p.Stop, p.StopTokenIDs, p.SamplingSeed, p.LogitBias = []string{"z"}, []int64{5}, &seed, map[int64]float64{3: 1.5}
	k.submit(1, Item{
		RID: "r", Text: "abc", Params: p, ReturnLogprob: true, LogprobStartLen: 1, TopLogprobsNum: 2, TokenIDsLogprob: []int64{4},
		Stream: true, ExtraKey: "x", CacheSalt: "s", NoLogs: true,
	})
	got := k.router.sent()[0].(*request.TokenizedGenerateReqInput)
	want := &request.TokenizedGenerateReqInput{
		RID: "r", HTTPWorkerIPC: ipc, InputIDs: ids("abc"), SamplingParams: p, ReturnLogprob: true, LogprobStartLen: 1,
		TopLogprobsNum: 2, TokenIDsLogprob: []int64{4}, Stream: true, ExtraKey: "x", CacheSalt: "s", NoLogs: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// finisher answers each prefill-only request with its last row.
func (k *kit) finisher() {
	k.router.reply = func(m request.Message) {
		if r, ok := m.(*request.TokenizedGenerateReqInput); ok && r.SamplingParams.MaxNewTokens == 0 {
			go k.rows(row{rid: r.RID, number: int64(0), finish: reason("length")})
		}
	}
}

func TestCopiesGoWhenTheirPromptsAreCached(t *testing.T) {
	k := start(t, nil)
	k.finisher()
	a, b := item("mine", "aa"), item("", "bb")
	a.Params.Stop, a.Params.MinNewTokens, a.ReturnLogprob, a.TopLogprobsNum, a.LogprobStartLen = []string{"z"}, 3, true, 2, 0
	a.CacheSalt = "salt"
	seed := int64(math.MaxInt64)
	b.Params.SamplingSeed = &seed
	c := k.submit(3, a, b)
	sent := k.router.sent()
	if got, want := shape(sent), []string{"one aa", "one bb", "one aa", "one aa", "one aa", "one bb", "one bb", "one bb"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	rids := map[string]bool{"mine": true}
	for i, m := range sent {
		r := m.(*request.TokenizedGenerateReqInput)
		if rids[r.RID] {
			t.Errorf("rid %q is not fresh", r.RID)
		}
		rids[r.RID] = true
		p := r.SamplingParams
		if i < 2 && (p.MaxNewTokens != 0 || p.MinNewTokens != 0 || p.Stop != nil || r.Stream || r.ReturnLogprob) {
			t.Errorf("the run that caches a prompt is %+v", r)
		}
		if i > 1 && (p.MaxNewTokens != 8 || !r.Stream) {
			t.Errorf("a copy is %+v", r)
		}
		if copied := i >= 5; copied && *p.SamplingSeed != []int64{math.MaxInt64, math.MinInt64, math.MinInt64 + 1}[i-5] {
			t.Errorf("copy %d has the seed %d", i-5, *p.SamplingSeed)
		}
		if salted := text(r.InputIDs) == "aa"; salted != (r.CacheSalt == "salt") {
			t.Errorf("cache_salt of %q is %q", text(r.InputIDs), r.CacheSalt)
		}
	}
	for i, m := range sent[2:] {
		k.rows(row{rid: m.(*request.TokenizedGenerateReqInput).RID, number: int64(0), text: fmt.Sprint(i), finish: stopped(), ids: []int64{1}, out: []float64{-1}})
		if u := next(t, c); u.Index != i || u.Text != fmt.Sprint(i) {
			t.Errorf("got index %d with %q, want %d", u.Index, u.Text, i)
		}
	}
	ended(t, c)
	if k.InFlight() != 0 {
		t.Errorf("%d states are left", k.InFlight())
	}
}

func TestAPromptThatIsRefusedRefusesItsCopies(t *testing.T) {
	k := start(t, nil)
	k.router.reply = func(m request.Message) {
		if r, ok := m.(*request.TokenizedGenerateReqInput); ok {
			f := &request.FinishReason{Type: "abort", Message: "the queue is full", StatusCode: 503, ErrType: "ServiceUnavailable"}
			go k.answers(&request.AbortReq{RID: r.RID, HTTPWorkerIPC: ipc, FinishedReason: f})
		}
	}
	_, err := k.Submit(context.Background(), []Item{item("", "a")}, 2)
	var e *Error
	if !errors.As(err, &e) || e.Status != 503 || e.Message != "the queue is full" {
		t.Errorf("got %v", err)
	}
	if got := shape(k.router.sent()); !slices.Equal(got, []string{"one a"}) {
		t.Errorf("sent %q, want the prompt only", got)
	}
}

func TestAClientThatLeavesWhileItsPromptIsCached(t *testing.T) {
	k := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	k.router.reply = func(request.Message) { cancel() }
	if _, err := k.Submit(ctx, []Item{item("", "a")}, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := shape(k.router.sent()); !slices.Equal(got, []string{"one a", "AbortReq"}) {
		t.Errorf("sent %q, want the prompt and its abort", got)
	}
}

package manager

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	long := strings.Repeat("x", 99)
	set := func(change func(*Item)) []Item {
		it := item("", "abc")
		change(&it)
		return []Item{it}
	}
	sampled := func(change func(*request.SamplingParams)) []Item {
		return set(func(it *Item) { change(&it.Params) })
	}
	for _, c := range []struct {
		name    string
		n       int
		items   []Item
		message string
	}{
		{"n 0", 0, []Item{item("", "a")}, "n is 0, expected 1 to 128"},
		{"n huge", 1 << 40, []Item{item("", "a")}, "n is 1099511627776, expected 1 to 128"},
		{"no items", 1, nil, "no items"},
		{"empty text", 1, set(func(it *Item) { it.Text = "" }), "text has no tokens"},
		{"empty ids", 1, set(func(it *Item) { it.InputIDs = []int64{} }), "input_ids is empty"},
		{"invalid UTF-8", 1, set(func(it *Item) { it.Text = "ab\xffc" }), "a byte at 2 that is no UTF-8"},
		{"cut UTF-8", 1, set(func(it *Item) { it.Text = "ab\xe2\x82" }), "a byte at 2 that is no UTF-8"},
		{"no pieces", 1, set(func(it *Item) { it.Text = "untokenizable" }), "text cannot be tokenized: no piece fits"},
		{"negative id", 1, set(func(it *Item) { it.InputIDs = []int64{1, -1} }), "input_ids[1] is -1, expected 0 to 255"},
		{"large id", 1, set(func(it *Item) { it.InputIDs = []int64{256} }), "input_ids[0] is 256, expected 0 to 255"},
		{"long prompt", 1, set(func(it *Item) { it.Text = long }), "the prompt has 99 tokens and max_new_tokens is 8, expected at most 98 prompt tokens in a context_length of 100"},
		{"longer, prefill only", 1, set(func(it *Item) { it.Text = long + "x"; it.Params.MaxNewTokens = 0 }), "100 tokens and max_new_tokens is 0, expected at most 99"},
		{"rid invalid", 1, set(func(it *Item) { it.RID = "\xff" }), "expected valid UTF-8"},
		{"rid twice", 1, []Item{item("r", "a"), item("s", "a"), item("r", "a")}, `rid "r" is that of item 0 and of item 2`},
		{"one item of many", 1, []Item{item("", "a"), item("", "")}, "item 1: text has no tokens"},
		{"NaN", 1, sampled(func(p *request.SamplingParams) { p.Temperature = math.NaN() }), "temperature is NaN, expected a finite number of at least 0"},
		{"top_p", 1, sampled(func(p *request.SamplingParams) { p.TopP = 0 }), "top_p is 0, expected more than 0"},
		{"top_k", 1, sampled(func(p *request.SamplingParams) { p.TopK = 0 }), "top_k is 0"},
		{"min_p", 1, sampled(func(p *request.SamplingParams) { p.MinP = -1 }), "min_p is -1"},
		{"frequency_penalty", 1, sampled(func(p *request.SamplingParams) { p.FrequencyPenalty = 3 }), "frequency_penalty is 3"},
		{"presence_penalty", 1, sampled(func(p *request.SamplingParams) { p.PresencePenalty = 3 }), "presence_penalty is 3"},
		{"repetition_penalty", 1, sampled(func(p *request.SamplingParams) { p.RepetitionPenalty = 0 }), "repetition_penalty is 0"},
		{"max_new_tokens", 1, sampled(func(p *request.SamplingParams) { p.MaxNewTokens = -1 }), "max_new_tokens is -1"},
		{"min_new_tokens", 1, sampled(func(p *request.SamplingParams) { p.MinNewTokens = 9 }), "min_new_tokens is 9, expected 0 to max_new_tokens, which is 8"},
		{"stop_token_ids", 1, sampled(func(p *request.SamplingParams) { p.StopTokenIDs = []int64{256} }), "stop_token_ids[0] is 256"},
		{"logit_bias", 1, sampled(func(p *request.SamplingParams) { p.LogitBias = map[int64]float64{999: 1} }), "an id of logit_bias is 999"},
		{"stop", 1, sampled(func(p *request.SamplingParams) { p.Stop = []string{"a", ""} }), `stop[1] is ""`},
		{"stream_interval", 1, sampled(func(p *request.SamplingParams) { p.StreamInterval = -1 }), "stream_interval is -1"},
		{"logprob_start_len", 1, set(func(it *Item) { it.LogprobStartLen = 4 }), "logprob_start_len is 4, expected -1 to 3"},
		{"top_logprobs_num", 1, set(func(it *Item) { it.TopLogprobsNum = 257 }), "top_logprobs_num is 257"},
		{"many log-probabilities", 1, set(func(it *Item) {
			it.ReturnLogprob, it.LogprobStartLen, it.TokenIDsLogprob = true, 1, make([]int64, 1<<18)
		}), "log-probabilities of 262145 tokens at each of 10 positions (from logprob_start_len to max_new_tokens), expected at most 2097152 in all"},
		{"token_ids_logprob", 1, set(func(it *Item) { it.TokenIDsLogprob = []int64{-1} }), "token_ids_logprob[0] is -1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := start(t, nil)
			e := k.refused(c.n, c.items...)
			if e.Status != 400 || e.Type != "BadRequestError" || !strings.Contains(e.Message, c.message) {
				t.Errorf("got %d %s %q, want 400 BadRequestError with %q", e.Status, e.Type, e.Message, c.message)
			}
			if k.InFlight() != 0 {
				t.Errorf("%d states are left of a refused request", k.InFlight())
			}
		})
	}
}

func TestMaxNewTokensIsCutToTheContext(t *testing.T) {
	for _, c := range []struct{ prompt, maxNew, minNew, wantMax, wantMin int }{
		{98, 8, 0, 1, 0}, {98, 8, 5, 1, 1}, {99, 0, 0, 0, 0}, {10, 8, 2, 8, 2}, {10, 1 << 40, 0, 89, 0},
	} {
		k := start(t, nil)
		it := item("r", strings.Repeat("x", c.prompt))
		it.Params.MaxNewTokens, it.Params.MinNewTokens = c.maxNew, c.minNew
		k.submit(1, it)
		p := k.router.sent()[0].(*request.TokenizedGenerateReqInput).SamplingParams
		if p.MaxNewTokens != c.wantMax || p.MinNewTokens != c.wantMin {
			t.Errorf("%+v: got max %d, min %d", c, p.MaxNewTokens, p.MinNewTokens)
		}
	}
}

func TestAMessageThatIsTooLargeIsRefusedBeforeAnyIsSent(t *testing.T) {
	k := start(t, func(c *Config) { c.MaxFrame = 700; c.BatchSendMaxTokens = 50 })
	small, large := Item{InputIDs: make([]int64, 20), Params: params(1)}, Item{InputIDs: make([]int64, 90), Params: params(1)}
	k.submit(1, small)
	e := k.refused(1, small, large)
	if e.Status != 413 || !strings.Contains(e.Message, "expected at most 700") {
		t.Errorf("got %d %q", e.Status, e.Message)
	}
	if k.InFlight() != 1 {
		t.Errorf("got %d states, want the small one's", k.InFlight())
	}
}

func TestNewNamesWhatCannotBe(t *testing.T) {
	k := start(t, nil)
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.IPC = "" }, "http_worker_ipc is missing"},
		{func(c *Config) { c.Sender = nil }, "Sender is missing"},
		{func(c *Config) { c.Limits.ContextLength = 1 }, "context_length is 1, expected at least 2"},
		{func(c *Config) { c.BatchSendMaxReqs = -1 }, "batch_send_max_reqs is -1"},
	} {
		config := k.config
		c.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestACancelledSubmitSendsNothing(t *testing.T) {
	k := start(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := k.Submit(ctx, []Item{item("", "a")}, 1); !errors.Is(err, context.Canceled) || len(k.router.sent()) != 0 {
		t.Errorf("got %v, sent %v", err, k.router.sent())
	}
}

// unused is a tokenizer whose longest token has ten bytes, and that must not encode.
type unused struct {
	byBytes
	t *testing.T
}

func (u unused) EncodePrompt(text string) ([]int64, error) {
	u.t.Errorf("a text of %d bytes was encoded", len(text))
	return nil, nil
}

// A text that cannot fit is refused by its bytes, as one is by its tokens; the first
// that may fit is encoded.
func TestALongTextIsRefusedBeforeItIsEncoded(t *testing.T) {
	k := start(t, func(c *Config) { c.Tokenizer = unused{t: t} })
	for _, c := range []struct {
		bytes, maxNew int
		message       string
	}{
		{60_000_000, 8, "the prompt has at least 6000000 tokens and max_new_tokens is 8, expected at most 98 prompt tokens in a context_length of 100"},
		{981, 8, "at least 99 tokens and max_new_tokens is 8, expected at most 98"},
		{991, 0, "at least 100 tokens and max_new_tokens is 0, expected at most 99"},
	} {
		it := item("", strings.Repeat("x", c.bytes))
		it.Params.MaxNewTokens = c.maxNew
		if e := k.refused(1, it); e.Status != 400 || e.Type != "BadRequestError" || !strings.Contains(e.Message, c.message) {
			t.Errorf("%d bytes: %+v, want %q", c.bytes, e, c.message)
		}
	}
	k = start(t, nil)
	if e := k.refused(1, item("", strings.Repeat("x", 980))); !strings.Contains(e.Message, "the prompt has 980 tokens and") {
		t.Errorf("980 bytes: %+v, want their tokens to be counted", e)
	}
}

package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/chat"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// letters is a tokenizer of bytes with ChatML's two marks.
type letters struct{}

const vocab = 258

var marks = []string{"<|im_start|>", "<|im_end|>"}

func (letters) VocabSize() int { return vocab }

func (l letters) EncodePrompt(text string) ([]int64, error) { return l.Encode(text) }

func (letters) Encode(text string) ([]int64, error) {
	var ids []int64
next:
	for text != "" {
		for i, mark := range marks {
			if rest, is := strings.CutPrefix(text, mark); is {
				ids, text = append(ids, int64(256+i)), rest
				continue next
			}
		}
		ids, text = append(ids, int64(text[0])), text[1:]
	}
	return ids, nil
}

func (letters) LeastTokens(text string) int { return (len(text) + 11) / 12 }

func (letters) AppendBytes(dst []byte, ids []int64, skipSpecial bool) []byte {
	for _, id := range ids {
		if id < 256 {
			dst = append(dst, byte(id))
		} else if !skipSpecial {
			dst = append(dst, marks[id-256]...)
		}
	}
	return dst
}

func (l letters) AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte {
	return append(dst, strings.ToValidUTF8(string(l.AppendBytes(nil, ids, skipSpecial)), "\ufffd")...)
}

// hold is a step of a script at which nothing comes any more.
type hold struct{}

// fake is a manager.Service that answers each submission with the same script:
// manager.Update, error, hold, or func() to be called.
type fake struct {
	script []any
	refuse error // of Submit

	mu         sync.Mutex
	submitted  [][]manager.Item
	copies     []int
	closed     chan struct{} // one for each call that was closed
	aborts     []string
	flush      bool
	flushWait  time.Duration
	state      string
	admissions []string
	fault      error // of everything but Submit
}

func newFake(script ...any) *fake {
	return &fake{script: script, closed: make(chan struct{}, 1000), state: `{"waiting":0,"max_total_num_tokens":900,"limits":{"max_req_input_len":98}}`}
}

func (f *fake) Submit(ctx context.Context, items []manager.Item, n int) (manager.Call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitted, f.copies = append(f.submitted, items), append(f.copies, n)
	if f.refuse != nil {
		return nil, f.refuse
	}
	return &fakeCall{fake: f, left: f.script}, nil
}

func (f *fake) Abort(ctx context.Context, rid string, all bool, message string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if all {
		rid = "all " + rid
	}
	f.aborts = append(f.aborts, strings.TrimSpace(rid+" "+message))
	return f.fault
}

func (f *fake) FlushCache(ctx context.Context, timeout time.Duration) (bool, string, error) {
	f.flushWait = timeout
	return f.flush, "2 requests run", f.fault
}

func (f *fake) InternalState(ctx context.Context) ([]byte, error) { return []byte(f.state), f.fault }

func (f *fake) Admissions(ctx context.Context, rids []string) ([]byte, error) {
	f.admissions = rids
	return []byte(`{"records":[]}`), f.fault
}

// items are those of the only submission.
func (f *fake) items(t *testing.T) []manager.Item {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.submitted) != 1 {
		t.Fatalf("%d submissions, want 1", len(f.submitted))
	}
	return f.submitted[0]
}

// awaitClose waits until n calls have been closed.
func (f *fake) awaitClose(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-f.closed:
		case <-time.After(patience):
			t.Fatal("a call was not closed")
		}
	}
}

type fakeCall struct {
	fake *fake
	left []any
	made map[int]int // tokens by index
	over bool
}

func (c *fakeCall) Next(ctx context.Context) (manager.Update, error) {
	for len(c.left) > 0 {
		if err := ctx.Err(); err != nil {
			return manager.Update{}, err
		}
		switch step := c.left[0].(type) {
		case manager.Update:
			c.left = c.left[1:]
			if c.made == nil {
				c.made = map[int]int{}
			}
			c.made[step.Index] += len(step.OutputIDs)
			step.CompletionTokens = c.made[step.Index]
			return step, nil
		case error:
			c.left = c.left[1:]
			return manager.Update{}, step
		case hold:
			<-ctx.Done()
			return manager.Update{}, ctx.Err()
		case func():
			c.left = c.left[1:]
			step()
		}
	}
	return manager.Update{}, io.EOF
}

func (c *fakeCall) Close() {
	if !c.over {
		c.over = true
		c.fake.closed <- struct{}{}
	}
}

// now is the clock of the tests.
func now() time.Time { return time.Unix(1_700_000_000, 0) }

func config(f *fake, changes ...func(*Config)) Config {
	template, err := chat.ChatML()
	if err != nil {
		panic(err)
	}
	c := Config{
		Template: template, Service: f, Tokenizer: letters{}, State: func() State { return Serving }, Now: now, Version: "1.2.3",
		Info: backend.Info{Name: "small", Architecture: "Qwen3ForCausalLM", ContextLength: 100, VocabSize: vocab, EOS: []int64{257}},
		Args: args.Args{MaxBodyBytes: 1 << 20, ModelPath: "some/model", Device: "cpu", HealthTimeout: 0.3},
		Log:  slog.New(slog.DiscardHandler),
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

func start(t *testing.T, f *fake, changes ...func(*Config)) string {
	t.Helper()
	s := httptest.NewServer(New(config(f, changes...)))
	t.Cleanup(s.Close)
	return s.URL
}

// got is a response.
type got struct {
	status int
	header http.Header
	body   string
}

func do(t *testing.T, method, url, body string, header ...string) got {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{resp.StatusCode, resp.Header, string(b)}
}

func post(t *testing.T, url, body string) got {
	t.Helper()
	return do(t, http.MethodPost, url, body)
}

// unmarshal reads JSON that must be.
func unmarshal[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// events reads a stream by the rules of SSE: events end with an empty line, and a
// line that is not a field of one we write is a fault.
func events(t *testing.T, body string) []string {
	t.Helper()
	var all []string
	for _, event := range strings.SplitAfter(body, "\n\n") {
		if event == "" {
			continue
		}
		data, is := strings.CutPrefix(strings.TrimSuffix(event, "\n\n"), "data: ")
		if !is || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("event %q, want one line of data", event)
		}
		all = append(all, data)
	}
	return all
}

// chunks are the events of a stream as JSON, which must end with [DONE].
func chunks(t *testing.T, body string) []map[string]any {
	t.Helper()
	all := events(t, body)
	if len(all) == 0 || all[len(all)-1] != "[DONE]" {
		t.Fatalf("stream %q, want [DONE] at its end", body)
	}
	var out []map[string]any
	for _, data := range all[:len(all)-1] {
		out = append(out, unmarshal[map[string]any](t, data))
	}
	return out
}

// at walks into JSON by keys and indices.
func at(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			object, is := v.(map[string]any)
			if !is {
				return nil
			}
			v = object[s]
		case int:
			list, is := v.([]any)
			if !is || s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

func ptr[T any](v T) *T { return &v }

var (
	byLength = &manager.Finish{Type: "length", Length: 2}
	byToken  = &manager.Finish{Type: "stop", MatchedToken: ptr(int64(257))}
	byText   = &manager.Finish{Type: "stop", MatchedText: "\n\n"}
)

// says is an update with text, an id for each byte, after 3 prompt tokens.
func says(index int, text string, finish *manager.Finish) manager.Update {
	u := manager.Update{Index: index, RID: "r" + itoa(int64(index)), Text: text, PromptTokens: 3, CachedTokens: 1, Finish: finish, Rows: 1}
	for _, b := range []byte(text) {
		u.OutputIDs = append(u.OutputIDs, int64(b))
	}
	if finish != nil {
		u.Latency = 1500 * time.Millisecond
	}
	return u
}

// position has a token's log-probability, the best two, and those of id 65.
func position(id int64, val float64) manager.Position {
	return manager.Position{
		Token: manager.TokenLogprob{ID: id, Val: val},
		Top:   []manager.TokenLogprob{{ID: id, Val: val}, {ID: 66, Val: val - 1}},
		IDs:   []manager.TokenLogprob{{ID: 65, Val: -0.25}},
	}
}

// withLogprobs adds a position for each id, and input positions where asked for.
func withLogprobs(u manager.Update, input ...manager.Position) manager.Update {
	u.InputLogprobs = input
	for i, id := range u.OutputIDs {
		u.OutputLogprobs = append(u.OutputLogprobs, position(id, -0.5*float64(i+1)))
	}
	return u
}

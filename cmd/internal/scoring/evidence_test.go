package scoring

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A spread is put together of its items' records: a chunked item counts in each of
// its batches, and batches stand in their order whatever the items'.
func TestSpread(t *testing.T) {
	a := Admissions{
		Records: map[string]Record{
			"a": {RID: "a", Arrived: 5, PromptTokens: 10, FinishedTime: 9, Admissions: []Admission{{Batch: 3, Time: 7, Tokens: 4, CachedTokens: 6}}},
			"b": {RID: "b", Arrived: 4, PromptTokens: 20, FinishedTime: 8, Admissions: []Admission{{Batch: 2, Time: 6, Tokens: 15, Chunk: true}, {Batch: 3, Time: 7, Tokens: 5}}, Retractions: 1},
			"c": {RID: "c", Arrived: 6, PromptTokens: 1, FinishedTime: 7, Admissions: []Admission{{Batch: 2, Time: 6, Tokens: 1}}},
			"d": {RID: "d"},
		},
		Batches: map[int]Batch{2: {Number: 2, RIDs: []string{"b", "c", "x"}}},
	}
	got, err := a.Spread([]string{"a", "b", "c"})
	want := Spread{
		Parts: []Part{{Batch: 2, Time: 6, Items: 2, Tokens: 16, All: 3}, {Batch: 3, Time: 7, Items: 2, Tokens: 9, CachedTokens: 6}},
		First: 4, Last: 6, Finished: 9, PromptTokens: 31, CachedTokens: 6, Retractions: 1,
	}
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for want, rids := range map[string][]string{`no record of item "y"`: {"a", "y"}, `item "d" was in no prefill batch`: {"d"}, "no item": nil} {
		if _, err := a.Spread(rids); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", rids, err, want)
		}
	}
}

// Servers that answer questions badly.
func TestWrongServers(t *testing.T) {
	var status int
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			status = http.StatusUnauthorized
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client says if it does not come
	}))
	defer s.Close()
	c := Client{URL: s.URL, Key: "k"}
	ctx := within(t)
	ask := map[string]func() error{
		"tokenize":   func() error { _, err := c.Tokenize(ctx, []string{"a", "b"}); return err },
		"labels":     func() error { _, err := c.Labels(ctx); return err },
		"flush":      func() error { return c.Flush(ctx, 0) },
		"info":       func() error { _, err := c.ServerInfo(ctx); return err },
		"admissions": func() error { _, err := c.Admissions(ctx, []string{"r"}); return err },
	}
	for _, k := range []struct {
		what, body string
		status     int
		want       string
	}{
		{"tokenize", "nothing here", 404, `POST /tokenize: status 404, expected 200: "nothing here"`},
		{"tokenize", `{"tokens":[[1]]}`, 200, "1 lists of tokens, expected 2"},
		{"tokenize", `{"tokens":[1,2]}`, 200, "POST /tokenize: json"},
		{"labels", "down", 503, "POST /v1/score: status 503, expected 200, or 400"},
		{"labels", "out of vocabulary", 400, "POST /tokenize: status 400"},
		{"flush", "busy", 400, `POST /flush_cache?timeout_s=0: status 400, expected 200: "busy"`},
		{"info", "{", 200, "GET /server_info: status 200, expected 200 and JSON"},
		{"admissions", `{"records":[]}`, 200, `no record of 1 of 1 items, the first "r"`},
		{"admissions", strings.Repeat("x", 5000), 500, `xxx"...`},
	} {
		status, body = k.status, k.body
		if err := ask[k.what](); err == nil || !strings.Contains(err.Error(), k.want) || len(err.Error()) > 500 {
			t.Errorf("%s: %v, want %q", k.what, err, k.want)
		}
	}
	status, body = 200, "{}"
	if labels, err := c.Labels(ctx); err != nil || fmt.Sprint(labels) != "[9454 2753]" {
		t.Errorf("labels of a server that has the published ones: %v, %v", labels, err)
	}
	s.Close()
	for what, f := range ask {
		if err := f(); err == nil {
			t.Errorf("%s: a server that is gone has answered", what)
		}
	}
}

// Long lists of texts are asked for in pieces, and come back in their order.
func TestTokenizeInPieces(t *testing.T) {
	t.Parallel()
	s := start(t, "builtin:batch@device=sim")
	var texts []string
	var want []int
	for i := range 603 {
		n := i % 7
		if i > 600 { // two of these are more than one question may have
			n = tokenizeBytes * 3 / 5
		}
		texts, want = append(texts, strings.Repeat("x", n)), append(want, n)
	}
	lists, err := s.Tokenize(within(t), texts)
	if err != nil || len(lists) != len(texts) {
		t.Fatalf("%d lists, %v", len(lists), err)
	}
	for i, ids := range lists {
		if len(ids) != want[i] {
			t.Errorf("text %d: %d tokens, want %d", i, len(ids), want[i])
		}
	}
}

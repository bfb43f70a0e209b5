package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// text of a seed: with quotes, line feeds and characters of several bytes.
func piece(seed, at int) string {
	return []string{"a", "\"", "\n", "é", "\\", "日", "😀", `"text":"`}[(seed+at)%8]
}

// body is what the test server reads of a request.
type body struct {
	Stream         bool  `json:"stream"`
	InputIDs       []int `json:"input_ids"`
	SamplingParams struct {
		MaxNewTokens int `json:"max_new_tokens"`
		SamplingSeed int `json:"sampling_seed"`
	} `json:"sampling_params"`
}

// checked is a load with all its checks.
func checked(ctx context.Context, c Config) (Result, error) {
	r, err := Run(ctx, c)
	if err != nil {
		return r, err
	}
	return r, r.Compare(ctx, c)
}

// serve answers as the server does; fault, if any, changes an event before it goes out: it returns what
// to send in its place.
func serve(t *testing.T, fault func(seed, at int, event string) string) string {
	handler := func(w http.ResponseWriter, r *http.Request) {
		var b body
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			t.Error(err)
		}
		seed, n := b.SamplingParams.SamplingSeed, b.SamplingParams.MaxNewTokens
		if !b.Stream {
			var text strings.Builder
			for at := range n {
				text.WriteString(piece(seed, at))
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"text": text.String()}) // a client that left fails its own test
			return
		}
		for at := range n {
			finish := "null"
			if at == n-1 {
				finish = fmt.Sprintf(`{"type":"length","length":%d}`, n)
			}
			quoted, _ := json.Marshal(piece(seed, at)) // a string
			event := fmt.Sprintf("data: {\"text\":%s,\"output_ids\":[%d],\"meta_info\":{\"finish_reason\":%s,\"completion_tokens\":%d}}\n\n", quoted, at, finish, at+1)
			if fault != nil {
				event = fault(seed, at, event)
			}
			_, _ = w.Write([]byte(event)) // as above
		}
		_, _ = w.Write([]byte("data: [DONE]\n\n")) // as above
	}
	server := httptest.NewServer(http.HandlerFunc(handler))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func TestLoad(t *testing.T) {
	address := serve(t, nil)
	r, err := checked(t.Context(), Config{Address: address, Streams: 7, Tokens: 9, Prompt: 3, Rounds: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.Streams != 28 || r.Tokens != 28*9 || r.Events != 28*9 || len(r.First) != 28 || len(r.Gaps) != 28*8 {
		t.Errorf("got %d streams, %d tokens, %d events, %d first, %d gaps", r.Streams, r.Tokens, r.Events, len(r.First), len(r.Gaps))
	}
}

// Each fault must end the load with an error that names it.
func TestLoadFaults(t *testing.T) {
	at := func(want int, change func(string) string) func(int, int, string) string {
		return func(_, at int, event string) string {
			if at == want {
				return change(event)
			}
			return event
		}
	}
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	for name, c := range map[string]struct {
		fault func(int, int, string) string
		want  string
	}{
		"lost":      {at(2, func(string) string { return "" }), "event 3 says completion_tokens 4, its output_ids and those before are 3"},
		"doubled":   {at(2, func(s string) string { return s + s }), "event 4 says completion_tokens 3"},
		"text":      {at(2, replace(`"text":"`, `"text":"x`)), "a unary request's"},
		"no finish": {at(4, replace(`{"type":"length","length":5}`, "null")), "without a finish reason"},
		"late":      {at(4, func(s string) string { return s + s }), "event 6 comes after the finish reason"},
		"reason":    {at(4, replace("length", "stop")), "expected length"},
		"framing":   {at(1, replace("\n\n", "\n")), "expected a blank line"},
		"line":      {at(1, replace("data: ", "data:")), "which does not begin with data:"},
		"early":     {at(3, replace("null", `{"type":"length","length":5}`)), "4 tokens at the finish, expected 5"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := checked(t.Context(), Config{Address: serve(t, c.fault), Streams: 2, Tokens: 5, Prompt: 1, Rounds: 1})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestLoadRefusals(t *testing.T) {
	for _, c := range []Config{{Tokens: 1, Prompt: 1, Rounds: 1}, {Streams: 1, Prompt: 1, Rounds: 1}, {Streams: 1, Tokens: 1, Rounds: 1}, {Streams: 1, Tokens: 1, Prompt: 1}} {
		if _, err := checked(t.Context(), c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := checked(t.Context(), Config{Address: server.Listener.Addr().String(), Streams: 1, Tokens: 1, Prompt: 1, Rounds: 1})
	if err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v, want the status", err)
	}
}

// FuzzEvent compares the parser with encoding/json on events as the server writes them.
func FuzzEvent(f *testing.F) {
	f.Add("a\"\\\n😀", 3, 12, true)
	f.Add(`"output_ids":[1,2]`, 0, 0, false)
	f.Fuzz(func(t *testing.T, text string, ids, completion int, finished bool) {
		ids, completion = min(max(ids, 0), 100), max(completion, 0)
		var finish any
		if finished {
			finish = map[string]any{"type": "length"}
		}
		data, err := json.Marshal(map[string]any{
			"text": text, "output_ids": make([]int, ids),
			"meta_info": map[string]any{"finish_reason": finish, "completion_tokens": completion},
		})
		if err != nil {
			t.Fatal(err)
		}
		e, err := parseEvent(data)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		var want struct{ Text string }
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		got, err := unescape(e.text)
		if err != nil || got != want.Text || e.ids != ids || e.completion != completion || e.finished != finished {
			t.Errorf("%s: got %+v, text %q, %v", data, e, got, err)
		}
	})
}

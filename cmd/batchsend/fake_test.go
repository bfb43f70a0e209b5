package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fake is a server that is none of this module, with one fault.
type fake struct {
	fault  func(f *fake, w http.ResponseWriter, items int) (done bool) // nil: none
	alter  func(scores [][]float64)
	mute   bool          // it does not say how many tokens a text has
	extra  bool          // a token before each text
	close  bool          // each connection after its answer
	delay  time.Duration // of each request, one after the other
	mu     sync.Mutex
	scored atomic.Int64
	log    io.Writer // of lines about prefill batches
	name   func(rid string)
	key    string // that every question but /health must have; "": none
	model  string // that every request must name; "": any
}

// serve starts it, for a url arm.
func (f *fake) serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	if !f.mute {
		mux.HandleFunc("POST /tokenize", f.tokenize)
	}
	mux.HandleFunc("POST /v1/score", f.score)
	mux.HandleFunc("GET /server_info", func(w http.ResponseWriter, r *http.Request) {
		if f.key == "" {
			http.NotFound(w, r)
			return
		}
		write(w, map[string]any{"api_key": f.key, "page_size": 1}) // as SGLang does
	})
	s := httptest.NewServer(f.guarded(mux))
	t.Cleanup(s.Close)
	return "url:" + s.URL
}

// guarded refuses whoever does not have the key.
func (f *fake) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.key != "" && r.URL.Path != "/health" && r.Header.Get("Authorization") != "Bearer "+f.key {
			http.Error(w, `{"error":"Unauthorized"}`, http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// special are one token each, as is every byte.
var special = []string{"<|im_start|>", "<|im_end|>"}

func tokens(text string) []int64 {
	ids := []int64{}
	for text != "" {
		id, length := int64(text[0]), 1
		for i, s := range special {
			if strings.HasPrefix(text, s) {
				id, length = int64(1000+i), len(s)
			}
		}
		ids, text = append(ids, id), text[length:]
	}
	return ids
}

func (f *fake) tokenize(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Prompt []string `json:"prompt"`
	}
	if !read(w, r, &q) {
		return
	}
	lists := [][]int64{}
	for _, text := range q.Prompt {
		ids := tokens(text)
		if f.extra {
			ids = append([]int64{1}, ids...)
		}
		lists = append(lists, ids)
	}
	write(w, map[string]any{"tokens": lists})
}

func (f *fake) score(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Query  string   `json:"query"`
		Items  []string `json:"items"`
		Labels []int64  `json:"label_token_ids"`
		RID    any      `json:"rid"`
		Model  string   `json:"model"`
	}
	if !read(w, r, &q) {
		return
	}
	if f.model != "" && q.Model != f.model {
		http.Error(w, fmt.Sprintf("no model %q", q.Model), http.StatusNotFound)
		return
	}
	if f.close {
		w.Header().Set("Connection", "close")
	}
	if f.delay > 0 && len(q.Query) > 1 {
		f.mu.Lock()
		time.Sleep(f.delay)
		f.mu.Unlock()
	}
	if q.Query != "Q" { // the question whether the labels are known
		f.scored.Add(1)
		if f.name != nil {
			f.name(fmt.Sprint(q.RID))
		}
		if f.fault != nil && f.fault(f, w, len(q.Items)) {
			return
		}
	}
	scores := [][]float64{}
	total := 0
	for _, item := range q.Items {
		row := []float64{}
		for _, label := range q.Labels {
			h := fnv.New32a()
			fmt.Fprintf(h, "%s%s %d", q.Query, item, label)
			row = append(row, float64(h.Sum32()%1000)/1000)
		}
		scores, total = append(scores, row), total+len(tokens(q.Query+item))
	}
	if f.alter != nil {
		f.alter(scores)
	}
	if f.log != nil {
		f.mu.Lock()
		fmt.Fprintf(f.log, "[2026-01-01 00:00:00] Prefill batch. #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 2, \n")
		fmt.Fprintf(f.log, "[2026-01-01 00:00:00] Prefill batch, #new-seq: %d, #new-token: 6, #cached-token: 0, token usage: 0.00, #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 1.37\n", len(q.Items)-1)
		f.mu.Unlock()
	}
	write(w, map[string]any{"scores": scores, "object": "scoring", "usage": map[string]int{"prompt_tokens": total, "total_tokens": total}})
}

func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

// says answers 200 with a text.
func says(text string) func(*fake, http.ResponseWriter, int) bool {
	return func(_ *fake, w http.ResponseWriter, _ int) bool {
		_, _ = io.WriteString(w, text) // the client may have gone
		return true
	}
}

// resets cuts the connection off.
func resets(_ *fake, w http.ResponseWriter, _ int) bool {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	_ = c.(*net.TCPConn).SetLinger(0) // a reset in place of an end
	_ = c.Close()
	return true
}

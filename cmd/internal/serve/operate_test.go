package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The key is wanted by every endpoint but those that monitors ask, whichever worker
// answers; what is nearly the key is not it.
func TestAPIKeyOverHTTP(t *testing.T) {
	r := launch(t, "--device", "sim", "--api-key", "secret", "--tokenizer-worker-num", "2")
	ask := func(method, path, header string) int {
		request, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			request.Header.Set("Authorization", header)
		}
		request.Close = true // another connection, and another worker
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode
	}
	for _, route := range []string{
		"POST /generate", "POST /v1/completions", "POST /v1/chat/completions", "POST /v1/score", "GET /v1/models", "GET /server_info", "GET /get_server_info",
		"GET /model_info", "POST /flush_cache", "POST /abort_request", "POST /admissions",
	} {
		method, path, _ := strings.Cut(route, " ")
		for _, header := range []string{"", "Bearer ", "Bearer secre", "Bearer secrets", "bearer secret", "secret", "Basic secret"} {
			if got := ask(method, path, header); got != http.StatusUnauthorized {
				t.Errorf("%s with %q: %d, want 401", route, header, got)
			}
		}
		if got := ask(method, path, "Bearer secret"); got == http.StatusUnauthorized || got == http.StatusNotFound {
			t.Errorf("%s with the key: %d", route, got)
		}
	}
	for _, path := range []string{"/health", "/health_generate", "/metrics"} {
		if got := ask("GET", path, ""); got != http.StatusOK {
			t.Errorf("%s without the key: %d, want 200", path, got)
		}
	}
	if strings.Contains(r.log.String(), "secret") {
		t.Errorf("the log shows the key:\n%s", r.log)
	}
	r.term()
}

// A flush is refused while a request runs; an abort by rid reaches the request of
// whichever worker, of no other rid, and abort_all reaches all; then the cache can be
// flushed, and has nothing.
func TestFlushAndAbortOverHTTP(t *testing.T) {
	r := launch(t, append([]string{"--tokenizer-worker-num", "3", "--incremental-streaming-output"}, slow...)...)
	ends := map[string]chan streamed{}
	for i := range 5 {
		rid := fmt.Sprint("rid-", i)
		ends[rid] = make(chan streamed, 1)
		go func() {
			body := prompt(i+1, 30000)
			body["rid"] = rid
			s, err := r.generate(t.Context(), body)
			if err != nil {
				t.Error(err)
			}
			ends[rid] <- s
		}()
	}
	r.waitFor("all to run", func() bool { return r.running(t) == 5 })
	if status, answer := r.raw(t, "POST", "/flush_cache", nil); status != 400 || !strings.Contains(fmt.Sprint(answer), "5 requests run") {
		t.Errorf("a flush: %d %v", status, answer)
	}
	aborted := func(rid string) {
		t.Helper()
		if s := <-ends[rid]; s.Finish != "abort" || !s.Done || s.Err != "" {
			t.Errorf("%s ended with %q, done %t, error %q", rid, s.Finish, s.Done, s.Err)
		}
	}
	for _, rid := range []string{"rid-3", "rid-1"} {
		if status, answer := r.post(t, "/abort_request", map[string]any{"rid": rid}); status != 200 {
			t.Errorf("%d %v", status, answer)
		}
		aborted(rid)
	}
	for body, want := range map[string]int{`{"rid":"nobody's"}`: 200, `{"rid":""}`: 400, `{}`: 400} {
		if status, answer := r.raw(t, "POST", "/abort_request", []byte(body)); status != want {
			t.Errorf("%s: %d %v", body, status, answer)
		}
	}
	if n := r.running(t); n != 3 {
		t.Errorf("%d run, want 3", n)
	}
	if status, answer := r.post(t, "/abort_request", map[string]any{"abort_all": true}); status != 200 {
		t.Errorf("%d %v", status, answer)
	}
	for _, rid := range []string{"rid-0", "rid-2", "rid-4"} {
		aborted(rid)
	}
	r.waitFor("the server to be idle", func() bool { return r.running(t) == 0 })
	r.waitFor("the detokenizers to have no state", func() bool { return r.metric(t, "fanoutbench:states") == 0 })
	cached := func() int {
		return r.answers(t, map[string]any{"text": "a prompt that is kept", "sampling_params": map[string]any{"max_new_tokens": 1}})[0].Meta.Cached
	}
	if first, second := cached(), cached(); first != 0 || second == 0 {
		t.Errorf("%d and %d tokens were in the cache", first, second)
	}
	r.waitFor("the flush", func() bool { status, _ := r.raw(t, "POST", "/flush_cache?timeout_s=30", nil); return status == 200 })
	if n := cached(); n != 0 {
		t.Errorf("%d tokens were in a cache that was flushed", n)
	}
	r.term()
}

// Aborts leave no state behind in the detokenizers (mini-sglang's decode_map), and a
// client that leaves while its prompt is computed in chunks frees its slot at once:
// the rest of the prompt is not computed (ik_llama.cpp#1020).
func TestLeavingDuringPrefill(t *testing.T) {
	const chunks = 300
	r := launch(t, "--device", "sim", "--sim-step-base", "0.02", "--chunked-prefill-size", "100", "--detokenizer-worker-num", "2", "--tokenizer-worker-num", "2")
	for _, stream := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		before := r.metric(t, "fanoutbench:prefill_batches_total")
		go func() {
			defer close(gone)
			body := prompt(1, 10)
			body["text"] = fmt.Sprint(stream) + strings.Repeat("x", 100*chunks)
			if response, err := r.ask(ctx, body, stream); err == nil {
				t.Error("an answer, though the client had left")
				_ = response.Body.Close() // of no use
			}
		}()
		r.waitFor("some chunks", func() bool {
			return r.metric(t, "fanoutbench:prefill_batches_total") > before+3 && r.metric(t, "sglang:num_used_tokens") > 0
		})
		cancel()
		<-gone
		r.waitFor("its slots to be free", func() bool { return r.metric(t, "sglang:num_used_tokens") == 0 })
		if n := r.metric(t, "fanoutbench:prefill_batches_total") - before; n >= chunks {
			t.Errorf("stream %t: %v chunks were computed, all of them", stream, n)
		}
	}
	if s, err := r.unary(t.Context(), prompt(2, 5)); err != nil || len(s.IDs) != 5 {
		t.Errorf("the next request: %+v, %v", s, err)
	}
	r.waitFor("the detokenizers to have no state", func() bool { return r.metric(t, "fanoutbench:states") == 0 })
	r.term()
}

// Probes by the hundred, also those whose clients leave, harm nobody (sglang#3695),
// and probes of different workers are not mistaken for one another (sglang PR 28143).
func TestProbeSoak(t *testing.T) {
	t.Parallel()
	r := launch(t, "--device", "sim", "--sim-step-base", "0.002", "--tokenizer-worker-num", "4", "--detokenizer-worker-num", "2", "--incremental-streaming-output")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for k := range 40 {
				ctx, cancel := context.WithCancel(t.Context())
				request, err := http.NewRequestWithContext(ctx, "GET", r.url+"/health_generate", nil)
				if err != nil {
					t.Error(err)
				}
				request.Close = true
				if leaves := k%4 == 3; leaves {
					go cancel()
				}
				response, err := http.DefaultClient.Do(request)
				if err == nil {
					if response.StatusCode != http.StatusOK {
						t.Errorf("probe %d of %d: %s", k, i, response.Status)
					}
					err = response.Body.Close()
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	for _, s := range r.all(t, 6, 200) {
		if !s.Done || s.Finish != "length" || len(s.IDs) != 200 {
			t.Errorf("beside the probes: %d ids, done %t, %q %s", len(s.IDs), s.Done, s.Finish, s.Err)
		}
	}
	group.Wait()
	r.waitFor("the server to be idle", func() bool { return r.running(t) == 0 && r.metric(t, "sglang:num_queue_reqs") == 0 })
	r.term()
}

// The workers share one port, each with requests of its own, and rows go to them from
// the detokenizers, past the router. What a body is said to be does not matter.
func TestWorkersShareThePort(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0", "--tokenizer-worker-num", "3", "--detokenizer-worker-num", "2")
	types := []string{"", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8"}
	delivered := func(worker int) bool {
		_, page := r.raw(t, "GET", "/metrics", nil)
		text, line := page["raw"].(string), fmt.Sprintf(`fanoutbench:rows_delivered_total{part="worker-%d"} `, worker)
		return strings.Contains(text, line) && !strings.Contains(text, line+"0\n")
	}
	requests := 0
	r.waitFor("all workers to deliver rows", func() bool {
		body := `{"text":"x","sampling_params":{"max_new_tokens":40,"ignore_eos":true},"stream":true}`
		request, err := http.NewRequestWithContext(t.Context(), "POST", r.url+"/generate", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true // the next is another connection
		request.Header.Set("Content-Type", types[requests%len(types)])
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%q: %s, %v: %s", types[requests%len(types)], response.Status, err, text)
		}
		requests++
		return requests >= len(types) && delivered(0) && delivered(1) && delivered(2)
	})
	if rows, answers := r.metric(t, "fanoutbench:rows_delivered_total"), r.metric(t, "fanoutbench:answers_forwarded_total"); rows < float64(30*requests) || answers > float64(requests) {
		t.Errorf("%d requests: %v rows, %v messages through the router", requests, rows, answers)
	}
	r.term()
}

// Bodies as published load generators send them, whose fields nobody may have read
// here, are answered, streamed.
func TestBodiesOfLoadGenerators(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0", "--served-model-name", "m")
	for name, c := range map[string]struct{ path, body, want string }{
		"sglang bench_serving": {"/generate", `{"text":"p","sampling_params":{"temperature":0.0,"max_new_tokens":5,"ignore_eos":true},"stream":true,"lora_path":null,
			"return_logprob":false,"return_routed_experts":false,"logprob_start_len":-1,"image_data":null,"video_data":null}`, `"completion_tokens":5,`},
		"sglang bench_serving, ids": {"/generate", `{"input_ids":[1,2,3],"sampling_params":{"temperature":0.0,"max_new_tokens":5,"ignore_eos":true},"stream":true,"lora_path":"",
			"return_logprob":true,"logprob_start_len":-1}`, `"completion_tokens":5,`},
		"sglang bench_serving, OpenAI": {"/v1/completions", `{"model":"m","prompt":"p","temperature":0.0,"best_of":1,"max_tokens":5,"stream":true,"ignore_eos":true}`, `"finish_reason":"length"`},
		"sglang bench_serving, chat": {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"p"}],"temperature":0.0,"max_completion_tokens":5,"stream":true,
			"stream_options":{"include_usage":true},"ignore_eos":true,"n":1}`, `"completion_tokens":5`},
		"vllm bench serve": {"/v1/completions", `{"model":"m","prompt":"p","repetition_penalty":1.0,"max_tokens":5,"logprobs":null,"stream":true,
			"stream_options":{"include_usage":true},"ignore_eos":true,"temperature":0.0,"top_p":1.0}`, `"completion_tokens":5`},
		"guidellm": {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"p"}]}],"max_tokens":5,"max_completion_tokens":5,"stop":null,
			"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}}`, `"completion_tokens":5`},
	} {
		response, err := http.Post(r.url+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), c.want) || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
			t.Errorf("%s: %s, %v, want %s: %s", name, response.Status, err, c.want, text)
		}
	}
	r.term()
}

// Commands as SGLang's pages have them, less the model's files, start a server, which
// says of each flag that it ignores.
func TestPublishedCommandsStart(t *testing.T) {
	for command, ignored := range map[string][]string{
		"--host 0.0.0.0 --mem-fraction-static 0.3 --log-level info":                                                                              nil,
		"--tp 8 --trust-remote-code --attention-backend flashinfer --cuda-graph-max-bs 160 --cuda-graph-bs 1 2 4":                                {"--tp-size 8", "--trust-remote-code", "--attention-backend flashinfer", "--cuda-graph-max-bs 160", "--cuda-graph-bs 1 2 4"},
		"--tokenizer-worker-num 4 --detokenizer-worker-num 2 --disable-radix-cache --enable-tokenizer-batch-encode --disable-cuda-graph":         {"--disable-cuda-graph"},
		"--dp-size 2 --enable-dp-attention --chunked-prefill-size -1 --max-prefill-tokens 30000 --schedule-policy lpm --random-seed 7":           {"--dp-size 2", "--enable-dp-attention"},
		"--context-length 8192 --served-model-name m --dtype float32 --max-running-requests 64 --watchdog-timeout 1000000 --log-requests":        {"--watchdog-timeout 1000000", "--log-requests"},
		"--stream-interval 4 --stream-output --reasoning-parser qwen3 --tool-call-parser qwen25 --kv-cache-dtype fp8_e5m2 --page-size 64":        {"--reasoning-parser qwen3", "--tool-call-parser qwen25", "--kv-cache-dtype fp8_e5m2"},
		"--max-queued-requests 100 --max-total-tokens 20000 --skip-server-warmup --decode-log-interval 1 --quantization fp8 --load-format dummy": {"--quantization fp8", "--load-format dummy"},
	} {
		t.Run(command, func(t *testing.T) {
			r := launch(t, strings.Fields(command)...)
			for _, flag := range ignored {
				if line := "fanoutserve: warning: " + flag + " has no meaning here and is ignored\n"; !strings.Contains(r.log.String(), line) {
					t.Errorf("no line %q in\n%s", line, r.log)
				}
			}
			if n := strings.Count(r.log.String(), "fanoutserve: warning: "); n != len(ignored) {
				t.Errorf("%d warnings, want %d", n, len(ignored))
			}
			if s, err := r.unary(t.Context(), prompt(1, 3)); err != nil || len(s.IDs) != 3 {
				t.Errorf("%+v, %v", s, err)
			}
			r.term()
		})
	}
}

// A server whose first process is killed is gone, and the next has its port
// (sglang#15165).
func TestRestartOnTheSamePort(t *testing.T) {
	r := launch(t, append([]string{"--tokenizer-worker-num", "3"}, slow...)...)
	l := r.load(3, 1_000_000)
	pids := r.pids()
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range l.n {
		if got := <-l.results; got.whole() || !got.told() {
			t.Errorf("a client was not told: %d events, %v", len(got.events), got.err)
		}
	}
	_ = r.cmd.Wait() // it was killed
	for name, pid := range pids {
		r.waitFor(name+" to be gone", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	next := launch(t, "--device", "sim", "--port", r.url[strings.LastIndex(r.url, ":")+1:])
	if next.url != r.url {
		t.Errorf("the next server is at %s, want %s", next.url, r.url)
	}
	if s, err := next.unary(t.Context(), prompt(1, 3)); err != nil || len(s.IDs) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	next.term()
}

package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// info is the answer of /server_info, decoded.
func (s *server) info(t *testing.T) map[string]any {
	t.Helper()
	status, info := s.raw(t, "GET", "/server_info", nil)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, info)
	}
	return info
}

// /server_info has every setting that the command line has, by its name, with its
// value; the state of the scheduler; and nothing that is secret.
func TestServerInfoHasEverySetting(t *testing.T) {
	r := launch(t, "--device", "sim", "--page-size", "4", "--schedule-policy", "lpm", "--fanout-strategy", "reuse", "--served-model-name", "named", "--max-total-tokens", "5000")
	info := r.info(t)
	want := map[string]any{
		"device": "sim", "page_size": 4.0, "schedule_policy": "lpm", "fanout_strategy": "reuse", "served_model_name": "named", "max_total_tokens": 5000.0,
		"context_length": 32768.0, "enable_metrics": true,
	}
	var defaults map[string]any
	if data, err := json.Marshal(args.Default()); err != nil {
		t.Fatal(err)
	} else if err := json.Unmarshal(data, &defaults); err != nil {
		t.Fatal(err)
	}
	a := args.Default()
	for _, g := range groups(&a) {
		g.VisitAll(func(f *pflag.Flag) {
			name := strings.ReplaceAll(f.Name, "-", "_")
			if name == "api_key" {
				return
			}
			value, ok := want[name]
			if !ok {
				value = defaults[name]
			}
			if got, has := info[name]; !has || name != "port" && !reflect.DeepEqual(got, value) {
				t.Errorf("%s is %v (%t), want %v", name, got, has, value)
			}
		})
	}
	if info["version"] == "" {
		t.Error("no version")
	}
	state := info["internal_states"].([]any)[0].(map[string]any)
	for _, name := range []string{"num_running_reqs", "num_queue_reqs", "token_usage", "max_total_num_tokens", "last_gen_throughput", "limits", "last_prefill_batches", "sim"} {
		if _, ok := state[name]; !ok {
			t.Errorf("the scheduler's state has no %s: %v", name, state)
		}
	}
	r.term()
}

// The simulated device says how late its steps were, on /server_info and /metrics.
func TestLatenessIsVisible(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0.002")
	if _, err := r.unary(t.Context(), prompt(1, 30)); err != nil {
		t.Fatal(err)
	}
	sim := r.info(t)["internal_states"].([]any)[0].(map[string]any)["sim"].(map[string]any)
	for _, name := range []string{"steps", "seconds", "late_seconds", "worst_late_seconds", "missed"} {
		if _, ok := sim[name]; !ok {
			t.Errorf("no %s in %v", name, sim)
		}
	}
	if steps := sim["steps"].(float64); steps < 30 || sim["seconds"].(float64) < 0.002*30 || sim["worst_late_seconds"].(float64) > sim["late_seconds"].(float64) {
		t.Errorf("of 30 tokens: %v", sim)
	}
	if sim["late_seconds"].(float64) <= 0 {
		t.Error("no step was late at all, which no clock gives")
	}
	for metric, name := range map[string]string{"sim_steps_total": "steps", "sim_late_seconds": "late_seconds", "sim_missed_total": "missed"} {
		r.waitFor(metric, func() bool { return r.metric(t, "fanoutbench:"+metric) == sim[name] })
	}
	r.term()
}

// /metrics has SGLang's names, and ours for queues, rows, drops and decodes; they
// say what happened.
func TestMetricsSayWhatHappened(t *testing.T) {
	r := launch(t, "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2", "--fanout-strategy", "per-row", "--incremental-streaming-output", "--skip-server-warmup")
	for range 3 {
		s, err := r.generate(t.Context(), map[string]any{"text": "hello", "sampling_params": map[string]any{"max_new_tokens": 10, "ignore_eos": true, "temperature": 0}})
		if err != nil || len(s.IDs) != 10 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	for name, want := range map[string]float64{
		"sglang:num_requests_total": 3, "sglang:prompt_tokens_total": 15, "sglang:generation_tokens_total": 30, "sglang:cached_tokens_total": 8,
		"sglang:num_running_reqs": 0, "sglang:num_queue_reqs": 0, "sglang:num_used_tokens": 0, "sglang:num_aborted_requests_total": 0, "sglang:num_retracted_requests_total": 0,
		"sglang:time_to_first_token_seconds_count": 3, "sglang:inter_token_latency_seconds_count": 27, "sglang:e2e_request_latency_seconds_count": 3, "sglang:queue_time_seconds_count": 3,
		"fanoutbench:rows_built_total": 30, "fanoutbench:rows_delivered_total": 30, "fanoutbench:rows_dropped_total": 0, "fanoutbench:rows_in_flight": 0,
		"fanoutbench:rows_missing_total": 0, "fanoutbench:rows_doubled_total": 0, "fanoutbench:prefill_batches_total": 3, "fanoutbench:decode_batches_total": 27,
		"fanoutbench:opaque_decodes_total": 2 * 30, // per-row: each row opens both columns
	} {
		r.waitFor(name, func() bool { return r.metric(t, name) == want })
	}
	for _, name := range []string{"sglang:token_usage", "sglang:gen_throughput", "sglang:cache_hit_rate", "sglang:max_total_num_tokens", "sglang:utilization", "fanoutbench:heartbeat_age_seconds"} {
		r.metric(t, name) // is there
	}
	_, page := r.raw(t, "GET", "/metrics", nil)
	if text := page["raw"].(string); !strings.Contains(text, `sglang:num_requests_total{model_name="qwen3-small"} 3`) {
		t.Errorf("no label model_name:\n%s", text)
	}
	r.term()
}

// Lines of SGLang's form, which its users' scripts read.
var (
	prefillLine = regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d scheduler\] Prefill batch[.,] #new-seq: (\d+), #new-token: (\d+), #cached-token: (\d+), token usage: (\d\.\d\d), #running-req: (\d+), #queue-req: (\d+), $`)
	decodeLine  = regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d scheduler\] Decode batch[.,] #running-req: (\d+), #token: (\d+), token usage: (\d\.\d\d), cuda graph: False, gen throughput \(token/s\): (\d+\.\d\d), #queue-req: (\d+)$`)
	closedLine  = regexp.MustCompile(`Prefill batch (\d+) closed: ([a-z-]+), policy: (fcfs|lpm)`)
)

// A batch sent as one message is one prefill batch, where the budget has room, and
// otherwise as many as the budget makes (sglang seed 001). The log and the admission
// records, asked for by rid, say the same.
func TestBatchesInLogAndRecords(t *testing.T) {
	t.Parallel()
	for way, want := range map[string][]int{
		"":                           {100},
		"--schedule-policy lpm":      {100},   // in-batch prefixes are an order, as in SGLang, and no barrier
		"--max-prefill-tokens 30000": {99, 1}, // which exactly fit: an item that fills the budget is refused
		"--schedule-policy lpm --max-prefill-tokens 30000": {99, 1},
	} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, append([]string{"--device", "sim", "--max-prefill-tokens", "60000", "--chunked-prefill-size", "-1", "--max-total-tokens", "100000", "--sim-step-base", "0"}, strings.Fields(way)...)...)
			before := len(prefillLine.FindAllString(r.log.String(), -1))
			prompt := slices.Repeat([]int{7}, 300)
			var rids []string
			for i := range 100 {
				rids = append(rids, fmt.Sprint("item-", i))
			}
			r.answers(t, map[string]any{"input_ids": slices.Repeat([][]int{prompt}, 100), "rid": rids, "sampling_params": map[string]any{"max_new_tokens": 1}})
			var sizes []int
			var lines [][]string
			r.waitFor("the log", func() bool {
				lines = prefillLine.FindAllStringSubmatch(r.log.String(), -1)[before:]
				return len(lines) >= len(want)
			})
			for _, m := range lines {
				sizes = append(sizes, number(t, m[1]))
			}
			if !slices.Equal(sizes, want) {
				t.Errorf("prefill batches of %v, want %v", sizes, want)
			}
			if len(want) > 1 && (lines[1][2] != "1" || lines[1][3] != "299") {
				t.Errorf("the second batch had %s new and %s cached tokens, want 1 and 299", lines[1][2], lines[1][3])
			}
			r.checkRecords(t, rids, want)
			r.term()
		})
	}
}

func number(t *testing.T, s string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(s, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// checkRecords holds the records of the rids to the sizes of their batches.
func (s *server) checkRecords(t *testing.T, rids []string, sizes []int) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"rids": append(rids, "nobody's")})
	if err != nil {
		t.Fatal(err)
	}
	status, got := s.raw(t, "POST", "/admissions", data)
	records, _ := got["records"].([]any)
	batches, _ := got["prefill_batches"].([]any)
	if status != http.StatusOK || len(records) != len(rids) || len(batches) != len(sizes) {
		t.Fatalf("%d: %d records, %d batches, want %d, %d", status, len(records), len(batches), len(rids), len(sizes))
	}
	of := map[float64]int{}
	for i, r := range records {
		record := r.(map[string]any)
		admissions := record["admissions"].([]any)
		if record["rid"] != rids[i] || len(admissions) != 1 || record["prompt_tokens"] != 300.0 {
			t.Fatalf("record %d is %v", i, record)
		}
		of[admissions[0].(map[string]any)["batch"].(float64)]++
	}
	for i, b := range batches {
		batch := b.(map[string]any)
		if n := of[batch["number"].(float64)]; n != sizes[i] || len(batch["rids"].([]any)) != n {
			t.Errorf("batch %d has %d of the records, %d rids, want %d", i, n, len(batch["rids"].([]any)), sizes[i])
		}
		close := "queue-empty"
		if i < len(batches)-1 {
			close = "max-prefill-tokens"
		}
		if batch["close"] != close || !strings.Contains(s.log.String(), fmt.Sprintf("Prefill batch %v closed: %s, policy: %v", batch["number"], close, batch["policy"])) {
			t.Errorf("batch %d closed for %v, want %s, and in the log", i, batch["close"], close)
		}
	}
}

// Every decode_log_interval decodes there is a line.
func TestDecodeLines(t *testing.T) {
	r := launch(t, "--device", "sim", "--sim-step-base", "0.001", "--decode-log-interval", "10")
	if _, err := r.unary(t.Context(), prompt(1, 51)); err != nil {
		t.Fatal(err)
	}
	r.term()
	lines := decodeLine.FindAllStringSubmatch(r.log.String(), -1)
	if len(lines) != 5 {
		t.Fatalf("%d lines about 50 decodes, want 5; the log:\n%s", len(lines), r.log)
	}
	for _, m := range lines {
		if m[1] != "1" || m[5] != "0" || m[4] == "0.00" {
			t.Errorf("a line %q", m[0])
		}
	}
	if closedLine.FindString(r.log.String()) == "" {
		t.Error("no line says why a batch closed")
	}
}

// lpm takes the longest prefix first: of two that wait behind a third, the later one
// whose prompt is in the cache. fcfs does not.
func TestPolicies(t *testing.T) {
	for policy, want := range map[string]string{"fcfs": "new", "lpm": "known"} {
		t.Run(policy, func(t *testing.T) {
			r := launch(t, "--device", "sim", "--sim-step-base", "0.002", "--schedule-policy", policy, "--max-running-requests", "1")
			known := strings.Repeat("known ", 20)
			ask := func(rid, text string, n int) func() {
				done := make(chan error, 1)
				go func() {
					body := prompt(1, n)
					body["text"], body["rid"] = text, rid
					_, err := r.unary(t.Context(), body)
					done <- err
				}()
				return func() {
					t.Helper()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
			}
			ask("warm", known, 1)()
			wait := []func(){ask("runs", "runs", 400)}
			r.waitFor("it to run", func() bool { return r.running(t) == 1 })
			for i, rid := range []string{"new", "known"} {
				text := map[string]string{"new": strings.Repeat("never seen ", 10), "known": known}[rid]
				wait = append(wait, ask(rid, text, 1))
				r.waitFor("one more to wait", func() bool { return r.metric(t, "sglang:num_queue_reqs") == float64(i+1) })
			}
			for _, w := range wait {
				w()
			}
			_, got := r.post(t, "/admissions", map[string]any{"rids": []string{"new", "known"}})
			at := map[string]float64{}
			for _, one := range got["records"].([]any) {
				record := one.(map[string]any)
				at[record["rid"].(string)] = record["admissions"].([]any)[0].(map[string]any)["batch"].(float64)
			}
			if first := map[bool]string{true: "new", false: "known"}[at["new"] < at["known"]]; first != want {
				t.Errorf("%s ran first, want %s", first, want)
			}
			r.term()
		})
	}
}

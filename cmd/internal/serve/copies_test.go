package serve

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/scheduler"
)

// records asks for the scheduler's records of the rids.
func (s *server) records(t *testing.T, rids []string) (records []scheduler.Record, batches []scheduler.PrefillBatch) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"rids": rids})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Records []scheduler.Record       `json:"records"`
		Batches []scheduler.PrefillBatch `json:"prefill_batches"`
	}
	if text := s.body("/admissions", string(body)); json.Unmarshal([]byte(text), &got) != nil || len(got.Records) != len(rids) {
		t.Fatalf("admissions of %q: %s", rids, text)
	}
	return got.Records, got.Batches
}

// n copies of a prompt are sent as SGLang sends them: each prompt first runs alone, for
// no token, and its copies then find all of it but its last token in the cache, or what
// is before logprob_start_len. The copies have rids of their own, and follow one another
// prompt by prompt.
func TestCopiesFindTheirPrompt(t *testing.T) {
	const n, maxTokens = 4, 3
	prompts := []string{strings.Repeat("a prompt ", 9), strings.Repeat("some other ", 7)}
	for name, c := range map[string]struct {
		argv  []string
		more  map[string]any
		found func(prompt int) int // of a copy's prompt in the cache
	}{
		"all but the last": {nil, nil, func(prompt int) int { return prompt - 1 }},
		"with logprobs":    {nil, map[string]any{"return_logprob": true, "logprob_start_len": 5}, func(int) int { return 5 }},
		"without a cache":  {[]string{"--disable-radix-cache"}, nil, func(int) int { return 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			s := launch(t, c.argv...)
			body := map[string]any{"text": prompts, "sampling_params": map[string]any{"n": n, "max_new_tokens": maxTokens, "temperature": 1, "ignore_eos": true}}
			maps.Copy(body, c.more)
			requests, lines := s.metric(t, "sglang:num_requests_total"), len(prefillLine.FindAllString(s.log.String(), -1))
			answers := s.answers(t, body)
			if len(answers) != n*len(prompts) {
				t.Fatalf("%d answers, want %d of each prompt", len(answers), n)
			}
			var rids []string
			for i, a := range answers {
				prompt := len(prompts[i/n])
				if a.Meta.Prompt != prompt || a.Meta.Completion != maxTokens || a.Meta.Cached != c.found(prompt) || slices.Contains(rids, a.Meta.ID) {
					t.Errorf("copy %d: rid %q, %d prompt and %d cached tokens, want %d and %d", i, a.Meta.ID, a.Meta.Prompt, a.Meta.Cached, prompt, c.found(prompt))
				}
				rids = append(rids, a.Meta.ID)
			}
			if more := s.metric(t, "sglang:num_requests_total") - requests; more != float64((n+1)*len(prompts)) {
				t.Errorf("%g requests ran, want each prompt and its %d copies", more, n)
			}
			s.checkFirstRuns(t, lines, rids, prompts, c.found)
			s.term()
		})
	}
}

// checkFirstRuns holds the scheduler's account to what the copies' prompts need: before
// the first batch with a copy in it, each prompt was computed once.
func (s *server) checkFirstRuns(t *testing.T, before int, rids, prompts []string, found func(int) int) {
	t.Helper()
	records, batches := s.records(t, rids)
	first := batches[0].Number
	for i, r := range records {
		prompt := len(prompts[i*len(prompts)/len(rids)])
		if len(r.Admissions) != 1 || r.Admissions[0].CachedTokens != found(prompt) || r.Admissions[0].Tokens != prompt-found(prompt) || r.PromptTokens != prompt {
			t.Errorf("record %d: %+v, want one batch with %d of %d tokens found", i, r, found(prompt), prompt)
		}
		first = min(first, r.Admissions[0].Batch)
	}
	runs, tokens, all := 0, 0, 0
	for i, m := range prefillLine.FindAllStringSubmatch(s.log.String(), -1) {
		if i >= before && i+1 < first { // batches are numbered from 1
			runs, tokens = runs+number(t, m[1]), tokens+number(t, m[2])
		}
	}
	for _, p := range prompts {
		all += len(p)
	}
	if runs != len(prompts) || tokens != all {
		t.Errorf("before the copies %d requests of %d new tokens ran, want %d prompts of %d", runs, tokens, len(prompts), all)
	}
}

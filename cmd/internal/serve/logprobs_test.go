package serve

import (
	"fmt"
	"slices"
	"testing"
)

// wish is what a request asks of log-probabilities, and what of them is known before.
type wish struct {
	prompt      string
	start, top  int
	ids         []int64 // nil: none
	maxNew      int
	temperature float32 // 0: greedy
}

func (w wish) params(seed int) map[string]any {
	return map[string]any{"max_new_tokens": w.maxNew, "temperature": w.temperature, "ignore_eos": true, "sampling_seed": seed}
}

func (w wish) body() map[string]any {
	return map[string]any{
		"text": w.prompt, "return_logprob": true, "logprob_start_len": w.start, "top_logprobs_num": w.top, "token_ids_logprob": w.ids,
		"return_text_in_logprobs": true, "sampling_params": w.params(5),
	}
}

// wishes are what the tests ask, one by one and together.
var wishes = []wish{
	{"Hello, world", 0, 3, []int64{65, 258, 0}, 4, 0},
	{"Hello, world", 5, 0, nil, 3, 1},
	{"some other words", -1, 2, nil, 5, 0.5},
	{"some other words", 15, 0, []int64{1}, 2, 1.5},
	{"some other words", 16, 1, []int64{7, 7}, 1, 0},
	{"é", 0, smallVocab, []int64{}, 3, 0},
	{"nothing new", -1, 2, []int64{66}, 0, 0},
	{"nothing new", 0, 0, nil, 0, 0},
	{"x", 0, 1, nil, 2, 0},
}

// first is the first prompt position whose token is told of.
func (w wish) first() int {
	n := len(w.prompt)
	switch {
	case w.start >= 0:
		return w.start
	case w.maxNew == 0:
		return n
	}
	return n - 1
}

// check holds an answer to the logits.
func (r *reference) check(t *testing.T, name string, w wish, a answer) {
	t.Helper()
	prompt := smallIDs(w.prompt)
	rows := r.logits(append(slices.Clone(prompt), a.IDs...))
	if len(a.IDs) != w.maxNew {
		t.Fatalf("%s: %d ids, want %d", name, len(a.IDs), w.maxNew)
	}
	m, first := a.Meta.columns, w.first()
	input := len(prompt) - first
	output := max(1, w.maxNew) // with max_new_tokens 0 the token that is not sent has its own
	for what, n := range map[string][2]int{
		"input_token_logprobs": {len(m.Input), input}, "output_token_logprobs": {len(m.Output), output},
		"input_top_logprobs": {len(m.InputTop), positive(w.top > 0, input)}, "output_top_logprobs": {len(m.OutputTop), positive(w.top > 0, output)},
		"input_token_ids_logprobs": {len(m.InputIDs), positive(w.ids != nil, input)}, "output_token_ids_logprobs": {len(m.OutputIDs), positive(w.ids != nil, output)},
	} {
		if n[0] != n[1] {
			t.Fatalf("%s: %s has %d positions, want %d", name, what, n[0], n[1])
		}
	}
	for k := range input {
		at := fmt.Sprintf("%s: input %d", name, k)
		if k == 0 {
			if m.Input[0].Value != nil || m.Input[0].ID != prompt[first] || w.top > 0 && m.InputTop[0] != nil || w.ids != nil && m.InputIDs[0] != nil {
				t.Errorf("%s has %+v, want null for it and what is beside it", at, m.Input[0])
			}
			continue
		}
		r.position(t, at, w, rows[first+k-1], 1, m.Input[k], prompt[first+k], pick(m.InputTop, k), pick(m.InputIDs, k))
	}
	temperature := w.temperature
	if temperature == 0 {
		temperature = 1
	}
	for k := range output {
		id := m.Output[k].ID
		if w.maxNew > 0 {
			id = a.IDs[k]
		}
		row := rows[len(prompt)-1+k]
		if greedy := ranked(row)[0]; w.temperature == 0 && id != greedy {
			t.Errorf("%s: output %d is %d, the most likely token %d", name, k, id, greedy)
		}
		r.position(t, fmt.Sprintf("%s: output %d", name, k), w, row, temperature, m.Output[k], id, pick(m.OutputTop, k), pick(m.OutputIDs, k))
	}
}

func positive(is bool, n int) int {
	if is {
		return n
	}
	return 0
}

func pick(lists [][]entry, k int) []entry {
	if k < len(lists) {
		return lists[k]
	}
	return nil
}

// position holds one position to one row of logits.
func (r *reference) position(t *testing.T, at string, w wish, row []float32, temperature float32, own entry, id int64, top, named []entry) {
	t.Helper()
	want := logSoftmax(row, temperature)
	one := func(what string, e entry, id int64) {
		t.Helper()
		if e.ID != id || e.Value == nil || !near(*e.Value, want[id]) || e.Text == nil || *e.Text != tokenText(id) {
			t.Errorf("%s: %s is %s, want %v of %d, %q", at, what, shown(e), want[id], id, tokenText(id))
		}
	}
	one("the token", own, id)
	if len(top) != w.top || len(named) != len(w.ids) {
		t.Errorf("%s: %d top and %d named, want %d and %d", at, len(top), len(named), w.top, len(w.ids))
		return
	}
	order := ranked(row)
	for i, e := range top {
		one(fmt.Sprintf("top %d", i), e, order[i])
	}
	for i, e := range named {
		one(fmt.Sprintf("named %d", i), e, w.ids[i])
	}
}

func shown(e entry) string {
	value, text := "null", "null"
	if e.Value != nil {
		value = fmt.Sprint(*e.Value)
	}
	if e.Text != nil {
		text = fmt.Sprintf("%q", *e.Text)
	}
	return fmt.Sprintf("[%s, %d, %s]", value, e.ID, text)
}

// Every kind of log-probability is log softmax of the model's logits over the whole
// vocabulary, at its position: alone, in a batch where each item asks for its own,
// of n copies, and streamed, with all so far in each event or what is new.
func TestLogprobsAreTheModels(t *testing.T) {
	t.Parallel()
	ref := newReference(t)
	for _, incremental := range []bool{false, true} {
		t.Run(fmt.Sprintf("incremental %t", incremental), func(t *testing.T) {
			s := launch(t, fmt.Sprintf("--incremental-streaming-output=%t", incremental), "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2")
			whole := func(events []answer, n int) []answer {
				if incremental {
					return joined(events, n)
				}
				last := make([]answer, n)
				for _, e := range events {
					last[e.Index] = e
				}
				return last
			}
			var batch = map[string]any{"return_text_in_logprobs": true}
			for i, w := range wishes {
				name := fmt.Sprintf("wish %d", i)
				ref.check(t, name, w, s.answers(t, w.body())[0])
				ref.check(t, name+" streamed", w, whole(s.events(t, w.body()), 1)[0])
				for key, value := range w.body() {
					list, _ := batch[key].([]any)
					if key != "return_text_in_logprobs" {
						batch[key] = append(list, value)
					}
				}
			}
			for i, a := range s.answers(t, batch) {
				ref.check(t, fmt.Sprintf("batch %d", i), wishes[i], a)
			}
			for i, a := range whole(s.events(t, batch), len(wishes)) {
				ref.check(t, fmt.Sprintf("streamed batch %d", i), wishes[i], a)
			}
			w := wish{"many of them", 3, 2, []int64{9}, 6, 1}
			copies := w.body()
			copies["sampling_params"].(map[string]any)["n"] = 3
			for i, a := range s.answers(t, copies) {
				ref.check(t, fmt.Sprintf("copy %d", i), w, a)
			}
			for i, a := range whole(s.events(t, copies), 3) {
				ref.check(t, fmt.Sprintf("streamed copy %d", i), w, a)
			}
			s.term()
		})
	}
}

// So they are where a prompt is computed in chunks, and where a request was put back
// and computed again: none is missing at a seam, none comes twice.
func TestLogprobsAcrossChunksAndRetractions(t *testing.T) {
	const requests, tokens = 5, 100
	ref := newReference(t)
	// A prefill batch has a part of one prompt, so each request is admitted with a share
	// of the others' tokens to come set aside: more than there is room for.
	s := launch(t, "--chunked-prefill-size", "5", "--max-prefill-tokens", "6", "--max-total-tokens", "480", "--incremental-streaming-output")
	var ids [][]int64
	for i := range requests {
		ids = append(ids, smallIDs(fmt.Sprintf("%d. prompt", i)))
	}
	for _, stream := range []bool{false, true} {
		retracted := 0
		w := wish{"", 0, 2, []int64{66}, tokens, 0}
		body := w.body()
		delete(body, "text")
		body["input_ids"] = ids
		all := s.must(t, body, stream)
		if stream {
			all = joined(all, requests)
		}
		for i, a := range all {
			w.prompt = fmt.Sprintf("%d. prompt", i)
			ref.check(t, fmt.Sprintf("stream %t, request %d", stream, i), w, a)
			retracted += a.Meta.Retractions
		}
		if retracted == 0 {
			t.Error("no request was put back: too few to say anything")
		}
		if status, answer := s.post(t, "/flush_cache", nil); status != 200 {
			t.Errorf("flush_cache: %d %v", status, answer)
		}
	}
	s.term()
}

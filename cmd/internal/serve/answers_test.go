package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
)

// answer is what /generate says of one request, or one event of it.
type answer struct {
	Text  string
	IDs   []int64 `json:"output_ids"`
	Index int
	Meta  struct {
		ID     string
		Finish *struct {
			Type    string
			Matched any
		} `json:"finish_reason"`
		Prompt      int `json:"prompt_tokens"`
		Completion  int `json:"completion_tokens"`
		Cached      int `json:"cached_tokens"`
		Retractions int `json:"num_retractions"`
		columns
	} `json:"meta_info"`
}

// columns are log-probabilities as they are: [value, id, text], null where a
// position has none.
type columns struct {
	Input     []entry   `json:"input_token_logprobs"`
	Output    []entry   `json:"output_token_logprobs"`
	InputTop  [][]entry `json:"input_top_logprobs"`
	OutputTop [][]entry `json:"output_top_logprobs"`
	InputIDs  [][]entry `json:"input_token_ids_logprobs"`
	OutputIDs [][]entry `json:"output_token_ids_logprobs"`
}

type entry struct {
	Value *float64
	ID    int64
	Text  *string
}

func (e *entry) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&e.Value, &e.ID, &e.Text})
}

// fetch asks /generate for everything at once, one answer or a list of them, or for
// a stream, which must be whole.
func (s *server) fetch(ctx context.Context, body map[string]any, stream bool) (all []answer, err error) {
	body = maps.Clone(body) // ask writes into it
	response, err := s.ask(ctx, body, stream)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, err
	}
	if stream {
		return cutEvents(string(data))
	}
	if !bytes.HasPrefix(data, []byte("[")) {
		data = fmt.Appendf(nil, "[%s]", data)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%w: %s", err, data)
	}
	return all, nil
}

func cutEvents(stream string) ([]answer, error) {
	lines := strings.Split(stream, "\n\n")
	if n := len(lines); n < 3 || lines[n-1] != "" || lines[n-2] != "data: [DONE]" {
		return nil, fmt.Errorf("a stream that ends with %q", lines[max(0, n-2):])
	}
	all := make([]answer, len(lines)-2)
	finished := map[int]bool{} // by index: the finish comes once, and last
	for i := range all {
		data, ok := strings.CutPrefix(lines[i], "data: ")
		if err := json.Unmarshal([]byte(data), &all[i]); err != nil || !ok {
			return nil, fmt.Errorf("event %d is %q: %w", i, lines[i], err)
		}
		index := all[i].Index
		if finished[index] {
			return nil, fmt.Errorf("event %d is behind the finish of index %d: %q", i, index, lines[i])
		}
		finished[index] = all[i].Meta.Finish != nil
	}
	for index, done := range finished {
		if !done {
			return nil, fmt.Errorf("index %d has no finish", index)
		}
	}
	return all, nil
}

func (s *server) must(t *testing.T, body map[string]any, stream bool) []answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := s.fetch(ctx, body, stream)
	if err != nil {
		t.Fatalf("%v: %v", body, err)
	}
	return all
}

func (s *server) answers(t *testing.T, body map[string]any) []answer {
	t.Helper()
	return s.must(t, body, false)
}

func (s *server) events(t *testing.T, body map[string]any) []answer {
	t.Helper()
	return s.must(t, body, true)
}

// joined adds up the events of a stream that has what is new in each, by index.
func joined(events []answer, n int) []answer {
	all := make([]answer, n)
	for _, e := range events {
		a := &all[e.Index]
		before, was := *a, a.Meta.columns
		*a = e
		a.Text, a.IDs = before.Text+e.Text, append(before.IDs, e.IDs...)
		a.Meta.Output = append(was.Output, e.Meta.Output...)
		a.Meta.OutputTop = append(was.OutputTop, e.Meta.OutputTop...)
		a.Meta.OutputIDs = append(was.OutputIDs, e.Meta.OutputIDs...)
	}
	return all
}

// smallVocab is the size of the seeded model's vocabulary.
const smallVocab = 259

func scored(prompt any, name string) map[string]any {
	return map[string]any{
		name: prompt, "return_logprob": true, "logprob_start_len": 0, "top_logprobs_num": smallVocab, "token_ids_logprob": []int{258, 0, 65},
		"return_text_in_logprobs": true, "sampling_params": map[string]any{"max_new_tokens": 5, "temperature": 0, "ignore_eos": true},
	}
}

// Log-probabilities over HTTP: of every position all of the vocabulary's, which add
// up to 1; the same ones under each name, streamed, at once, and in a batch.
func TestLogprobsOverHTTP(t *testing.T) {
	for _, way := range []string{"--incremental-streaming-output", "--incremental-streaming-output=false"} {
		t.Run(way, func(t *testing.T) {
			r := launch(t, way, "--tokenizer-worker-num", "2")
			alone := r.answers(t, scored("hello", "text"))[0]
			checkLogprobs(t, alone, []byte("hello"))
			events := r.events(t, scored("hello", "text"))
			streamed := joined(events, 1)[0]
			if way != "--incremental-streaming-output" {
				streamed = events[len(events)-1]
			}
			for i, e := range events { // sglang PR 21583: ids and logprobs alike are new, or alike so far
				if len(e.IDs) != len(e.Meta.Output) || len(e.IDs) != len(e.Meta.OutputTop) || len(e.IDs) != len(e.Meta.OutputIDs) {
					t.Errorf("event %d has %d ids, %d logprobs, %d top", i, len(e.IDs), len(e.Meta.Output), len(e.Meta.OutputTop))
				}
			}
			batch := r.answers(t, scored([]string{"other", "hello", "more of them"}, "text"))
			ids := r.answers(t, scored([][]int{{104, 101, 108, 108, 111}}, "input_ids"))
			for name, got := range map[string]answer{"stream": streamed, "batch": batch[1], "ids": ids[0]} {
				if got.Text != alone.Text || !reflect.DeepEqual(got.Meta.columns, alone.Meta.columns) {
					t.Errorf("%s differs from a request alone", name)
				}
			}
			checkLogprobs(t, batch[2], []byte("more of them"))
			r.term()
		})
	}
}

func checkLogprobs(t *testing.T, a answer, prompt []byte) {
	t.Helper()
	m := a.Meta.columns
	if len(m.Input) != len(prompt) || len(m.InputTop) != len(prompt) || len(m.InputIDs) != len(prompt) || len(m.Output) != 5 || len(m.OutputTop) != 5 || len(m.OutputIDs) != 5 {
		t.Fatalf("%d, %d and %d input positions, %d, %d and %d output positions", len(m.Input), len(m.InputTop), len(m.InputIDs), len(m.Output), len(m.OutputTop), len(m.OutputIDs))
	}
	if first := m.Input[0]; first.Value != nil || first.ID != int64(prompt[0]) || m.InputTop[0] != nil || m.InputIDs[0] != nil {
		t.Errorf("the first token, which nothing is before, has %+v", first)
	}
	for i, b := range prompt[1:] {
		checkPosition(t, m.Input[i+1], m.InputTop[i+1], m.InputIDs[i+1], int64(b))
	}
	for i, id := range a.IDs {
		checkPosition(t, m.Output[i], m.OutputTop[i], m.OutputIDs[i], id)
		if top := m.OutputTop[i][0]; *top.Value != *m.Output[i].Value {
			t.Errorf("a greedy token has %v, the most likely one %v", *m.Output[i].Value, *top.Value)
		}
	}
}

// checkPosition holds the token's own value and those of the named ids to the
// whole distribution.
func checkPosition(t *testing.T, own entry, top, named []entry, id int64) {
	t.Helper()
	sum, of := 0.0, map[int64]float64{}
	for i, e := range top {
		if i > 0 && *e.Value > *top[i-1].Value {
			t.Errorf("entry %d is %v, the one before %v", i, *e.Value, *top[i-1].Value)
		}
		sum += math.Exp(*e.Value)
		of[e.ID] = *e.Value
	}
	if len(of) != smallVocab || math.Abs(sum-1) > 1e-5 {
		t.Errorf("%d ids, whose probabilities add up to %v", len(of), sum)
	}
	if own.ID != id || *own.Value != of[id] || own.Text == nil {
		t.Errorf("token %d has %+v, the distribution %v", id, own, of[id])
	}
	for i, want := range []int64{258, 0, 65} {
		if e := named[i]; e.ID != want || *e.Value != of[want] {
			t.Errorf("the named id %d has %+v, the distribution %v", want, e, of[want])
		}
	}
}

// Scores are probabilities over the whole vocabulary, in the order of the labels.
func TestScoresAddUpToOne(t *testing.T) {
	r := launch(t)
	labels := make([]int, smallVocab)
	for i := range labels {
		labels[i] = (i*5 + 3) % smallVocab // each once
	}
	ask := func(softmax bool, labels ...int) (all [][]float64) {
		status, body := r.post(t, "/v1/score", map[string]any{"query": "q", "items": []string{"a", "b", "", "a"}, "label_token_ids": labels, "apply_softmax": softmax})
		items, _ := body["scores"].([]any)
		if status != 200 || len(items) != 4 {
			t.Fatalf("%d %v", status, body)
		}
		for _, item := range items {
			var scores []float64
			for _, s := range item.([]any) {
				scores = append(scores, s.(float64))
			}
			all = append(all, scores)
		}
		return all
	}
	whole := ask(false, labels...)
	for i, scores := range whole {
		sum := 0.0
		for _, s := range scores {
			sum += s
		}
		if math.Abs(sum-1) > 1e-5 {
			t.Errorf("the scores of item %d add up to %v", i, sum)
		}
	}
	if !reflect.DeepEqual(whole[0], whole[3]) || reflect.DeepEqual(whole[0], whole[1]) {
		t.Error("equal items have unequal scores, or unequal ones equal")
	}
	for i, two := range ask(true, labels[1], labels[0]) {
		if want := whole[i][1] / (whole[i][0] + whole[i][1]); math.Abs(two[0]-want) > 1e-6 || math.Abs(two[0]+two[1]-1) > 1e-9 {
			t.Errorf("item %d: the two labels alone have %v, want %v first", i, two, want)
		}
	}
	r.term()
}

package serve

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/fanout"
)

// device is a simulated one, with characters of several bytes, empty and special
// tokens.
var device = []string{"--device", "sim", "--sim-step-base", "0.001", "--sim-multi-byte", "0.6", "--sim-empty", "0.05", "--sim-special", "0.05", "--incremental-streaming-output"}

func drawn(seed, n int, more map[string]any) map[string]any {
	params := map[string]any{"max_new_tokens": n, "temperature": 1, "ignore_eos": true, "sampling_seed": seed}
	for k, v := range more {
		params[k] = v
	}
	return params
}

// Every form of a /generate request: one and lists, text and ids, with any number
// of workers (sglang#29367), n copies by their index (sglang#2912), rids.
func TestFormsOfGenerate(t *testing.T) {
	t.Parallel()
	r := launch(t, append([]string{"--tokenizer-worker-num", "3", "--detokenizer-worker-num", "2"}, device...)...)
	one := func(seed int) string {
		return r.answers(t, map[string]any{"text": "x", "sampling_params": drawn(seed, 12, nil)})[0].Text
	}
	params := []any{drawn(1, 12, nil), drawn(2, 12, nil), drawn(3, 12, nil)}
	for name, c := range map[string]struct {
		body  map[string]any
		seeds []int // of the texts, by index
		ids   []string
	}{
		"text":              {map[string]any{"text": "x", "sampling_params": params[0], "rid": "t"}, []int{1}, []string{"t"}},
		"ids":               {map[string]any{"input_ids": []int{1, 2}, "sampling_params": params[0]}, []int{1}, nil},
		"texts":             {map[string]any{"text": []string{"x", "y", "z"}, "sampling_params": params, "rid": []string{"a", "b", "c"}}, []int{1, 2, 3}, []string{"a", "b", "c"}},
		"texts, one params": {map[string]any{"text": []string{"x", "y"}, "sampling_params": params[1], "rid": "q"}, []int{2, 2}, []string{"q_0", "q_1"}},
		"lists of ids":      {map[string]any{"input_ids": [][]int{{1}, {2, 3}, {4}}, "sampling_params": params}, []int{1, 2, 3}, nil},
		"a list of one":     {map[string]any{"text": []string{"x"}, "sampling_params": params[2]}, []int{3}, nil},
		"n":                 {map[string]any{"text": "x", "sampling_params": drawn(4, 12, map[string]any{"n": 3})}, []int{4, 5, 6}, nil},
		"n of each":         {map[string]any{"text": []string{"x", "y"}, "sampling_params": drawn(4, 12, map[string]any{"n": 2})}, []int{4, 5, 4, 5}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var want []string
			for _, seed := range c.seeds {
				want = append(want, one(seed))
			}
			unary := r.answers(t, c.body)
			stream := joined(r.events(t, c.body), len(want))
			for way, got := range map[string][]answer{"unary": unary, "stream": stream} {
				var texts, ids []string
				for _, a := range got {
					texts, ids = append(texts, a.Text), append(ids, a.Meta.ID)
					if a.Meta.Finish == nil || a.Meta.Finish.Type != "length" || a.Meta.Completion != 12 || len(a.IDs) != 12 {
						t.Errorf("%s: %+v", way, a)
					}
				}
				if !slices.Equal(texts, want) {
					t.Errorf("%s gave %q, want %q", way, texts, want)
				}
				if c.ids != nil && !slices.Equal(ids, c.ids) {
					t.Errorf("%s has the ids %q, want %q", way, ids, c.ids)
				}
			}
		})
	}
	r.term()
}

// held is how much of the text of bytes goes out while more may come: not the
// beginning of a character, nor what a stop may begin with.
func held(text string, stops []string) string {
	for n := range utf8.UTFMax {
		if n >= len(text) {
			return ""
		}
		if r, size := utf8.DecodeLastRuneInString(text[:len(text)-n]); r != utf8.RuneError || size > 1 {
			text = text[:len(text)-n]
			break
		}
	}
	longest := 0
	for _, stop := range stops {
		for n := range stop {
			if n > longest && strings.HasSuffix(text, stop[:n]) {
				longest = n
			}
		}
	}
	return text[:len(text)-longest]
}

// plain is a device whose tokens all have text, so that the text of ids is plain to see.
var plain = []string{"--device", "sim", "--sim-step-base", "0.0002", "--sim-multi-byte", "0.6", "--sim-empty", "0", "--sim-special", "0", "--incremental-streaming-output"}

// sayings has the text of ids of the plain device, a byte each.
func sayings(ids []int64) string {
	b := make([]byte, len(ids))
	for i, id := range ids {
		b[i] = byte(id)
	}
	return string(b)
}

// Under every strategy and by either method a stream with stops is the text before
// the first of them; nothing of a stop is ever sent, and nothing is held that no
// stop begins with (sglang#11446, vllm#3574, vllm PR 45636).
func TestStopsOverHTTP(t *testing.T) {
	t.Parallel()
	for _, info := range fanout.List() {
		if info.NeedsPrepared {
			continue
		}
		for _, method := range []string{"offset", "bytes"} {
			t.Run(info.Name+" "+method, func(t *testing.T) {
				r := launch(t, append([]string{"--fanout-strategy", info.Name, "--detokenize-method", method, "--tokenizer-worker-num", "2", "--detokenizer-worker-num", "2"}, plain...)...)
				for seed := 1; seed <= 2; seed++ {
					r.checkStops(t, seed)
				}
				r.term()
			})
		}
	}
}

func (s *server) checkStops(t *testing.T, seed int) {
	t.Helper()
	ask := func(more map[string]any) map[string]any {
		return map[string]any{"text": "x", "sampling_params": drawn(seed, 60, more)}
	}
	whole := s.answers(t, ask(nil))[0]
	runes := []rune(strings.TrimRight(whole.Text, "\ufffd"))
	at := func(from, n int) string { return string(runes[from : from+n]) }
	for _, stops := range [][]string{
		{at(5, 1)}, {at(10, 4)}, {at(20, 2), at(12, 5)}, {at(len(runes)-3, 3)},
		{at(6, 3) + "never", at(15, 2) + "\x00", at(18, 4)}, {"never at all"}, {at(3, 2) + "no", "neither"},
	} {
		want, finish := whole.Text, "length"
		first := ""
		for _, stop := range stops {
			if i := strings.Index(whole.Text, stop); i >= 0 && i <= len(want) {
				want, finish, first = whole.Text[:i], "stop", stop
			}
		}
		unary := s.answers(t, ask(map[string]any{"stop": stops}))[0]
		if unary.Text != want || unary.Meta.Finish.Type != finish || finish == "stop" && unary.Meta.Finish.Matched != first {
			t.Errorf("stops %q: got %q, %+v, want %q and %q of %q", stops, unary.Text, unary.Meta.Finish, want, first, whole.Text)
		}
		events := s.events(t, ask(map[string]any{"stop": stops}))
		text, ids := "", []int64(nil)
		for i, e := range events {
			text, ids = text+e.Text, append(ids, e.IDs...)
			if i < len(events)-1 && text != held(sayings(ids), stops) {
				t.Errorf("stops %q: %q after the ids of %q, want %q", stops, text, sayings(ids), held(sayings(ids), stops))
			}
		}
		if last := events[len(events)-1]; text != want || !reflect.DeepEqual(last.Meta.Finish, unary.Meta.Finish) {
			t.Errorf("stops %q: the stream gave %q, %+v, want %q, %+v", stops, text, last.Meta.Finish, want, unary.Meta.Finish)
		}
	}
}

// A text that ends within a character has U+FFFD there and nowhere before, streamed
// too (llama.cpp#4036, vllm-mlx PR 109, exo PR 1691).
func TestHalfACharacterOverHTTP(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"offset", "bytes"} {
		t.Run(method, func(t *testing.T) {
			r := launch(t, append([]string{"--detokenize-method", method}, plain...)...)
			whole := sayings(r.answers(t, map[string]any{"text": "x", "sampling_params": drawn(3, 60, nil)})[0].IDs)
			halves := 0
			for n := 20; n < 50; n++ {
				body := map[string]any{"text": "x", "sampling_params": drawn(3, n, nil)}
				want := held(whole[:n], nil)
				if len(want) < n {
					halves++
					want += "\ufffd"
				}
				if a := r.answers(t, body)[0]; a.Text != want {
					t.Errorf("%d tokens are %q, want %q", n, a.Text, want)
				}
				events := r.events(t, body)
				text := ""
				for i, e := range events {
					text += e.Text
					if i < len(events)-1 && strings.Contains(e.Text, "\ufffd") {
						t.Errorf("%d tokens: event %d is %q", n, i, e.Text)
					}
				}
				if text != want {
					t.Errorf("%d tokens stream %q, want %q", n, text, want)
				}
			}
			if halves < 5 {
				t.Errorf("%d texts ended within a character; too few to say anything", halves)
			}
			r.term()
		})
	}
}

// Special tokens are left out unless asked for (dynamo PR 8780), and stop ids end a
// request without being shown, unless asked for.
func TestTokensThatAreNotShown(t *testing.T) {
	r := launch(t, append(slices.Clone(device), "--sim-special", "0.3")...)
	ask := func(more map[string]any) answer {
		body := map[string]any{"text": "x", "sampling_params": drawn(2, 80, more)}
		a := r.answers(t, body)[0]
		if s := joined(r.events(t, body), 1)[0]; s.Text != a.Text {
			t.Errorf("%v: the stream is %q, unary %q", more, s.Text, a.Text)
		}
		return a
	}
	whole := ask(map[string]any{"skip_special_tokens": false})
	if !strings.Contains(whole.Text, "<|") {
		t.Fatalf("no special token in %q", whole.Text)
	}
	if a := ask(nil); strings.Contains(a.Text, "<|") || len(a.Text) == 0 {
		t.Errorf("special tokens are shown by default: %q", a.Text)
	}
	i := 10 // a printable token that comes there the first time
	for whole.IDs[i] <= ' ' || whole.IDs[i] >= 127 || slices.Index(whole.IDs, whole.IDs[i]) != i {
		i++
	}
	id := whole.IDs[i]
	for _, noTrim := range []bool{false, true} {
		a := ask(map[string]any{"stop_token_ids": []int64{id}, "no_stop_trim": noTrim, "skip_special_tokens": false, "ignore_eos": false})
		shown := strings.HasSuffix(a.Text, string(rune(id)))
		if a.Meta.Finish.Type != "stop" || fmt.Sprint(a.Meta.Finish.Matched) != fmt.Sprint(id) || a.Meta.Completion != i+1 || shown != noTrim {
			t.Errorf("no_stop_trim %t: %q, %+v after %d tokens, want the stop %d after %d", noTrim, a.Text, a.Meta.Finish, a.Meta.Completion, id, i+1)
		}
	}
	r.term()
}

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// twin is what encoding/json makes of a value; without HTML's escapes.
func twin(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a", "\"\\\b\f\n\r\t\x00\x1f\x7f", "é🙂\u2028\u2029\u2027", "\xff\xc3", "<&>", "\ufffd"} {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if got, want := string(appendString([]byte("x"), s)), "x"+twin(t, s); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
		// Text that comes in parts, cut between characters, is the same.
		runes := []rune(strings.ToValidUTF8(s, ""))
		cut = min(max(cut, 0), len(runes))
		parts := appendEscaped(appendEscaped(nil, string(runes[:cut])), string(runes[cut:]))
		if want := appendEscaped(nil, string(runes)); !bytes.Equal(parts, want) {
			t.Errorf("%q in parts: %s, want %s", s, parts, want)
		}
	})
}

func FuzzAppendFloat(f *testing.F) {
	for _, v := range []float64{0, 1, -1, 0.1, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e20, 1e21, 1e22, -1.5e300, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1)} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		want := "null"
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			want = twin(t, v)
		}
		if got := string(appendFloat(nil, v)); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	})
}

// dumb builds an answer of /generate from all updates so far, as maps.
func dumb(w wanted, all []manager.Update, from int) map[string]any {
	text, ids := "", []int64{}
	lists := map[string][]any{}
	for _, name := range []string{"token_logprobs", "top_logprobs", "token_ids_logprobs"} {
		lists["input_"+name], lists["output_"+name] = []any{}, []any{}
	}
	triple := func(l manager.TokenLogprob, null bool) []any {
		var word, value any = nil, l.Val
		if w.text {
			word = string(w.tokenizer.AppendDecode(nil, []int64{l.ID}, false, true))
		}
		if null {
			value = nil
		}
		return []any{value, l.ID, word}
	}
	triples := func(list []manager.TokenLogprob, null bool) any {
		if null {
			return nil
		}
		out := []any{}
		for _, l := range list {
			out = append(out, triple(l, false))
		}
		return out
	}
	for i, u := range all {
		sides := map[string][]manager.Position{"input_": u.InputLogprobs}
		if i >= from {
			text += u.Text
			ids = append(ids, u.OutputIDs...)
			sides["output_"] = u.OutputLogprobs
		}
		for side, positions := range sides {
			for _, p := range positions {
				lists[side+"token_logprobs"] = append(lists[side+"token_logprobs"], triple(p.Token, p.Null))
				lists[side+"top_logprobs"] = append(lists[side+"top_logprobs"], triples(p.Top, p.Null))
				lists[side+"token_ids_logprobs"] = append(lists[side+"token_ids_logprobs"], triples(p.IDs, p.Null))
			}
		}
	}
	last := all[len(all)-1]
	meta := map[string]any{
		"id": last.RID, "finish_reason": nil, "prompt_tokens": last.PromptTokens, "weight_version": "default",
		"num_retractions": last.Retractions, "reasoning_tokens": 0, "completion_tokens": last.CompletionTokens, "cached_tokens": last.CachedTokens,
	}
	if f := last.Finish; f != nil {
		meta["e2e_latency"] = last.Latency.Seconds()
		meta["finish_reason"] = map[string]any{"type": f.Type, "length": f.Length}
	}
	for name, list := range lists {
		if w.logprobs && (strings.HasSuffix(name, "put_token_logprobs") || strings.Contains(name, "top") && w.top || strings.Contains(name, "ids") && w.ids) {
			meta[name] = list
		}
	}
	return map[string]any{"text": text, "output_ids": ids, "meta_info": meta}
}

// randomUpdates is a stream of one index.
func randomUpdates(r *rand.Rand) []manager.Update {
	letters := []string{"", "a", "\n", "\"", "é", "🙂", "\u2028", "\\", "<"}
	some := func() (list []manager.TokenLogprob) {
		for range r.IntN(3) {
			list = append(list, manager.TokenLogprob{ID: r.Int64N(vocab), Val: -r.ExpFloat64()})
		}
		return list
	}
	var all []manager.Update
	for i := range 1 + r.IntN(6) {
		u := manager.Update{RID: "r\"", PromptTokens: r.IntN(9), CompletionTokens: i, CachedTokens: r.IntN(9), Retractions: r.IntN(3)}
		for range r.IntN(4) {
			u.Text += letters[r.IntN(len(letters))]
			u.OutputIDs = append(u.OutputIDs, r.Int64N(vocab))
			u.OutputLogprobs = append(u.OutputLogprobs, manager.Position{Token: manager.TokenLogprob{ID: r.Int64N(vocab), Val: -r.ExpFloat64()}, Top: some(), IDs: some()})
		}
		if i == 0 {
			u.InputLogprobs = []manager.Position{{Token: manager.TokenLogprob{ID: 1}, Null: true}, {Token: manager.TokenLogprob{ID: 2, Val: -1}, Top: some()}}
		}
		all = append(all, u)
	}
	last := &all[len(all)-1]
	last.Finish, last.Latency = &manager.Finish{Type: "length", Length: 4}, time.Duration(r.Int64N(1e10))
	return all
}

// The appended answers are those that encoding/json makes of all updates, both of
// everything so far and of what is new.
func TestAnswerTwin(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := wanted{r.IntN(3) > 0, r.IntN(2) > 0, r.IntN(2) > 0, r.IntN(2) > 0, letters{}}
		whole, fresh := answer{want: w}, answer{want: w}
		all := randomUpdates(r)
		for i := range all {
			whole.add(&all[i])
			fresh.add(&all[i])
			for _, c := range []struct {
				got  []byte
				from int
			}{{whole.appendJSON(nil, -1), 0}, {fresh.appendJSON(nil, -1), i}} {
				var got, want any
				if err := json.Unmarshal(c.got, &got); err != nil {
					t.Fatalf("seed %d: %v in %s", seed, err, c.got)
				}
				if err := json.Unmarshal([]byte(twin(t, dumb(w, all[:i+1], c.from))), &want); err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, update %d from %d:\n got %s\nwant %s", seed, i, c.from, c.got, twin(t, want))
				}
			}
			fresh.forget()
		}
	}
}

// FuzzBodies: no body makes the readers panic, and what they take is in its limits.
func FuzzBodies(f *testing.F) {
	for path, body := range requests {
		f.Add(path, []byte(body))
	}
	f.Add("/generate", []byte(`{"input_ids":[[1,2],[3]],"return_logprob":[true,false],"token_ids_logprob":[[1],null],"rid":["a","b"],"sampling_params":[{"stop":["a"]},{"logit_bias":{"1":2}}]}`))
	f.Add("/v1/completions", []byte(`{"prompt":[ [1] , [2,3]],"echo":true,"logprobs":1,"stream_options":{"include_usage":true},"response_format":{"type":"text"}}`))
	f.Add("/v1/chat/completions", []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[],"tool_choice":"none"}`))
	f.Add("/v1/score", []byte(`{"query":[1],"items":[[2],[]],"label_token_ids":[3],"item_first":true}`))
	f.Add("/generate", []byte(`{"text":"\ud83d\ude00\\\\ud83d","\uD83D":1}`))
	a := New(config(newFake())).(*api)
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		fields, err := parseFields(body)
		if err != nil {
			return
		}
		var items []manager.Item
		switch path {
		case "/generate":
			g, err := a.parseGenerate(fields)
			if err != nil {
				return
			}
			items = g.items
		case "/v1/completions":
			c, err := a.parseCompletion(fields)
			if err != nil {
				return
			}
			items = c.items
		case "/v1/chat/completions":
			c, err := a.parseChat(fields)
			if err != nil {
				return
			}
			items = []manager.Item{c.item}
		case "/v1/score":
			s, err := a.parseScore(fields)
			if err != nil {
				return
			}
			items = s.items
			if len(items) == 0 {
				return
			}
		default:
			return
		}
		if len(items) == 0 {
			t.Fatal("taken without a prompt")
		}
		for _, it := range items {
			check(t, it)
		}
	})
}

func check(t *testing.T, it manager.Item) {
	t.Helper()
	p := it.Params
	for _, id := range append(append(it.InputIDs, p.StopTokenIDs...), it.TokenIDsLogprob...) {
		if id < 0 || id >= vocab {
			t.Errorf("id %d was taken", id)
		}
	}
	for id, v := range p.LogitBias {
		if id < 0 || id >= vocab || math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("logit_bias %d: %v was taken", id, v)
		}
	}
	for name, fits := range map[string]bool{
		"temperature": p.Temperature >= 0 && !math.IsInf(p.Temperature, 0), "top_p": p.TopP > 0 && p.TopP <= 1,
		"top_k": p.TopK == -1 || p.TopK > 0, "min_p": p.MinP >= 0 && p.MinP <= 1,
		"repetition_penalty": p.RepetitionPenalty > 0, "max_new_tokens": p.MaxNewTokens >= p.MinNewTokens && p.MinNewTokens >= 0,
		"top_logprobs_num": it.TopLogprobsNum >= 0, "logprob_start_len": it.LogprobStartLen >= -1,
	} {
		if !fits {
			t.Errorf("%s was taken: %s", name, fmt.Sprintf("%+v", it))
		}
	}
}

// Whole streams against each other: deltas joined are the unary text.
func TestStreamsAndUnaryAgree(t *testing.T) {
	for seed := range uint64(20) {
		var script []any
		text := ""
		for _, u := range randomUpdates(rand.New(rand.NewPCG(seed, 2))) {
			text += u.Text
			script = append(script, u)
		}
		for path, body := range requests {
			if path == "/v1/score" {
				continue
			}
			url := start(t, newFake(script...)) + path
			unary := unmarshal[map[string]any](t, post(t, url, body).body)
			whole, _ := unary["text"].(string)
			for _, other := range []any{at(unary, "choices", 0, "text"), at(unary, "choices", 0, "message", "content")} {
				if s, is := other.(string); is {
					whole = s
				}
			}
			streamed, last := "", ""
			for _, c := range chunks(t, post(t, url, strings.TrimSuffix(body, "}")+`,"stream":true}`).body) {
				for _, part := range []any{at(c, "choices", 0, "text"), at(c, "choices", 0, "delta", "content")} {
					if s, is := part.(string); is {
						streamed += s
					}
				}
				if s, is := c["text"].(string); is {
					last = s
				}
			}
			if path == "/generate" {
				streamed = last
			}
			if whole != text || streamed != text {
				t.Errorf("seed %d, %s: unary %q, streamed %q, want %q", seed, path, whole, streamed, text)
			}
		}
	}
}

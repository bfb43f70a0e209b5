package scoring

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// scoreSet has two items and two labels, and 10 prompt tokens.
func scoreSet(t testing.TB) *Set {
	set, err := NewSet(Options{API: Score, Run: "r", Labels: []int64{1, 2}}, []Prompt{{Items: []string{"a", "b"}, Tokens: 10}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestScores(t *testing.T) {
	a, err := scoreSet(t).Answer(0, 200, []byte(`{"scores":[[0.25,1],[0,1.0000001]],"usage":{"prompt_tokens":10,"completion_tokens":0},"object":"scoring","model":"m"}`))
	if err != nil || fmt.Sprint(a.Scores) != "[[0.25 1] [0 1.0000001]]" || a.PromptTokens != 10 {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = scoreSet(t).Answer(0, 200, []byte(`{"scores":[[0,0],[0,0]],"usage":null}`)); err != nil || a.PromptTokens != 0 {
		t.Errorf("without usage: %+v, %v", a, err)
	}
}

// Nothing that lacks anything is taken for an answer.
func TestWrongScores(t *testing.T) {
	for body, want := range map[string]string{
		``:                                  "the answer is no JSON object",
		`[]`:                                "the answer is no JSON object",
		`{"scores":[[0,0],[0,`:              "the answer is no JSON object",
		`{"error":{"message":"no memory"}}`: `the answer is an error: "{\"error\":{\"message\":\"no memory\"}}"`,
		`{"object":"error","message":"x"}`:  "the answer is an error",
		`{}`:                                "0 rows of scores, expected 2, one an item",
		`{"scores":null}`:                   "0 rows of scores, expected 2, one an item",
		`{"scores":"x"}`:                    "the answer is of another shape",
		`{"scores":[[0,0]]}`:                "1 rows of scores, expected 2, one an item",
		`{"scores":[[0,0],[0,0],[0,0]]}`:    "3 rows of scores, expected 2, one an item",
		`{"scores":[[0,0],[0]]}`:            "item 1 has 1 scores, expected 2, one a label",
		`{"scores":[[0,0],null]}`:           "item 1 has 0 scores, expected 2, one a label",
		`{"scores":[[0,null],[0,0]]}`:       "item 0: score 1 is null, expected a number",
		`{"scores":[[0,0],[NaN,0]]}`:        "the answer has NaN, expected numbers",
		`{"scores":[[0,0],[0, -Infinity]]}`: "the answer has -Infinity, expected numbers",
		`{"scores":[[0,0],[-0.1,0]]}`:       "item 1: score 0 is -0.1, expected a probability, 0 to 1",
		`{"scores":[[0,1.1],[0,0]]}`:        "item 0: score 1 is 1.1, expected a probability, 0 to 1",
		`{"scores":[[0,1e999],[0,0]]}`:      "the answer is of another shape",
		`{"scores":[[0,0],[0,0]],"usage":{"prompt_tokens":9}}`: "prompt_tokens is 9, expected 10",
	} {
		if a, err := scoreSet(t).Answer(0, 200, []byte(body)); err == nil || !strings.Contains(err.Error(), want) || a.Scores != nil {
			t.Errorf("%s: %+v, %v, want %q", body, a, err, want)
		}
	}
	if _, err := scoreSet(t).Answer(0, 503, []byte(`{"scores":[[0,0],[0,0]]}`)); err == nil || !strings.Contains(err.Error(), "status 503, expected 200") {
		t.Errorf("status 503: %v", err)
	}
	long := strings.Repeat("x", 1000)
	if _, err := scoreSet(t).Answer(0, 500, []byte(long)); err == nil || len(err.Error()) > 400 {
		t.Errorf("a long error: %v", err)
	}
}

// Hash and distance see what differs, and where.
func TestCompare(t *testing.T) {
	a := Answer{Scores: [][]float64{{0.1, 0.2}, {0.3, 0.4}}}
	hashes := map[string]bool{a.ScoresSHA256(): true}
	for _, k := range []struct {
		b      [][]float64
		want   Difference
		agrees bool
		err    string
	}{
		{[][]float64{{0.1, 0.2}, {0.3, 0.4}}, Difference{}, true, ""},
		{[][]float64{{0.1, 0.2}, {0.3, 0.4 + 1.0/(1<<20)}}, Difference{1.0 / (1 << 20), 1, 1}, true, ""},
		{[][]float64{{0.1, 0.25}, {0.5, 0.4}}, Difference{0.2, 1, 0}, false, "item 1, label 0: scores 0.3 and 0.5 differ by 0.2, expected at most 1e-05"},
		{[][]float64{{0.1, 0.2}}, Difference{}, false, "1 items have scores, expected 2"},
		{[][]float64{{0.1, 0.2}, {0.3}}, Difference{}, false, "item 1 has 1 scores, expected 2"},
		{[][]float64{{0.1, 0.2, 0.3}, {0.4}}, Difference{}, false, "item 0 has 3 scores, expected 2"},
		{[][]float64{{math.NaN(), 0.2}, {0.3, 0.4}}, Difference{Value: math.NaN()}, false, "expected numbers"},
	} {
		b := Answer{Scores: k.b}
		d, err := Compare(a, b)
		if math.Abs(d.Value-k.want.Value) > 1e-12 || d.Item != k.want.Item || d.Label != k.want.Label {
			t.Errorf("%v: %+v, %v, want %+v", k.b, d, err, k.want)
		}
		err = Agree(a, b, 1e-5)
		if (err == nil) != k.agrees || err != nil && !strings.Contains(err.Error(), k.err) {
			t.Errorf("%v: %v, want %q", k.b, err, k.err)
		}
		hashes[b.ScoresSHA256()] = true
	}
	if len(hashes) != 7 {
		t.Errorf("%d hashes of 7 different answers", len(hashes))
	}
}

func event(text string) string { return "data: " + text + "\n\n" }

const (
	first    = `{"choices":[{"index":0,"text":"a","finish_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`
	other    = `{"choices":[{"index":1,"text":"a","finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	last     = `{"choices":[{"index":0,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`
	total    = `{"choices":[],"usage":{"prompt_tokens":6,"completion_tokens":4}}`
	plain    = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	plainOne = `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"length"}]}`
	done     = "[DONE]"
)

func streamSet(t testing.TB) *Set {
	set, err := NewSet(Options{API: Completions, Run: "r", OutputTokens: 2, Stream: true}, []Prompt{{Items: []string{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestStream(t *testing.T) {
	body := event(first) + event(other) + event(last) + event(total) + event(done)
	a, err := streamSet(t).Answer(0, 200, []byte(body))
	one, two := len(event(first)), len(event(first)+event(other))
	want := fmt.Sprint([]Chunk{{0, 1, one}, {1, 2, two}, {0, 1, two + len(event(last))}})
	if err != nil || fmt.Sprint(a.Chunks) != want || a.PromptTokens != 6 || a.CompletionTokens != 4 {
		t.Errorf("%+v, %v, want chunks %s", a, err, want)
	}
	body = event(plain) + event(plainOne) + event(`{"choices":[{"index":1,"delta":{"content":"y"},"finish_reason":"length"}]}`) + event(total) + event(done)
	if a, err = streamSet(t).Answer(0, 200, []byte(body)); err != nil || len(a.Chunks) != 2 || a.Chunks[0].Tokens != -1 {
		t.Errorf("without usage: %+v, %v", a, err)
	}
}

func TestWrongStreams(t *testing.T) {
	for want, body := range map[string]string{
		"the stream ends without [DONE]":                      event(first) + event(other) + event(last) + event(total),
		"the stream ends inside an event":                     event(first) + `data: {"choi`,
		"an event behind [DONE]":                              event(done) + event(first),
		"an event without data":                               "id: 3\n\n",
		"the answer is an error":                              event(first) + event(`{"error":{"message":"x"}}`) + event(done),
		"the answer is no JSON object":                        event(`{"choices"`) + event(done),
		"choice 0 has no finish_reason, expected length":      event(first) + event(other) + event(total) + event(done),
		`choice 0 has finish_reason "abort", expected length`: event(strings.Replace(last, "length", "abort", 1)) + event(other) + event(total) + event(done),
		"completion_tokens is 0, expected 4":                  event(first) + event(other) + event(last) + event(done),
		"a choice of index 2, expected 0 to 1":                event(strings.Replace(last, `"index":0`, `"index":2`, 1)),
		"a choice of index -1, expected 0 to 1":               event(strings.Replace(last, `"index":0`, `"index":-1`, 1)),
		"completion_tokens of choice 0 falls from 2 to 1":     event(last) + event(first),
	} {
		if a, err := streamSet(t).Answer(0, 200, []byte(body)); err == nil || !strings.Contains(err.Error(), want) || a.Chunks != nil {
			t.Errorf("%s: %+v, %v, want %q", body, a, err, want)
		}
	}
}

func TestGenerationAnswers(t *testing.T) {
	set, err := NewSet(Options{API: Completions, Run: "r", OutputTokens: 2}, []Prompt{{Items: []string{"a", "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	fine := `{"choices":[{"index":0,"finish_reason":"length"},{"index":1,"finish_reason":"length"}],"usage":{"prompt_tokens":6,"completion_tokens":4}}`
	if a, err := set.Answer(0, 200, []byte(fine)); err != nil || a.CompletionTokens != 4 || a.PromptTokens != 6 {
		t.Errorf("%+v, %v", a, err)
	}
	for want, change := range map[string][2]string{
		"1 choices, expected 2, one a prompt":      {`,{"index":1,"finish_reason":"length"}`, ""},
		"choice 1 has index 0, expected its place": {`"index":1`, `"index":0`},
		`choice 0 has finish_reason "stop"`:        {"length", "stop"},
		"choice 0 has no finish_reason":            {`"length"`, "null"},
		"completion_tokens is 3, expected 4":       {`"completion_tokens":4`, `"completion_tokens":3`},
	} {
		if _, err := set.Answer(0, 200, []byte(strings.Replace(fine, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Whatever comes: no panic, and what is taken has everything.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"scores":[[0.5,0],[1,0]],"usage":{"prompt_tokens":10}}`))
	f.Add([]byte(`{"scores":[[0.5,NaN],[1,0]]}`))
	f.Add([]byte(event(first) + event(other) + event(last) + event(total) + event(done)))
	scores, stream := scoreSet(f), streamSet(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		if a, err := scores.Answer(0, 200, body); err == nil {
			if len(a.Scores) != 2 || len(a.Scores[0]) != 2 || len(a.Scores[1]) != 2 {
				t.Errorf("%q gives %+v", body, a)
			}
			if err := Agree(a, a, 0); err != nil {
				t.Error(err)
			}
		}
		if a, err := stream.Answer(0, 200, body); err == nil {
			at := 0
			for _, c := range a.Chunks {
				if c.End <= at && c.End != at || c.End > len(body) || c.Tokens == 0 || c.Index < 0 || c.Index > 1 {
					t.Errorf("%q gives %+v", body, a)
				}
				at = c.End
			}
			if a.CompletionTokens != 4 {
				t.Errorf("%q gives %+v", body, a)
			}
		}
	})
}

// Widest is what comparing each with each finds.
func TestWidest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		answers := make([]Answer, 1+r.IntN(5))
		for i := range answers {
			answers[i].Scores = [][]float64{{r.Float64(), r.Float64()}, {r.Float64()}}
		}
		var want Difference
		for _, a := range answers {
			for _, b := range answers {
				d, err := Compare(a, b)
				if err != nil {
					t.Fatal(err)
				}
				if d.Value > want.Value {
					want = d
				}
			}
		}
		if got, err := Widest(answers); got != want || err != nil {
			t.Fatalf("%v: %+v, %v, want %+v", answers, got, err, want)
		}
	}
	if _, err := Widest(nil); err == nil {
		t.Error("no answers have a difference")
	}
	if _, err := Widest([]Answer{{Scores: [][]float64{{1}}}, {}}); err == nil {
		t.Error("answers of two shapes have a difference")
	}
}

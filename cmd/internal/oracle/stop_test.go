package oracle

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// reason is a finish reason of type stop.
type reason struct {
	Type    string `json:"type"`
	Matched any    `json:"matched"`
}

// stopped gives a random request a stop string, most often one that its text
// has, or makes its last id a stop token.
func stopped(rng *rand.Rand, q request) request {
	q.keep = rng.IntN(2) == 0
	last := &q.steps[len(q.steps)-1]
	if rng.IntN(3) == 0 {
		id := rng.Int64N(25) - 1
		*last = append(*last, id)
		q.reason = reason{"stop", id}
		return q
	}
	text := []rune(q.atOnce())
	from := rng.IntN(len(text) + 1)
	stop := string(text[from:min(len(text), from+1+rng.IntN(3))])
	if rng.IntN(4) == 0 {
		stop += "no"
	}
	q.reason = reason{"stop", stop}
	return q
}

// emitted is what SGLang's detokenizer sends for each row, by characters: the
// offset method, what is printable of a text that may go on, and at the end the
// rest, trimmed.
func (q request) emitted() []string {
	var ids []int64
	var out []string
	surr, read, sent := 0, q.prompt, 0
	text := []rune(q.before)
	for i, step := range q.steps {
		ids = append(ids, step...)
		fresh := func(ids []int64) []rune {
			whole := q.decode(ids[min(surr, len(ids)):])
			return whole[min(len(whole), len(q.decode(ids[surr:min(read, len(ids))]))):]
		}
		show := text
		switch {
		case i == len(q.steps)-1:
			show = q.trimmed(append(text, fresh(q.withoutToken(ids))...))
		default:
			piece := fresh(ids)
			if len(piece) > 0 && piece[len(piece)-1] != '\uFFFD' {
				text = append(text, piece...)
				show, surr, read = text, read, len(ids)
			} else {
				show = append(append([]rune{}, text...), printablePart(piece)...)
			}
		}
		out = append(out, string(show[min(sent, len(show)):]))
		sent = max(sent, len(show))
	}
	return out
}

func (q request) withoutToken(ids []int64) []int64 {
	if r, ok := q.reason.(reason); ok && !q.keep {
		if _, token := r.Matched.(int64); token {
			return ids[:len(ids)-1]
		}
	}
	return ids
}

// trimmed cuts at the stop string, looked for character by character.
func (q request) trimmed(text []rune) []rune {
	r, _ := q.reason.(reason)
	matched, _ := r.Matched.(string)
	stop := []rune(matched)
	for at := 0; len(stop) > 0 && at+len(stop) <= len(text); at++ {
		if string(text[at:at+len(stop)]) == matched {
			if q.keep {
				at += len(stop)
			}
			return text[:at]
		}
	}
	return text
}

// printablePart is find_printable_text of transformers' TextStreamer, with the
// characters of this test's texts.
func printablePart(text []rune) []rune {
	n := len(text)
	cjk := func(i int) bool { return i >= 0 && text[i] >= 0x4e00 && text[i] <= 0x9fff }
	switch {
	case n > 0 && text[n-1] == '\n' || cjk(n-1):
		return text
	case cjk(n - 2):
		return text[:n-1]
	}
	for n > 0 && text[n-1] != ' ' {
		n--
	}
	return text[:n]
}

// TestStopsAgainstTwin: a request that ends by a stop string or token is either
// refused by name, or what SGLang's method sends for it is accepted, and makes
// up the whole text.
func TestStopsAgainstTwin(t *testing.T) {
	refusals := []string{"text that may have been sent cannot be judged", "is not the last id of the last row"}
	seen := map[string]int{}
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		q := stopped(rng, randomRequest(rng))
		pieces := q.emitted()
		e, err := New(q.work(), 1)
		if err != nil {
			if !strings.Contains(err.Error(), refusals[0]) && !strings.Contains(err.Error(), refusals[1]) {
				t.Fatalf("seed %d: %v", seed, err)
			}
			seen["refused"]++
			continue
		}
		want := strings.Join(pieces, "")
		if got := e.text["r"]; got != want {
			t.Fatalf("seed %d, %+v: got %q, want %q", seed, q, got, want)
		}
		if err := e.Check(layout(1), q.delivered(pieces)); err != nil {
			t.Fatalf("seed %d, %+v: %v", seed, q, err)
		}
		_, token := q.reason.(reason).Matched.(int64)
		switch {
		case token && q.keep:
			seen["a token kept"]++
		case token:
			seen["a token"]++
		case want != string(q.atOnce()) && q.keep:
			seen["a text cut behind its stop string"]++
		case want != string(q.atOnce()):
			seen["a text cut"]++
		default:
			seen["nothing cut"]++
		}
	}
	if len(seen) != 6 {
		t.Errorf("only these cases came up: %v", seen)
	}
}

// delivered has the rows that an arm makes of these texts.
func (q request) delivered(texts []string) []protocol.Row {
	var rows []protocol.Row
	for i, text := range texts {
		reason := json.RawMessage("null")
		if i == len(texts)-1 {
			reason = encode(q.reason)
		}
		rows = append(rows, protocol.Row{Position: i, Fields: map[string]json.RawMessage{
			"rids": encode("r"), "output_strs": encode(text), "finished_reasons": reason,
		}})
	}
	return rows
}

// TestStop has the cases that are easily got wrong, and what cannot be decided.
func TestStop(t *testing.T) {
	raw := protocol.Vocabulary{Kind: protocol.VocabularyBytes, Tokens: []protocol.Token{
		{ID: 1, Bytes: []byte("a")}, {ID: 2, Bytes: []byte("b")}, {ID: 3, Bytes: []byte("\xe2")}, {ID: 4, Bytes: []byte("\x82\xac")}, {ID: 5, Bytes: []byte("<e>"), Special: true},
	}}
	for _, test := range []struct {
		name    string
		steps   [][]int64
		prompt  int
		matched any
		keep    bool
		want    string
		refused string
	}{
		{"cut at the first occurrence", [][]int64{{1}, {2, 1, 2}}, 0, "b", false, "a", ""},
		{"kept through its end", [][]int64{{1}, {2, 1, 2}}, 0, "b", true, "ab", ""},
		{"one that does not occur", [][]int64{{1}, {2}}, 0, "x", false, "ab", ""},
		{"an empty one", [][]int64{{1}, {2}}, 0, "", false, "ab", ""},
		{"nothing matched", [][]int64{{1}, {2}}, 0, nil, false, "ab", ""},
		{"over two rows, kept", [][]int64{{1}, {2}, {1}}, 0, "ab", true, "ab", ""},
		{"over two rows, cut", [][]int64{{1}, {2}, {1}}, 0, "ba", false, "", "which the stop string \"ba\" cuts"},
		{"in one row", [][]int64{{1, 2, 1}}, 0, "ba", false, "a", ""},
		{"half its first character in the row before", [][]int64{{1, 3}, {4, 2}}, 0, "€b", false, "a", ""},
		{"not in the prompt", [][]int64{{2, 1}, {2}}, 1, "b", false, "a", ""},
		{"in text from before the last row", [][]int64{{1, 2}, {1}}, 0, "b", true, "ab", ""},
		{"behind it text that was sent", [][]int64{{1, 2, 1}, {1}}, 0, "b", true, "", "which the stop string \"b\" cuts"},
		{"a stop token", [][]int64{{1}, {2}}, 0, 2, false, "a", ""},
		{"a stop token that is kept", [][]int64{{1}, {2}}, 0, 2, true, "ab", ""},
		{"a special one that is kept", [][]int64{{1}, {5}}, 0, 5, true, "a<e>", ""},
		{"one that ends a character", [][]int64{{1, 3}, {4}}, 0, 4, false, "a\uFFFD", ""},
		{"a stop token that is not the last", [][]int64{{1}, {2}}, 0, 1, false, "", "the stop token 1 is not the last id of the last row, whose ids are [2]"},
		{"a stop token that came before", [][]int64{{1}, {}}, 0, 1, false, "", "is not the last id of the last row, whose ids are []"},
		{"a stop token of the prompt", [][]int64{{1}}, 1, 1, false, "", "is not the last id"},
		{"a list", [][]int64{{1}}, 0, []int{1}, false, "", "neither a text nor the id"},
	} {
		q := request{vocab: raw, steps: test.steps, prompt: test.prompt, keep: test.keep, reason: reason{"stop", test.matched}}
		e, err := New(q.work(), 1)
		switch {
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s: got %v, want %q", test.name, err, test.refused)
		case test.refused == "" && (err != nil || e.text["r"] != test.want):
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	for _, kind := range []string{"length", "abort"} {
		q := request{vocab: raw, steps: [][]int64{{1}}, reason: reason{kind, "a"}}
		if _, err := New(q.work(), 1); err == nil || !strings.Contains(err.Error(), "cannot be trimmed for type") {
			t.Errorf("matched beside %s: got %v, want an error", kind, err)
		}
	}
}

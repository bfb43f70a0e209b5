package oracle

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// beginnings are all proper beginnings of all characters' encodings.
var beginnings = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		s := string(r)
		if r != utf8.RuneError && s == string(utf8.RuneError) {
			continue // a surrogate
		}
		for n := 1; n < len(s); n++ {
			all[s[:n]] = true
		}
	}
	return all
})

// twinReplaced takes a whole character if one is there, or else the longest
// beginning of one, or else a byte.
func twinReplaced(s string) string {
	out := ""
next:
	for s != "" {
		for n := 1; n <= min(4, len(s)); n++ {
			if utf8.ValidString(s[:n]) {
				out, s = out+s[:n], s[n:]
				continue next
			}
		}
		n := 1
		for k := 2; k <= min(3, len(s)); k++ {
			if beginnings()[s[:k]] {
				n = k
			}
		}
		out, s = out+"\uFFFD", s[n:]
	}
	return out
}

// TestReplaced: what Python's bytes.decode("utf-8", "replace") gives.
func TestReplaced(t *testing.T) {
	for _, test := range [][2]string{
		{"", ""}, {"é€😀", "é€😀"},
		{"\xff", "\ufffd"}, {"\xe2\x82", "\ufffd"}, {"\xe2\x82a", "\ufffda"}, {"\xe2\x82\xac", "€"},
		{"\xf0\x9f\x98", "\ufffd"}, {"\xf0\x9f\xff", "\ufffd\ufffd"}, {"\x80\x80", "\ufffd\ufffd"},
		{"\xed\xa0\x80", "\ufffd\ufffd\ufffd"}, {"\xc0\x80", "\ufffd\ufffd"}, {"\xe0\x80\x80", "\ufffd\ufffd\ufffd"},
		{"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}, {"\xf1\x80\xe2\x82\xacz", "\ufffd€z"}, {"\xc3\xc3\xa9", "\ufffdé"},
		{"a\xe2\x82", "a\ufffd"}, {"\xf5\x80", "\ufffd\ufffd"}, {"\xf0\x80\x80", "\ufffd\ufffd\ufffd"},
		{"\xe0\xa0", "\ufffd"}, {"\xf4\x8f\xbf", "\ufffd"}, {"\xef\xbf\xbd", "\ufffd"},
	} {
		if got := replaced(test[0]); got != test[1] {
			t.Errorf("%q gives %q, want %q", test[0], got, test[1])
		}
		if got := twinReplaced(test[0]); got != test[1] {
			t.Errorf("the twin: %q gives %q, want %q", test[0], got, test[1])
		}
	}
}

func FuzzReplaced(f *testing.F) {
	f.Add([]byte("\xf0\x9f\x98\x80\xed\xa0\x80\xe2\x82\xc3\xa9\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := replaced(string(b)), twinReplaced(string(b)); got != want {
			t.Fatalf("%q gives %q, the twin %q", b, got, want)
		}
	})
}

// request is a random request, as columns of one row a batch.
type request struct {
	vocab  protocol.Vocabulary
	steps  [][]int64
	prompt int
	before string
	skip   bool
	keep   bool
	reason any // of the last row; nil is length
}

// pieces are what random vocabularies are cut from.
const pieces = "a é€😀中国かz\n� x\xff\x80\xf0\x9f日\xe2\x82 b"

func randomRequest(rng *rand.Rand) request {
	q := request{vocab: protocol.Vocabulary{Kind: protocol.VocabularyBytes}, skip: rng.IntN(2) == 0}
	if rng.IntN(3) == 0 {
		q.vocab.Kind = protocol.VocabularyWords
	}
	first := int64(rng.IntN(4) / 3) // sometimes without id 0
	for id := first; id < 3+rng.Int64N(20); id++ {
		var piece string
		for range rng.IntN(4) {
			at := rng.IntN(len(pieces))
			piece += pieces[at : at+min(len(pieces)-at, 1+rng.IntN(4))]
		}
		if q.vocab.Kind == protocol.VocabularyWords {
			piece = strings.ToValidUTF8(piece, "ü")
		}
		q.vocab.Tokens = append(q.vocab.Tokens, protocol.Token{ID: id, Bytes: []byte(piece), Special: rng.IntN(5) == 0})
	}
	for range 1 + rng.IntN(6) {
		ids := []int64{}
		for range rng.IntN(5) {
			ids = append(ids, rng.Int64N(25)-1)
		}
		q.steps = append(q.steps, ids)
	}
	q.prompt = rng.IntN(len(q.steps[0]) + 1)
	q.before = []string{"", "", "vor é"}[rng.IntN(3)]
	return q
}

func (q request) work() protocol.Work {
	w := protocol.Work{Vocabulary: q.vocab}
	for i, ids := range q.steps {
		finish := "null"
		if i == len(q.steps)-1 {
			finish = `{"type":"length"}`
			if q.reason != nil {
				finish = string(encode(q.reason))
			}
		}
		w.Stream = append(w.Stream, protocol.Batch{Consumers: []int{0}, Columns: map[string]json.RawMessage{
			"rids": encode([]string{"r"}), "decode_ids": encode([][]int64{ids}), "read_offsets": encode([]int{q.prompt}),
			"decoded_texts": encode([]string{q.before}), "skip_special_tokens": encode([]bool{q.skip}), "no_stop_trim": encode([]bool{q.keep}),
			"finished_reasons": json.RawMessage("[" + finish + "]"),
		}})
	}
	return w
}

// decode looks every id up by hand.
func (q request) decode(ids []int64) []rune {
	text, words := "", 0
	for _, id := range ids {
		found := -1
		for i, token := range q.vocab.Tokens {
			if token.ID == 0 && found < 0 || token.ID == id {
				found = i
			}
		}
		if found < 0 || q.vocab.Tokens[found].Special && q.skip {
			continue
		}
		if words++; words > 1 && q.vocab.Kind == protocol.VocabularyWords {
			text += " "
		}
		text += string(q.vocab.Tokens[found].Bytes)
	}
	return []rune(twinReplaced(text))
}

// atOnce decodes everything and cuts the prompt's characters off.
func (q request) atOnce() string {
	var ids []int64
	for _, step := range q.steps {
		ids = append(ids, step...)
	}
	all := q.decode(ids)
	return q.before + string(all[min(len(all), len(q.decode(ids[:q.prompt]))):])
}

// incremental is the method of SGLang's detokenizer, with offsets into all ids:
// what is committed, and at the end everything that is new.
func (q request) incremental() string {
	var ids []int64
	surr, read, text := 0, q.prompt, q.before
	for i, step := range q.steps {
		ids = append(ids, step...)
		whole := q.decode(ids[surr:])
		fresh := string(whole[min(len(whole), len(q.decode(ids[surr:read]))):])
		if i == len(q.steps)-1 {
			return text + fresh
		}
		if fresh != "" && !strings.HasSuffix(fresh, "\uFFFD") {
			text += fresh
			surr, read = read, len(ids)
		}
	}
	return text
}

// TestTextAgainstTwins holds the text against everything decoded at once and
// against the incremental method.
func TestTextAgainstTwins(t *testing.T) {
	kinds := map[string]int{}
	for seed := range uint64(20_000) {
		q := randomRequest(rand.New(rand.NewPCG(seed, 1)))
		e, err := New(q.work(), 1)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := e.text["r"], q.atOnce(); got != want {
			t.Fatalf("seed %d, %+v: got %q, decoded at once %q", seed, q, got, want)
		}
		if got, want := e.text["r"], q.incremental(); got != want {
			t.Fatalf("seed %d, %+v: got %q, the incremental method gives %q", seed, q, got, want)
		}
		before := string(q.decode(q.steps[0][:q.prompt]))
		if strings.HasSuffix(before, "\uFFFD") && q.vocab.Kind == protocol.VocabularyBytes {
			kinds["the prompt ends in half a character"]++
		}
		if q.vocab.Kind == protocol.VocabularyWords && before != "" && strings.HasPrefix(e.text["r"], q.before+" ") {
			kinds["a blank behind the prompt"]++
		}
		if strings.HasSuffix(e.text["r"], "\uFFFD") {
			kinds["the text ends in half a character"]++
		}
	}
	if len(kinds) != 3 {
		t.Errorf("only these cases came up: %v", kinds)
	}
}

// TestText has the cases that are easily got wrong.
func TestText(t *testing.T) {
	words := protocol.Vocabulary{Kind: protocol.VocabularyWords, Tokens: []protocol.Token{
		{ID: 0, Bytes: []byte("?")}, {ID: 1, Bytes: []byte("a")}, {ID: 2, Bytes: []byte("b")}, {ID: 3, Bytes: []byte("<s>"), Special: true},
	}}
	raw := protocol.Vocabulary{Kind: protocol.VocabularyBytes, Tokens: []protocol.Token{
		{ID: 1, Bytes: []byte("\xe2")}, {ID: 2, Bytes: []byte("\x82")}, {ID: 3, Bytes: []byte("\xac")}, {ID: 4, Bytes: []byte("x")},
	}}
	for _, test := range []struct {
		name string
		q    request
		want string
	}{
		{"words", request{vocab: words, steps: [][]int64{{1}, {2}}}, "a b"},
		{"the blank behind the prompt stays", request{vocab: words, steps: [][]int64{{1, 2}, {1}}, prompt: 1}, " b a"},
		{"a prompt of special tokens leaves no blank", request{vocab: words, steps: [][]int64{{3, 2}, {1}}, prompt: 1, skip: true}, "b a"},
		{"special tokens that are kept", request{vocab: words, steps: [][]int64{{3, 2}, {3}}, prompt: 1}, " b <s>"},
		{"an id that is not there", request{vocab: words, steps: [][]int64{{1}, {9}, {-1}}}, "a ? ?"},
		{"text from before", request{vocab: words, steps: [][]int64{{1}, {2}}, before: "vor "}, "vor a b"},
		{"a split character", request{vocab: raw, steps: [][]int64{{1}, {2}, {3, 4}}}, "€x"},
		{"a prompt that ends within a character", request{vocab: raw, steps: [][]int64{{4, 1, 2}, {3, 4}}, prompt: 2}, "x"},
		{"an end within a character", request{vocab: raw, steps: [][]int64{{4}, {1, 2}}}, "x\uFFFD"},
		{"an id that is not there, and no id 0", request{vocab: raw, steps: [][]int64{{4}, {0, 9, 4}}}, "xx"},
		{"nothing but a prompt", request{vocab: raw, steps: [][]int64{{4, 4}}, prompt: 2}, ""},
	} {
		e, err := New(test.q.work(), 1)
		if err != nil || e.text["r"] != test.want {
			t.Errorf("%s: got %q, %v, want %q", test.name, e.text["r"], err, test.want)
		}
	}
}

// TestNewRefuses: what joining pieces cannot decide, and works that are wrong.
func TestNewRefuses(t *testing.T) {
	column := func(batch int, name, value string) func(*protocol.Work) {
		return func(w *protocol.Work) { w.Stream[batch].Columns[name] = json.RawMessage(value) }
	}
	for _, test := range []struct {
		name      string
		change    func(*protocol.Work)
		consumers int
		want      string
	}{
		{"nothing", func(*protocol.Work) {}, 1, ""},
		{"an abort", column(1, "finished_reasons", `[{"type":"abort","message":"x"}]`), 1, ""},
		{"a stop", column(1, "finished_reasons", `[{"type":"stop"}]`), 1, ""},
		{"another reason", column(1, "finished_reasons", `[{"type":"tired"}]`), 1, `type "tired"`},
		{"no type", column(1, "finished_reasons", `[{}]`), 1, `type ""`},
		{"a reason that is no object", column(1, "finished_reasons", `["length"]`), 1, "finished_reasons is"},
		{"no finish", column(1, "finished_reasons", `[null]`), 1, "want a reason"},
		{"no reasons", func(w *protocol.Work) { delete(w.Stream[1].Columns, "finished_reasons") }, 1, "want a reason"},
		{"a finish before the last row", column(0, "finished_reasons", `[{"type":"length"}]`), 1, "only the last one to finish"},
		{"skipping that changes", column(1, "skip_special_tokens", `[true]`), 1, "skip_special_tokens of row 1"},
		{"an offset beyond the ids", column(0, "read_offsets", `[3]`), 1, "read_offsets is 3, want 0 to 2"},
		{"an offset below 0", column(0, "read_offsets", `[-1]`), 1, "read_offsets is -1"},
		{"no ids", column(1, "decode_ids", `[null]`), 1, "decode_ids is null"},
		{"a rid that is a number", column(0, "rids", `[7]`), 1, "rids is 7"},
		{"no rid", column(0, "rids", `[null]`), 1, "rids is null"},
		{"another vocabulary kind", func(w *protocol.Work) { w.Vocabulary.Kind = "glyphs" }, 1, `kind "glyphs"`},
		{"an id twice", func(w *protocol.Work) { w.Vocabulary.Tokens[1].ID = 0 }, 1, "id 0 is given twice"},
		{"a word that is no UTF-8", func(w *protocol.Work) { w.Vocabulary.Tokens[1].Bytes = []byte("\xff") }, 1, `the word "\xff" of id 1`},
		{"no consumer", func(*protocol.Work) {}, 0, "0 consumers"},
		{"a consumer too high", func(w *protocol.Work) { w.Stream[1].Consumers[0] = 2 }, 2, "goes to consumer 2, want 0 to 1"},
		{"a consumer below 0", func(w *protocol.Work) { w.Stream[1].Consumers[0] = -1 }, 2, "goes to consumer -1"},
		{"a rid on two consumers", func(w *protocol.Work) { w.Stream[1].Consumers[0] = 1 }, 2, `rid "r" goes to consumers 0 and 1`},
		{"a column too long", column(0, "prompt_tokens", `[1,2]`), 1, "column prompt_tokens: 2 values, want 1"},
		{"a column that is null", column(0, "prompt_tokens", `null`), 1, "column prompt_tokens: got null, want a list"},
		{"a column that is an object", column(0, "prompt_tokens", `{"a":[1]}`), 1, "column prompt_tokens: got"},
		{"customized_info as a list", column(0, "customized_info", `[1]`), 1, "column customized_info: got [1], want an object"},
		{"customized_info that is null", column(0, "customized_info", `null`), 1, "column customized_info: got null, want an object"},
		{"customized_info too short", column(0, "customized_info", `{"a":[1],"b":[]}`), 1, `column customized_info: key "b": 0 values`},
	} {
		q := request{vocab: protocol.Vocabulary{Kind: protocol.VocabularyWords, Tokens: []protocol.Token{{ID: 0, Bytes: []byte("a")}, {ID: 1, Bytes: []byte("b")}}}, steps: [][]int64{{0, 1}, {1}}}
		w := q.work()
		test.change(&w)
		_, err := New(w, test.consumers)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

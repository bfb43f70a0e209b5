package scoring

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var letters = Alphabet{Text: [2]string{"<a>", "<b>"}, ID: [2]int64{7, 9}}

// encode is a tokenizer that knows two words and otherwise bytes.
func encode(texts []string) ([][]int64, error) {
	lists := make([][]int64, len(texts))
	for i, text := range texts {
		for text != "" {
			n, id := 1, int64(1000+int(text[0]))
			for k, word := range letters.Text {
				if strings.HasPrefix(text, word) {
					n, id = len(word), letters.ID[k]
				}
			}
			lists[i], text = append(lists[i], id), text[n:]
		}
	}
	return lists, nil
}

// The default is the request that was published.
func TestPublishedRequest(t *testing.T) {
	s := published(PublishedItems)
	prompts, err := s.Prompts(Alphabet{Text: [2]string{"<|im_start|>", "<|im_end|>"}, ID: [2]int64{151644, 151645}})
	if err != nil {
		t.Fatal(err)
	}
	if len(prompts) != 1 || prompts[0].Query != strings.Repeat("<|im_start|>", 120) || prompts[0].Tokens != 15000 {
		t.Fatalf("%d prompts, query %q, %d tokens", len(prompts), prompts[0].Query, prompts[0].Tokens)
	}
	if want := slices.Repeat([]string{strings.Repeat("<|im_start|>", 180)}, 50); !slices.Equal(prompts[0].Items, want) {
		t.Errorf("items %q", prompts[0].Items)
	}
	set, err := NewSet(Options{API: Score, Run: "r", Labels: PublishedLabels}, prompts)
	if err != nil {
		t.Fatal(err)
	}
	items := strings.Repeat(`,"`+strings.Repeat("<|im_start|>", 180)+`"`, 50)[1:]
	want := `{"query":"` + strings.Repeat("<|im_start|>", 120) + `","items":[` + items + `],"label_token_ids":[9454,2753],"apply_softmax":false,"item_first":false,"model":"default","rid":"r-00000042"}`
	if got := string(set.Body(42)); got != want {
		t.Errorf("body %s", got)
	}
}

// Of any shape: the number of tokens is exact, what must differ does, and what
// must not does not.
func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := Shape{
			API: []string{Score, Completions}[r.IntN(2)], Items: 1 + r.IntN(9), QueryTokens: 4 + r.IntN(9), ItemTokens: 7 + r.IntN(9),
			Unique: 1 + r.IntN(9), SharedPrefix: r.IntN(2) == 0, IDs: r.IntN(2) == 0,
		}
		prompts, err := s.Prompts(letters)
		if err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		queries, items, wholes := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for _, p := range prompts {
			query, list := p.QueryIDs, p.ItemIDs
			if !s.IDs {
				queryIDs, _ := encode([]string{p.Query})
				query = queryIDs[0]
				list, _ = encode(p.Items)
			}
			queries[fmt.Sprint(query)] = true
			if len(query) != s.QueryTokens || len(list) != s.Items || p.Tokens != s.Items*(s.QueryTokens+s.ItemTokens) || p.count() != s.Items {
				t.Fatalf("%+v: query of %d tokens, %d items, %d tokens", s, len(query), len(list), p.Tokens)
			}
			for _, item := range list {
				if len(item) != s.ItemTokens {
					t.Fatalf("%+v: an item of %d tokens", s, len(item))
				}
				items[fmt.Sprint(item)] = true
				wholes[fmt.Sprint(query, item)] = true
			}
		}
		wantQueries, wantItems, wantWholes := s.Unique, s.Items, s.Unique*s.Items
		switch {
		case s.SharedPrefix:
			wantQueries, wantItems = 1, wantWholes
		case s.Unique == 1:
			wantItems, wantWholes = 1, 1
		}
		if len(queries) != wantQueries || len(items) != wantItems || len(wholes) != wantWholes {
			t.Fatalf("%+v: %d queries, %d items, %d prompts differ, want %d, %d, %d", s, len(queries), len(items), len(wholes), wantQueries, wantItems, wantWholes)
		}
	}
}

// What must differ does so within as many tokens as there are binary digits.
func TestTextsDifferEarly(t *testing.T) {
	prompts, err := Shape{API: Score, Items: 1, QueryTokens: 120, ItemTokens: 180, Unique: 100}.Prompts(letters)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range prompts {
		seen[p.Query[:7*len(letters.Text[0])]] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d beginnings of 7 tokens, want 100", len(seen))
	}
}

func TestWrongShapes(t *testing.T) {
	fine := Shape{API: Score, Items: 2, QueryTokens: 3, ItemTokens: 3, Unique: 8}
	for want, change := range map[string]func(*Shape){
		`api is "x", expected score, completions or chat`:                   func(s *Shape) { s.API = "x" },
		"items is 0, expected 1 to":                                         func(s *Shape) { s.Items = 0 },
		"query tokens is -1, expected 0 to":                                 func(s *Shape) { s.QueryTokens = -1 },
		"item tokens is 0, expected 1 to":                                   func(s *Shape) { s.ItemTokens = 0 },
		"unique requests is 0, expected 1 to":                               func(s *Shape) { s.Unique = 0 },
		"query tokens is 3, which is too few to tell 9 queries apart":       func(s *Shape) { s.Unique = 9 },
		"item tokens is 3, which is too few to tell 16 items apart":         func(s *Shape) { s.SharedPrefix = true },
		"a chat request has one prompt of text, expected 1 item and no ids": func(s *Shape) { s.API = Chat },
		"are more than 268435456 tokens in all":                             func(s *Shape) { s.Items, s.Unique = 1<<14, 1<<14 },
	} {
		s := fine
		change(&s)
		if _, err := s.Prompts(letters); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
	if _, err := fine.Prompts(letters); err != nil {
		t.Error(err)
	}
}

// An alphabet is two tokens that stay apart.
func TestChooseAlphabet(t *testing.T) {
	ids := func(known map[string]int64, merge bool) func([]string) ([][]int64, error) {
		return func(texts []string) ([][]int64, error) {
			lists := make([][]int64, len(texts))
			for i, text := range texts {
			next:
				for text != "" {
					for word, id := range known {
						if rest, is := strings.CutPrefix(text, word); is {
							if n := len(lists[i]); !merge || n == 0 || lists[i][n-1] != id {
								lists[i] = append(lists[i], id)
							}
							text = rest
							continue next
						}
					}
					lists[i], text = append(lists[i], int64(text[0])), text[1:]
				}
			}
			return lists, nil
		}
	}
	a, err := chooseAlphabet(ids(map[string]int64{"<eos>": 300, "</s>": 301, "<s>": 300}, false))
	if want := (Alphabet{Text: [2]string{"</s>", "<s>"}, ID: [2]int64{301, 300}}); a != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", a, err, want)
	}
	for want, tokenize := range map[string]func([]string) ([][]int64, error){
		"no two of":                    ids(map[string]int64{"<eos>": 300, "<bos>": 300}, false),
		"are one token each alone but": ids(map[string]int64{"<eos>": 300, "<bos>": 301}, true),
		"no server":                    func([]string) ([][]int64, error) { return nil, errors.New("no server") },
	} {
		if _, err := chooseAlphabet(tokenize); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

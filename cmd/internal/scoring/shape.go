package scoring

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// APIs that can be measured, and their paths.
const (
	Score       = "score"
	Completions = "completions"
	Chat        = "chat"
)

var paths = map[string]string{Score: "/v1/score", Completions: "/v1/completions", Chat: "/v1/chat/completions"}

// The published request.
const (
	PublishedQueryTokens = 120
	PublishedItemTokens  = 180
	PublishedItems       = 50
)

// Shape describes requests that are made up.
type Shape struct {
	API          string
	Items        int // prompts of a request
	QueryTokens  int
	ItemTokens   int
	Unique       int // different requests
	SharedPrefix bool
	IDs          bool
}

// Alphabet is two tokens that stay what they are wherever they stand.
type Alphabet struct {
	Text [2]string
	ID   [2]int64
}

// Prompt is one request, before it is a body.
type Prompt struct {
	Query    string
	Items    []string
	QueryIDs []int64   // with ItemIDs: in place of text
	ItemIDs  [][]int64 // not nil: ids
	Labels   []int64   // nil: those of the run
	Messages []Message // chat
	// Tokens of all items together, as the server counts them; 0: not known.
	Tokens int
}

// Message of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// count is how many items the request has.
func (p Prompt) count() int {
	switch {
	case p.Messages != nil:
		return 1
	case p.ItemIDs != nil:
		return len(p.ItemIDs)
	}
	return len(p.Items)
}

// joined are the texts that the server makes ids of; nil where it is given ids.
func (p Prompt) joined() []string {
	var texts []string
	for _, item := range p.Items {
		texts = append(texts, p.Query+item)
	}
	return texts
}

// maxCells bounds the work of a shape: tokens of all its requests.
const maxCells = 1 << 28

func (s Shape) check() error {
	if _, ok := paths[s.API]; !ok {
		return fmt.Errorf("api is %q, expected score, completions or chat", s.API)
	}
	for _, n := range []struct {
		name         string
		value, least int
	}{{"items", s.Items, 1}, {"query tokens", s.QueryTokens, 0}, {"item tokens", s.ItemTokens, 1}, {"unique requests", s.Unique, 1}} {
		if n.value < n.least || n.value > maxCells {
			return fmt.Errorf("%s is %d, expected %d to %d", n.name, n.value, n.least, maxCells)
		}
	}
	if float64(s.Items)*float64(s.Unique)*float64(s.QueryTokens+s.ItemTokens) > maxCells {
		return fmt.Errorf("%d requests of %d items of %d tokens are more than %d tokens in all", s.Unique, s.Items, s.QueryTokens+s.ItemTokens, maxCells)
	}
	if s.API == Chat && (s.Items != 1 || s.IDs) {
		return errors.New("a chat request has one prompt of text, expected 1 item and no ids")
	}
	queries, items := s.codes()
	if queries > room(s.QueryTokens) {
		return fmt.Errorf("query tokens is %d, which is too few to tell %d queries apart", s.QueryTokens, queries)
	}
	if items > room(s.ItemTokens) {
		return fmt.Errorf("item tokens is %d, which is too few to tell %d items apart", s.ItemTokens, items)
	}
	return nil
}

// codes is how many different queries and items there must be.
func (s Shape) codes() (queries, items int) {
	switch {
	case s.SharedPrefix:
		return 1, s.Unique * s.Items
	case s.Unique > 1:
		return s.Unique, s.Items
	}
	return 1, 1
}

// room is how many texts of n tokens of an alphabet there are, as far as it matters.
func room(n int) int { return 1 << min(n, 40) }

// Prompts makes the requests of a shape.
func (s Shape) Prompts(a Alphabet) ([]Prompt, error) {
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	_, different := s.codes()
	prompts := make([]Prompt, s.Unique)
	for u := range prompts {
		query := u
		if s.SharedPrefix {
			query = 0
		}
		p := &prompts[u]
		p.Query, p.QueryIDs = a.text(query, s.QueryTokens), a.ids(query, s.QueryTokens)
		for i := range s.Items {
			item := i
			switch {
			case different == 1:
				item = 0
			case s.SharedPrefix:
				item += u * s.Items
			}
			p.Items, p.ItemIDs = append(p.Items, a.text(item, s.ItemTokens)), append(p.ItemIDs, a.ids(item, s.ItemTokens))
		}
		p.Tokens = s.Items * (s.QueryTokens + s.ItemTokens)
		s.keep(p)
	}
	return prompts, nil
}

// keep leaves the form that is sent.
func (s Shape) keep(p *Prompt) {
	switch {
	case s.IDs:
		p.Query, p.Items = "", nil
	case s.API == Chat:
		*p = Prompt{Messages: []Message{{Role: "user", Content: p.Query + p.Items[0]}}}
	default:
		p.QueryIDs, p.ItemIDs = nil, nil
	}
}

// digits are n binary digits of a number, the least first.
func digits(number, n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = number & 1
		number >>= 1
	}
	return list
}

func (a Alphabet) text(number, n int) string {
	var b strings.Builder
	for _, d := range digits(number, n) {
		b.WriteString(a.Text[d])
	}
	return b.String()
}

func (a Alphabet) ids(number, n int) []int64 {
	list := make([]int64, n)
	for i, d := range digits(number, n) {
		list[i] = a.ID[d]
	}
	return list
}

// candidates of an alphabet: special tokens, which nothing merges with, of Qwen
// and of the vocabularies of this module, of Llama, of others.
var candidates = []string{"<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|begin_of_text|>", "</s>", "<s>", "<eos>", "<bos>"}

// chooseAlphabet takes the first two candidates that are one token alone and
// beside each other.
func chooseAlphabet(tokenize func([]string) ([][]int64, error)) (Alphabet, error) {
	lists, err := tokenize(candidates)
	if err != nil {
		return Alphabet{}, err
	}
	var a Alphabet
	n := 0
	for i, ids := range lists {
		if len(ids) == 1 && n < 2 && (n == 0 || ids[0] != a.ID[0]) {
			a.Text[n], a.ID[n] = candidates[i], ids[0]
			n++
		}
	}
	if n < 2 {
		return Alphabet{}, fmt.Errorf("scoring: no two of %q are one token each for the server's tokenizer, which says %v; give a dataset", candidates, lists)
	}
	const probe = 0b0011_0100_1101
	together, err := tokenize([]string{a.text(probe, 16)})
	if err != nil {
		return Alphabet{}, err
	}
	if want := a.ids(probe, 16); !slices.Equal(together[0], want) {
		return Alphabet{}, fmt.Errorf("scoring: %q and %q are one token each alone but %v in a row, expected %v; give a dataset", a.Text[0], a.Text[1], together[0], want)
	}
	return a, nil
}

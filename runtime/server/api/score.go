package api

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// scoreRequest is a body of /v1/score.
type scoreRequest struct {
	model   string
	items   []manager.Item
	batch   bool // the items were a list
	labels  []int64
	softmax bool
}

// parseScore reads a body. rid, extra_key and cache_salt are as in /generate
// (SGLang's ScoringRequest has none of them, and ignores them). A label may be any
// id that the model has a logit for; SGLang's limit is the tokenizer's vocab_size,
// which for Qwen leaves added tokens out.
func (a *api) parseScore(f *fields) (*scoreRequest, error) {
	s := &scoreRequest{model: f.name("model", "default"), softmax: f.flag("apply_softmax", false)}
	itemFirst := f.flag("item_first", false)
	f.refuse("embed_override_token_id", "query_embed_overrides", "item_embed_overrides", "return_pooled_hidden_states")
	if err := s.readLabels(f, a.Info.VocabSize); err != nil {
		return nil, err
	}
	if _, has := f.get("items"); !has && f.err == nil {
		return nil, invalid("items", "items must be provided")
	}
	if err := s.readPrompts(f, a.Info.VocabSize, itemFirst, a.Args.MaxBodyBytes); err != nil {
		return nil, err
	}
	name(f, s.items, s.batch)
	for i := range s.items {
		it := &s.items[i]
		it.Params = request.NewSamplingParams()
		it.Params.MaxNewTokens = 0
		it.ReturnLogprob, it.LogprobStartLen, it.TokenIDsLogprob = true, -1, s.labels
	}
	return s, f.fault()
}

func (s *scoreRequest) readLabels(f *fields, vocab int) error {
	raw, has := f.get("label_token_ids")
	if !has {
		if f.err != nil {
			return f.err
		}
		return invalid("label_token_ids", "label_token_ids must be provided")
	}
	list, fine := parseIDs(raw)
	if !fine || len(list) == 0 {
		f.wrong("label_token_ids", raw, "a list of at least one token id, integers")
		return f.err
	}
	for _, id := range list {
		if id < 0 || id >= int64(vocab) {
			return invalid("label_token_ids", "Token ID %d is out of vocabulary (vocab size: %d)", id, vocab)
		}
	}
	s.labels = list
	return nil
}

// readPrompts joins the query and each item: text with text, before it is made
// ids (so that a token may reach over the seam), or ids with ids. All prompts together
// may be as large as those of a body could be that has each of them whole: a long query
// joined with many items would fill the memory.
func (s *scoreRequest) readPrompts(f *fields, vocab int, itemFirst bool, most int64) error {
	items, _ := f.get("items")
	s.batch = len(items) > 0 && items[0] == '['
	texts, isText := textItems(items)
	lists, isIDs := idItems(items)
	if len(texts) == 0 && len(lists) == 0 && (isText || isIDs) {
		return f.fault()
	}
	query, _ := f.get("query")
	if n := len(texts) + len(lists); n > maxAnswers {
		f.fail("items", "has %d, expected at most %d", n, maxAnswers)
		return f.fault()
	}
	switch {
	case isText && query != nil && query[0] == '"':
		text := f.text("query", "")
		if checkJoined(f, "bytes", len(text), texts, most); f.err == nil {
			s.joinTexts(text, texts, itemFirst)
		}
	case isIDs && query != nil && query[0] == '[':
		ids := f.ids("query", vocab)
		for i, list := range lists {
			f.checkIDs(element("items", i, true), list, vocab)
		}
		if checkJoined(f, "ids", len(ids), lists, most/bytesOfID); f.err == nil {
			s.joinIDs(ids, lists, itemFirst)
		}
	case f.err == nil:
		return invalid("items", "Invalid combination of query/items types for score_request.")
	}
	return f.fault()
}

// bytesOfID is how many bytes of JSON an id has at least, with its comma.
const bytesOfID = 2

// checkJoined adds up the prompts that a query of n bytes or ids makes with the items.
func checkJoined[T ~string | ~[]int64](f *fields, unit string, n int, items []T, most int64) {
	sum := int64(n) * int64(len(items))
	for _, item := range items {
		sum += int64(len(item))
	}
	if sum > most {
		f.fail("query", "makes prompts of %d %s together with the %d items, expected at most %d", sum, unit, len(items), most)
	}
}

func (s *scoreRequest) joinTexts(query string, items []string, itemFirst bool) {
	for _, item := range items {
		if itemFirst {
			s.items = append(s.items, manager.Item{Text: item + query})
		} else {
			s.items = append(s.items, manager.Item{Text: query + item})
		}
	}
}

func (s *scoreRequest) joinIDs(query []int64, items [][]int64, itemFirst bool) {
	for _, item := range items {
		if itemFirst {
			s.items = append(s.items, manager.Item{InputIDs: slices.Concat([]int64{}, item, query)})
		} else {
			s.items = append(s.items, manager.Item{InputIDs: slices.Concat([]int64{}, query, item)})
		}
	}
}

// textItems reads a string, which is one item, or a list of strings.
func textItems(raw json.RawMessage) ([]string, bool) {
	if raw == nil || raw[0] != '"' {
		if raw == nil {
			return nil, false
		}
		return parseList[string](raw)
	}
	var one string
	err := json.Unmarshal(raw, &one)
	return []string{one}, err == nil
}

// idItems reads a list of lists of ids.
func idItems(raw json.RawMessage) ([][]int64, bool) {
	if raw == nil || raw[0] != '[' {
		return nil, false
	}
	if !listOfLists(raw) {
		return nil, false
	}
	lists, _, fine := parsePrompts(raw)
	return lists, fine
}

type scoreResponse struct {
	Scores [][]float64 `json:"scores"`
	Model  string      `json:"model"`
	Usage  usage       `json:"usage"`
	Object string      `json:"object"`
}

// score answers POST /v1/score: items in order, in each the labels in order.
func (a *api) score(e *exchange) error {
	f, err := e.fields()
	if err != nil {
		return err
	}
	s, err := a.parseScore(f)
	if err != nil {
		return err
	}
	out := scoreResponse{Scores: make([][]float64, len(s.items)), Model: s.model, Object: "scoring"}
	if len(s.items) == 0 {
		return e.json(http.StatusOK, &out)
	}
	call, err := a.Service.Submit(e.ctx(), s.items, 1)
	if err != nil {
		return err
	}
	defer call.Close()
	t := newTally(len(s.items), 1)
	last := make([]*manager.Position, len(s.items))
	err = drive(e.ctx(), call, func(u *manager.Update) error {
		t.add(u)
		if len(u.OutputLogprobs) > 0 {
			last[u.Index] = &u.OutputLogprobs[0]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, at := range last {
		if out.Scores[i], err = s.scores(at); err != nil {
			return internal("item %d: %s", i, err)
		}
	}
	out.Usage = newUsage(t.usage().Prompt, 0)
	return e.json(http.StatusOK, &out)
}

// scores are probabilities over the vocabulary, or with softmax over the labels.
func (s *scoreRequest) scores(at *manager.Position) ([]float64, error) {
	if at == nil {
		return nil, fmt.Errorf("no log-probabilities came, expected those of %d labels", len(s.labels))
	}
	known := make(map[int64]float64, len(at.IDs))
	for _, t := range at.IDs {
		known[t.ID] = t.Val
	}
	out := make([]float64, len(s.labels))
	for i, label := range s.labels {
		v, has := known[label]
		if !has {
			v = math.Inf(-1) // a score of 0, as in SGLang
		}
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("the log-probability of token %d is %v, expected a number", label, v)
		}
		out[i] = v
	}
	if s.softmax {
		return softmax(out)
	}
	for i, v := range out {
		out[i] = math.Exp(v)
	}
	return out, nil
}

func softmax(v []float64) ([]float64, error) {
	most, sum := slices.Max(v), 0.0
	if math.IsInf(most, -1) {
		return nil, fmt.Errorf("no label has a probability, expected one above 0 for apply_softmax")
	}
	for i := range v {
		v[i] = math.Exp(v[i] - most)
		sum += v[i]
	}
	for i := range v {
		v[i] /= sum
	}
	return v, nil
}

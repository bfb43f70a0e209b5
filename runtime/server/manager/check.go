package manager

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"unicode/utf8"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/sampling"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// maxCopies is the largest n, OpenAI's.
const maxCopies = 128

// prepare makes the scheduler's requests of items, and checks what can be known
// before a text is tokenized. A request of a text has no ids yet: tokenize.
func (m *Manager) prepare(items []Item, n int) ([]request.TokenizedGenerateReqInput, error) {
	if n < 1 || n > maxCopies {
		return nil, badRequest("n is %d, expected 1 to %d", n, maxCopies)
	}
	if len(items) == 0 {
		return nil, badRequest("the batch has no items, expected at least one")
	}
	if err := checkRIDs(items); err != nil {
		return nil, err
	}
	reqs := make([]request.TokenizedGenerateReqInput, len(items))
	for i := range items {
		if err := m.untokenized(&reqs[i], &items[i]); err != nil {
			return nil, err.of(i, len(items))
		}
	}
	return reqs, nil
}

// of names the item that an error is of, where there are several.
func (e *Error) of(item, items int) *Error {
	if items > 1 {
		e.Message = fmt.Sprintf("item %d: %s", item, e.Message)
	}
	return e
}

func checkRIDs(items []Item) error {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		if item.RID == "" {
			continue
		}
		if !utf8.ValidString(item.RID) {
			return badRequest("rid is %.100q, expected valid UTF-8", item.RID)
		}
		if first, twice := seen[item.RID]; twice {
			return badRequest("rid %.100q is that of item %d and of item %d, expected one each", item.RID, first, i)
		}
		seen[item.RID] = i
	}
	return nil
}

// untokenized fills in the request for an item, but for the ids of a text.
func (m *Manager) untokenized(r *request.TokenizedGenerateReqInput, item *Item) *Error {
	*r = request.TokenizedGenerateReqInput{
		RID:             item.RID,
		HTTPWorkerIPC:   m.config.IPC,
		SamplingParams:  item.Params,
		ReturnLogprob:   item.ReturnLogprob,
		LogprobStartLen: item.LogprobStartLen,
		TopLogprobsNum:  item.TopLogprobsNum,
		TokenIDsLogprob: item.TokenIDsLogprob,
		Stream:          item.Stream,
		ExtraKey:        item.ExtraKey,
		CacheSalt:       item.CacheSalt,
		NoLogs:          item.NoLogs,
	}
	if r.RID == "" {
		r.RID = newRID()
	}
	if err := m.checkParams(r); err != nil {
		return err
	}
	if item.InputIDs != nil {
		return m.prompt(r, item.InputIDs)
	}
	if !utf8.ValidString(item.Text) {
		return badRequest("text has a byte at %d that is no UTF-8, expected valid UTF-8", invalidAt(item.Text))
	}
	if err := CheckLength(m.config.Tokenizer, m.config.Limits.ContextLength, item.Text, item.Params.MaxNewTokens); err != nil {
		return err
	}
	if item.Text == "" {
		return badRequest("text has no tokens, expected at least one")
	}
	return nil
}

// tokenizeAll makes requests complete before any of them is sent.
func (m *Manager) tokenizeAll(reqs []request.TokenizedGenerateReqInput, items []Item) error {
	for i := range reqs {
		if err := m.tokenize(reqs, items, i); err != nil {
			return err
		}
	}
	return nil
}

// tokenize gives request i the ids of its item's text; it may have some already.
func (m *Manager) tokenize(reqs []request.TokenizedGenerateReqInput, items []Item, i int) error {
	if reqs[i].InputIDs != nil {
		return nil
	}
	ids, err := m.config.Tokenizer.EncodePrompt(items[i].Text)
	if err != nil {
		return badRequest("text cannot be tokenized: %v", err).of(i, len(items))
	}
	if len(ids) == 0 {
		return badRequest("text has no tokens, expected at least one").of(i, len(items))
	}
	if err := m.prompt(&reqs[i], ids); err != nil {
		return err.of(i, len(items))
	}
	return nil
}

// prompt gives a request its ids, and checks them and what depends on their number.
func (m *Manager) prompt(r *request.TokenizedGenerateReqInput, ids []int64) *Error {
	if len(ids) == 0 {
		return badRequest("input_ids is empty, expected at least one id")
	}
	for i, id := range ids {
		if id < 0 || id >= int64(m.config.Limits.VocabSize) {
			return badRequest("input_ids[%d] is %d, expected 0 to %d", i, id, m.config.Limits.VocabSize-1)
		}
	}
	if r.LogprobStartLen > len(ids) {
		return badRequest("logprob_start_len is %d, expected -1 to %d, the number of prompt tokens", r.LogprobStartLen, len(ids))
	}
	r.InputIDs = ids
	if err := m.fit(r); err != nil {
		return err
	}
	return checkLogprobs(r)
}

// maxLogprobs is how many log-probabilities an item may have. A row holds them all where
// a client wants none before the end; a number and its id take up to 14 bytes, so that
// its message stays below half of what a transport sends.
const maxLogprobs = 1 << 21

// checkLogprobs refuses what no row can hold: it is for an item whose lengths fit.
func checkLogprobs(r *request.TokenizedGenerateReqInput) *Error {
	if !r.ReturnLogprob {
		return nil
	}
	input := 1 // logprob_start_len -1
	if r.LogprobStartLen >= 0 {
		input = len(r.InputIDs) - r.LogprobStartLen
	}
	positions, each := input+r.SamplingParams.MaxNewTokens, 1+r.TopLogprobsNum+len(r.TokenIDsLogprob)
	if positions > maxLogprobs/each {
		return badRequest("log-probabilities of %d tokens at each of %d positions (from logprob_start_len to max_new_tokens), expected at most %d in all", each, positions, maxLogprobs)
	}
	return nil
}

// invalidAt is where the first byte lies that is no UTF-8.
func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}

// checkParams looks at everything that does not depend on the prompt.
func (m *Manager) checkParams(r *request.TokenizedGenerateReqInput) *Error {
	p, vocab := &r.SamplingParams, m.config.Limits.VocabSize
	s := model.Sampling{
		Temperature: p.Temperature, TopP: p.TopP, TopK: p.TopK, MinP: p.MinP,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, RepetitionPenalty: p.RepetitionPenalty,
		MinNewTokens: p.MinNewTokens, StopTokenIDs: p.StopTokenIDs, LogitBias: p.LogitBias, Seed: p.SamplingSeed,
	}
	if err := sampling.Check(&s, p.MaxNewTokens, vocab); err != nil {
		return badRequest("%v", err)
	}
	if err := sampling.CheckLogprobs(model.Logprobs{Top: r.TopLogprobsNum, IDs: r.TokenIDsLogprob}, vocab); err != nil {
		return badRequest("%v", err)
	}
	if p.StreamInterval < 0 {
		return badRequest("stream_interval is %d, expected at least 0", p.StreamInterval)
	}
	if r.LogprobStartLen < -1 {
		return badRequest("logprob_start_len is %d, expected at least -1", r.LogprobStartLen)
	}
	for i, stop := range p.Stop {
		if stop == "" || !utf8.ValidString(stop) {
			return badRequest("stop[%d] is %.100q, expected text of valid UTF-8 that is not empty", i, stop)
		}
	}
	return nil
}

// fit refuses a prompt that is too long and cuts max_new_tokens to what the
// context has room for, by the scheduler's rule: one token less than the context,
// and room for one new token if any is wanted.
func (m *Manager) fit(r *request.TokenizedGenerateReqInput) *Error {
	p, prompt, context := &r.SamplingParams, len(r.InputIDs), m.config.Limits.ContextLength
	if prompt > allowed(context, p.MaxNewTokens) {
		return tooLong("", prompt, context, p.MaxNewTokens)
	}
	room := context - 1
	p.MaxNewTokens = min(p.MaxNewTokens, room-prompt)
	// The end comes by length then, and until then no end is allowed: the same text.
	p.MinNewTokens = min(p.MinNewTokens, p.MaxNewTokens)
	return nil
}

// allowed is how many tokens a prompt may have.
func allowed(context, maxNew int) int { return context - 1 - min(maxNew, 1) }

func tooLong(least string, prompt, context, maxNew int) *Error {
	return badRequest("the prompt has %s%d tokens and max_new_tokens is %d, expected at most %d prompt tokens in a context_length of %d",
		least, prompt, maxNew, allowed(context, maxNew), context)
}

// CheckLength refuses a text that is too long however it is cut into tokens, so that
// nobody tokenizes tens of megabytes to learn that.
func CheckLength(t Tokenizer, context int, text string, maxNew int) *Error {
	if least := t.LeastTokens(text); least > allowed(context, maxNew) {
		return tooLong("at least ", least, context, maxNew)
	}
	return nil
}

// newRID makes a random UUID (version 4), without dashes as SGLang has it.
func newRID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never returns an error: package crypto/rand ends the program instead
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return hex.EncodeToString(b[:])
}

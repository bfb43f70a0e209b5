package api

import (
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
)

// weightVersion is SGLang's name for weights that were never updated.
const weightVersion = "default"

// wanted says what a client asked to see of logprobs.
type wanted struct {
	logprobs, top, ids, text bool
	tokenizer                backend.Tokenizer
}

// answer gathers one index of a /generate answer as JSON: what an update adds is
// appended, so that a chunk with everything so far costs a copy, not an encoding.
type answer struct {
	want wanted
	text []byte // escaped
	ids  []byte // joined by commas, as is all that follows

	inTokens, inTop, inIDs    []byte
	outTokens, outTop, outIDs []byte

	rid                 string
	prompt, completion  int
	cached, retractions int
	finish              *manager.Finish
	latency             float64
	scratch             []byte
}

// add appends what is new.
func (a *answer) add(u *manager.Update) {
	a.text = appendEscaped(a.text, u.Text)
	for _, id := range u.OutputIDs {
		a.ids = appendComma(a.ids)
		a.ids = appendInt(a.ids, int(id))
	}
	if a.want.logprobs {
		a.inTokens, a.inTop, a.inIDs = a.positions(u.InputLogprobs, a.inTokens, a.inTop, a.inIDs)
		a.outTokens, a.outTop, a.outIDs = a.positions(u.OutputLogprobs, a.outTokens, a.outTop, a.outIDs)
	}
	a.rid, a.prompt, a.completion = u.RID, u.PromptTokens, u.CompletionTokens
	a.cached, a.retractions, a.finish = u.CachedTokens, u.Retractions, u.Finish
	a.latency = u.Latency.Seconds()
}

// forget drops what was written, for a stream of what is new; the prompt's
// log-probabilities stay, as whoever joins such a stream takes the last chunk's.
func (a *answer) forget() {
	a.text, a.ids = a.text[:0], a.ids[:0]
	a.outTokens, a.outTop, a.outIDs = a.outTokens[:0], a.outTop[:0], a.outIDs[:0]
}

func appendComma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

// positions appends triples of tokens, and the lists of triples beside them.
func (a *answer) positions(all []manager.Position, tokens, top, ids []byte) (t, p, i []byte) {
	for n := range all {
		at := &all[n]
		tokens = a.triple(appendComma(tokens), at.Token, at.Null)
		if a.want.top {
			top = a.triples(appendComma(top), at.Top, at.Null)
		}
		if a.want.ids {
			ids = a.triples(appendComma(ids), at.IDs, at.Null)
		}
	}
	return tokens, top, ids
}

// triples appends a list of triples, null for the first input token.
func (a *answer) triples(dst []byte, all []manager.TokenLogprob, null bool) []byte {
	if null {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, t := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = a.triple(dst, t, false)
	}
	return append(dst, ']')
}

// triple appends [logprob, id, text].
func (a *answer) triple(dst []byte, t manager.TokenLogprob, null bool) []byte {
	dst = append(dst, '[')
	if null {
		dst = append(dst, "null"...)
	} else {
		dst = appendFloat(dst, t.Val)
	}
	dst = append(dst, ',')
	dst = appendInt(dst, int(t.ID))
	dst = append(dst, ',')
	if !a.want.text {
		return append(dst, "null]"...)
	}
	a.scratch = a.want.tokenizer.AppendDecode(a.scratch[:0], []int64{t.ID}, false, true)
	return append(appendString(dst, string(a.scratch)), ']')
}

// appendJSON appends the object; an index below 0 is not shown.
func (a *answer) appendJSON(dst []byte, index int) []byte {
	dst = append(append(append(dst, `{"text":"`...), a.text...), `","output_ids":[`...)
	dst = append(append(dst, a.ids...), `],"meta_info":{"id":`...)
	dst = appendString(dst, a.rid)
	dst = appendFinish(append(dst, `,"finish_reason":`...), a.finish)
	dst = appendInt(append(dst, `,"prompt_tokens":`...), a.prompt)
	dst = append(dst, `,"weight_version":"`+weightVersion+`","num_retractions":`...)
	dst = appendInt(dst, a.retractions)
	dst = appendInt(append(dst, `,"reasoning_tokens":0,"completion_tokens":`...), a.completion)
	dst = appendInt(append(dst, `,"cached_tokens":`...), a.cached)
	dst = a.appendLogprobs(dst)
	if a.finish != nil {
		dst = appendFloat(append(dst, `,"e2e_latency":`...), a.latency)
	}
	dst = append(dst, '}')
	if index >= 0 {
		dst = appendInt(append(dst, `,"index":`...), index)
	}
	return append(dst, '}')
}

func (a *answer) appendLogprobs(dst []byte) []byte {
	list := func(name string, list []byte) {
		dst = append(append(append(dst, `,"`...), name...), `":[`...)
		dst = append(append(dst, list...), ']')
	}
	if a.want.logprobs {
		list("input_token_logprobs", a.inTokens)
		list("output_token_logprobs", a.outTokens)
		if a.want.top {
			list("input_top_logprobs", a.inTop)
			list("output_top_logprobs", a.outTop)
		}
		if a.want.ids {
			list("input_token_ids_logprobs", a.inIDs)
			list("output_token_ids_logprobs", a.outIDs)
		}
	}
	return dst
}

// appendFinish appends a finish_reason as the scheduler words it, or null.
func appendFinish(dst []byte, f *manager.Finish) []byte {
	if f == nil {
		return append(dst, "null"...)
	}
	dst = appendString(append(dst, `{"type":`...), f.Type)
	switch f.Type {
	case "stop":
		dst = appendMatched(append(dst, `,"matched":`...), f)
	case "length":
		dst = appendInt(append(dst, `,"length":`...), f.Length)
	case "abort":
		dst = appendString(append(dst, `,"message":`...), f.Message)
		dst = append(dst, `,"status_code":`...)
		if f.StatusCode == 0 {
			dst = append(dst, "null"...)
		} else {
			dst = appendInt(dst, f.StatusCode)
		}
		dst = append(dst, `,"err_type":`...)
		if f.ErrType == "" {
			dst = append(dst, "null"...)
		} else {
			dst = appendString(dst, f.ErrType)
		}
	}
	return append(dst, '}')
}

// appendMatched appends the token or the string that stopped, or null.
func appendMatched(dst []byte, f *manager.Finish) []byte {
	switch {
	case f == nil || f.Type != "stop":
		return append(dst, "null"...)
	case f.MatchedToken != nil:
		return appendInt(dst, int(*f.MatchedToken))
	case f.MatchedText == "": // by a token that is not named
		return append(dst, "null"...)
	}
	return appendString(dst, f.MatchedText)
}

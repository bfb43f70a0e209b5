package api

import (
	"math"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/server/manager"
	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// unsupportedOpenAI are the fields of both OpenAI requests that ask for what this
// server lacks.
var unsupportedOpenAI = []string{
	"lora_path", "session_id", "session_params", "priority",
	"return_hidden_states", "return_routed_experts", "return_cached_tokens_details",
	"return_token_ids", "return_prompt_token_ids", "return_meta_info",
	"bootstrap_host", "bootstrap_port", "bootstrap_room", "data_parallel_rank", "routed_dp_rank",
}

// common is what both OpenAI requests have.
type common struct {
	id, model    string
	n            int
	stream       bool
	includeUsage bool // one more chunk at the end
	eachUsage    bool // usage in every chunk (continuous_usage_stats)
	logprobs     bool
	top          int
	params       request.SamplingParams
	extraKey     string
	cacheSalt    string
}

func (c *common) read(f *fields, prefix string, vocab int) {
	c.model = f.name("model", "default")
	c.stream = f.flag("stream", false)
	if options := f.object("stream_options"); options != nil {
		c.includeUsage = options.flag("include_usage", false)
		c.eachUsage = options.flag("continuous_usage_stats", false)
		f.take(options)
	}
	c.params = request.NewSamplingParams()
	c.n = f.openAISampling(&c.params, vocab)
	c.extraKey = f.text("extra_key", "")
	c.cacheSalt = f.text("cache_salt", "")
	if c.id = f.name("rid", ""); c.id == "" {
		c.id = prefix + strings.ReplaceAll(uuid(), "-", "")
	}
	f.refuse(unsupportedOpenAI...)
}

// limit sets how many tokens are made, and checks the least against it.
func (c *common) limit(f *fields, most int64) {
	c.params.MaxNewTokens = int(most)
	if c.params.MinNewTokens > c.params.MaxNewTokens {
		f.fail("min_tokens", "is %d, expected at most max_tokens, %d", c.params.MinNewTokens, most)
	}
}

// item is a prompt without its text or ids.
func (c *common) item() manager.Item {
	return manager.Item{
		Params: c.params, ReturnLogprob: c.logprobs, TopLogprobsNum: c.top, LogprobStartLen: -1,
		Stream: c.stream, ExtraKey: c.extraKey, CacheSalt: c.cacheSalt,
	}
}

// usage has SGLang's fields in its order.
type usage struct {
	Prompt     int       `json:"prompt_tokens"`
	Total      int       `json:"total_tokens"`
	Completion int       `json:"completion_tokens"`
	Details    *struct{} `json:"prompt_tokens_details"`
	Reasoning  int       `json:"reasoning_tokens"`
}

func newUsage(prompt, completion int) usage {
	return usage{Prompt: prompt, Total: prompt + completion, Completion: completion}
}

func appendUsage(dst []byte, u usage) []byte {
	dst = appendInt(append(dst, `{"prompt_tokens":`...), u.Prompt)
	dst = appendInt(append(dst, `,"total_tokens":`...), u.Total)
	dst = appendInt(append(dst, `,"completion_tokens":`...), u.Completion)
	return append(dst, `,"prompt_tokens_details":null,"reasoning_tokens":0}`...)
}

// tally counts tokens by index.
type tally struct {
	n                  int
	prompt, completion []int
}

func newTally(indices, n int) *tally {
	return &tally{n: n, prompt: make([]int, indices), completion: make([]int, indices)}
}

func (t *tally) add(u *manager.Update) {
	t.prompt[u.Index], t.completion[u.Index] = u.PromptTokens, u.CompletionTokens
}

// usage counts a prompt once for its copies.
func (t *tally) usage() usage {
	prompt, completion := 0, 0
	for i := range t.prompt {
		if i%t.n == 0 {
			prompt += t.prompt[i]
		}
		completion += t.completion[i]
	}
	return newUsage(prompt, completion)
}

func (t *tally) of(index int) usage { return newUsage(t.prompt[index], t.completion[index]) }

// metadata of a unary answer.
type metadata struct {
	WeightVersion string `json:"weight_version"`
}

// matched is the matched_stop of a finish: a token, a string or nil.
func matched(f *manager.Finish) any {
	switch {
	case f == nil || f.Type != "stop":
		return nil
	case f.MatchedToken != nil:
		return *f.MatchedToken
	case f.MatchedText != "":
		return f.MatchedText
	}
	return nil
}

// finishType is "stop", "length", "abort" or nil.
func finishType(f *manager.Finish) *string {
	if f == nil {
		return nil
	}
	return &f.Type
}

// minLogprob stands for the log-probability of what cannot be: JSON has no
// infinity, and clients of these endpoints expect a number. OpenAI's own value.
const minLogprob = -9999.0

func finite(v float64) float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return minLogprob
	}
	return v
}

// speller makes text of single tokens.
type speller struct {
	tokenizer backend.Tokenizer
	scratch   []byte
}

func (s *speller) text(id int64) string {
	s.scratch = s.tokenizer.AppendDecode(s.scratch[:0], []int64{id}, false, true)
	return string(s.scratch)
}

// bytes are the token's own, also where they are no text by themselves: clients join
// those of several tokens to characters. It is a list of numbers, as encoding/json
// makes base64 of []byte.
func (s *speller) bytes(id int64) []int {
	s.scratch = s.tokenizer.AppendBytes(s.scratch[:0], []int64{id}, false)
	list := make([]int, len(s.scratch))
	for i, b := range s.scratch {
		list[i] = int(b)
	}
	return list
}

// head is the part of a stream's chunks that never changes.
func head(object string, c *common, created int64) []byte {
	b := appendString([]byte(`data: {"id":`), c.id)
	b = appendString(append(b, `,"object":`...), object)
	b = appendInt(append(b, `,"created":`...), int(created))
	b = appendString(append(b, `,"model":`...), c.model)
	return append(b, `,"choices":[`...)
}

// appendTail appends the end of a choice and of its chunk; logprobs is JSON.
func appendTail(dst, logprobs []byte, f *manager.Finish, each *usage) []byte {
	dst = append(dst, `,"logprobs":`...)
	if logprobs == nil {
		logprobs = []byte("null")
	}
	dst = append(append(dst, logprobs...), `,"finish_reason":`...)
	if f == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, f.Type)
	}
	dst = appendMatched(append(dst, `,"matched_stop":`...), f)
	dst = append(dst, `}]`...)
	if each != nil {
		dst = appendUsage(append(dst, `,"usage":`...), *each)
	}
	return append(dst, "}\n\n"...)
}

// each is the usage of a chunk, where the client asked for that.
func (c *common) each(t *tally, index int) *usage {
	if !c.eachUsage {
		return nil
	}
	u := t.of(index)
	return &u
}

// endStream sends what a stream ends with.
func (e *exchange) endStream(c *common, head []byte, t *tally) error {
	if c.includeUsage {
		chunk := appendUsage(append(append([]byte(nil), head...), `],"usage":`...), t.usage())
		if err := e.send(append(chunk, "}\n\n"...)); err != nil {
			return err
		}
	}
	return e.done()
}

package api

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// One small body must not ask for a million requests: maxCopies bounds n, to
// OpenAI's limit, and maxAnswers the prompts times n, to as many requests as a
// detokenizer of SGLang's knows. SGLang has neither.
const (
	maxCopies  = 128
	maxAnswers = 1 << 16
)

func (f *fields) checkAnswers(prompts, n int) {
	if prompts*n > maxAnswers {
		f.fail("n", "is %d for %d prompts, expected at most %d answers", n, prompts, maxAnswers)
	}
}

// grammar is what would constrain the output; nothing here does.
var grammar = []string{"json_schema", "regex", "ebnf", "structural_tag", "stop_regex", "custom_params", "custom_logit_processor"}

// nativeKeys are the keys of sampling_params that are read.
var nativeKeys = []string{
	"max_new_tokens", "min_new_tokens", "temperature", "top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty",
	"repetition_penalty", "stop", "stop_token_ids", "ignore_eos", "skip_special_tokens", "spaces_between_special_tokens",
	"no_stop_trim", "logit_bias", "stream_interval", "sampling_seed", "n",
}

// sampling reads the parameters that /generate's sampling_params and the OpenAI
// requests have under the same name.
func (f *fields) sampling(p *request.SamplingParams, vocab int) {
	between := func(least, most float64) func(float64) bool {
		return func(v float64) bool { return v >= least && v <= most }
	}
	above := func(least, most float64) func(float64) bool {
		return func(v float64) bool { return v > least && v <= most }
	}
	p.Temperature = f.number("temperature", p.Temperature, "of at least 0", between(0, math.MaxFloat64))
	p.TopP = f.number("top_p", p.TopP, "above 0, at most 1", above(0, 1))
	p.MinP = f.number("min_p", p.MinP, "from 0 to 1", between(0, 1))
	p.FrequencyPenalty = f.number("frequency_penalty", p.FrequencyPenalty, "from -2 to 2", between(-2, 2))
	p.PresencePenalty = f.number("presence_penalty", p.PresencePenalty, "from -2 to 2", between(-2, 2))
	p.RepetitionPenalty = f.number("repetition_penalty", p.RepetitionPenalty, "above 0, at most 2", above(0, 2))
	f.topK(p)
	p.Stop = f.stop()
	p.StopTokenIDs = f.ids("stop_token_ids", vocab)
	p.IgnoreEOS = f.flag("ignore_eos", p.IgnoreEOS)
	p.SkipSpecialTokens = f.flag("skip_special_tokens", p.SkipSpecialTokens)
	p.SpacesBetweenSpecialTokens = f.flag("spaces_between_special_tokens", p.SpacesBetweenSpecialTokens)
	p.NoStopTrim = f.flag("no_stop_trim", p.NoStopTrim)
	p.LogitBias = f.logitBias(vocab)
	f.refuse(grammar...)
}

func (f *fields) topK(p *request.SamplingParams) {
	const most = math.MaxInt32
	k := f.whole("top_k", int64(p.TopK), -1, most)
	if k == 0 {
		f.fail("top_k", "is 0, expected -1 (the whole vocabulary) or at least 1")
		return
	}
	p.TopK = int(k)
}

func (f *fields) stop() []string {
	list := f.texts("stop", true)
	if slices.Contains(list, "") {
		f.fail("stop", `has an empty string, expected none: it would match at once`)
	}
	return list
}

func (f *fields) logitBias(vocab int) map[int64]float64 {
	inner := f.object("logit_bias")
	if inner == nil || len(inner.raw) == 0 {
		return nil
	}
	bias := make(map[int64]float64, len(inner.raw))
	for _, key := range sortedKeys(inner.raw) {
		id, err := strconv.ParseInt(key, 10, 64)
		if err != nil || id < 0 || id >= int64(vocab) {
			f.fail("logit_bias", "has the key %s, expected token ids from 0 to %d", quote(key), vocab-1)
			return nil
		}
		v, err := parseNumber(inner.raw[key])
		if err != nil {
			inner.wrong(key, inner.raw[key], "a number")
			f.take(inner)
			return nil
		}
		bias[id] = v
	}
	return bias
}

// nativeSampling reads an object of sampling_params, and n.
func (f *fields) nativeSampling(p *request.SamplingParams, vocab int) (n int) {
	const most = math.MaxInt32
	f.onlyNative()
	f.sampling(p, vocab)
	p.MaxNewTokens = int(f.whole("max_new_tokens", int64(p.MaxNewTokens), 0, most))
	p.MinNewTokens = int(f.whole("min_new_tokens", 0, 0, most))
	if p.MinNewTokens > p.MaxNewTokens {
		f.fail("min_new_tokens", "is %d, expected at most max_new_tokens, %d", p.MinNewTokens, p.MaxNewTokens)
	}
	p.StreamInterval = int(f.whole("stream_interval", 0, 1, most))
	p.SamplingSeed = f.seed("sampling_seed")
	return int(f.whole("n", 1, 1, maxCopies))
}

// onlyNative refuses keys that SGLang's SamplingParams does not have either: a
// misspelt limit would be the default's 128 tokens.
func (f *fields) onlyNative() {
	for _, key := range sortedKeys(f.raw) {
		if !slices.Contains(nativeKeys, key) && !slices.Contains(grammar, key) {
			f.fail(show(json.RawMessage(key)), "is unknown, expected one of %s", strings.Join(nativeKeys, ", "))
			return
		}
	}
}

func (f *fields) seed(name string) *int64 {
	if _, has := f.get(name); !has {
		return nil
	}
	seed := f.whole(name, 0, math.MinInt64, math.MaxInt64)
	return &seed
}

// openAISampling reads the parameters of an OpenAI request, and n. Each limit is
// the caller's: max_tokens has a default that depends on the request.
func (f *fields) openAISampling(p *request.SamplingParams, vocab int) (n int) {
	const most = math.MaxInt32
	f.sampling(p, vocab)
	p.MinNewTokens = int(f.whole("min_tokens", 0, 0, most))
	p.SamplingSeed = f.seed("seed")
	f.responseFormat()
	return int(f.whole("n", 1, 1, maxCopies))
}

// responseFormat takes text only.
func (f *fields) responseFormat() {
	inner := f.object("response_format")
	if inner == nil {
		return
	}
	if kind := inner.text("type", ""); kind != "text" && inner.err == nil {
		f.fail("response_format.type", `is %s, expected "text": this server has no grammars`, show(orNull(inner.raw["type"])))
	}
	f.take(inner)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

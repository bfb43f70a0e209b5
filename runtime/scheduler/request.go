package scheduler

import (
	"slices"
	"strconv"

	"github.com/fanoutbench/fanoutbench/runtime/kvcache"
	"github.com/fanoutbench/fanoutbench/runtime/model"
)

type state int

const (
	waiting state = iota
	extending
	chunked
	running
	finished
)

// request is one request from Receive to its last row.
type request struct {
	in      *TokenizedGenerateReqInput
	arrival uint64
	state   state
	tokens  []int64 // the prompt, then what was generated
	prompt  int     // how many of tokens are the prompt
	maxNew  int
	extra   string

	// What the model computed: slots of the first tokens. In a batch that is
	// computed, with those that it writes.
	slots     []int32
	protected int           // of slots, the tree's under this request's lock
	node      *kvcache.Node // the locked one; nil: none

	prefix    []int32       // the matched prefix, while admission is tried
	at        *kvcache.Node // its node
	extend    int           // tokens to compute in the batch being made
	computing bool          // in the batch that is computed

	cached      int // prompt tokens that were in the cache when first admitted
	admitted    bool
	retractions int

	logprobStart int
	inputDone    bool // input logprobs are complete
	input        []model.Position
	inputSent    bool
	output       []model.Position
	outputSent   int

	refused bool // by Receive
	sent    int  // tokens at the last row; 0: there was none
	rows    int  // how many there were
	times   TimeStats
	stop    *stopper      // nil: no stop strings
	pending *FinishReason // an abort, while computed
	finish  *FinishReason
	record  *Record
}

func newRequest(in *TokenizedGenerateReqInput, arrival uint64) *request {
	r := &request{
		in:      in,
		arrival: arrival,
		tokens:  slices.Clone(in.InputIDs),
		prompt:  len(in.InputIDs),
		maxNew:  in.SamplingParams.MaxNewTokens,
	}
	if in.ExtraKey != "" || in.CacheSalt != "" {
		r.extra = strconv.Itoa(len(in.ExtraKey)) + ":" + in.ExtraKey + in.CacheSalt
	}
	r.logprobStart = in.LogprobStartLen
	if r.logprobStart < 0 {
		r.logprobStart = r.prompt - 1
		if r.maxNew == 0 {
			r.logprobStart = r.prompt
		}
	}
	return r
}

// promptTail is the end of the prompt, which a first row has before its own ids.
func (r *request) promptTail() []int64 {
	return r.tokens[r.prompt-min(promptTail, r.prompt) : r.prompt : r.prompt]
}

// generated is the number of tokens the request has so far.
func (r *request) generated() int { return len(r.tokens) - r.prompt }

// remaining is the number of new tokens that admission reckons with.
func (r *request) remaining() int {
	return min(max(r.maxNew-r.generated(), 0), clipMaxNewTokens)
}

func (r *request) key(n int) kvcache.Key { return kvcache.Key{Tokens: r.tokens[:n], Extra: r.extra} }

// matchable is how many tokens may come from the cache.
func (r *request) matchable() int {
	n := len(r.tokens) - 1
	if r.in.ReturnLogprob && !r.inputDone {
		n = min(n, r.logprobStart)
	}
	return n
}

// work makes the request's part of a batch: all tokens from start to the end of
// its slots.
func (r *request) work(start int) model.Work {
	end := len(r.slots)
	w := model.Work{
		RID:      r.in.RID,
		IDs:      r.tokens[start:end:end],
		Tokens:   r.tokens[:end:end],
		Prompt:   r.prompt,
		Start:    start,
		Slots:    r.slots[:end:end],
		Next:     -1,
		Sample:   end == len(r.tokens),
		Sampling: &r.in.SamplingParams.Sampling,
	}
	if !w.Sample {
		w.Next = r.tokens[end]
	}
	if r.in.ReturnLogprob {
		w.Logprobs = model.Logprobs{Want: true, InputStart: r.logprobStart, Top: r.in.TopLogprobsNum, IDs: r.in.TokenIDsLogprob}
		if r.inputDone {
			w.Logprobs.InputStart = len(r.tokens)
		}
	}
	return w
}

// takeInput keeps what the model says of input tokens.
func (r *request) takeInput(c model.Choice, last bool) {
	if !r.in.ReturnLogprob || r.inputDone {
		return
	}
	if len(r.input) == 0 && r.logprobStart < r.prompt && len(r.slots) > r.logprobStart {
		first := model.Position{Token: model.TokenLogprob{ID: r.tokens[r.logprobStart]}, Null: true}
		r.input = append(r.input, first)
	}
	r.input = append(r.input, c.Input...)
	r.inputDone = last
}

// check says whether the last token ends the request.
func (r *request) check(eos []int64) *FinishReason {
	last := r.tokens[len(r.tokens)-1]
	p := &r.in.SamplingParams
	if r.stop != nil {
		if matched := r.stop.add(last); matched != "" {
			return &FinishReason{Type: FinishStop, MatchedText: matched}
		}
	}
	switch {
	case r.generated() >= r.maxNew:
		return &FinishReason{Type: FinishLength, Length: r.maxNew}
	case slices.Contains(p.StopTokenIDs, last), !p.IgnoreEOS && slices.Contains(eos, last):
		return &FinishReason{Type: FinishStop, Matched: last}
	}
	return nil
}

// Package model says what a scheduler asks of a model: a [Batch] of work in,
// logits or chosen tokens out. It has no model; those are below this folder.
//
// # A batch
//
// One [Work] for each request that takes part in a step. Its IDs are the tokens
// to compute, at the positions Start and following; the keys and values of the
// positions before lie in Slots[:Start], those of IDs are to be written to
// Slots[Start:]. An extend (prefill) has many ids or one, a decode has one.
// Slots are numbers of package kvcache; a model has an array with that many
// places and knows nothing of who owns them. Two works of a batch may share
// slots before their Start, never one that is written.
//
// What a model computes for a request must not depend on the other works of the
// batch, on how the tokens are cut into extends, or on which slots they lie in:
// the sums run in one order whatever the batch, so logits are equal bit for bit.
//
// # Sampling
//
// Where Work.Sample is set the model gives the logits of the work's last
// position, one for each id of the vocabulary, and a sampler chooses; or it
// chooses itself (a simulated device) and fills in Chosen. A chunk of a prompt
// that is not the last needs neither.
//
// # Errors
//
// Forward's error is about the device, not about a request: a scheduler checks
// ids and lengths against [Limits] before. The work of the batch is lost then.
// The model can compute the next one, unless the error is [ErrLost].
// Where one request's token cannot be chosen, its [Choice] has the error. A model
// that holds keys and values calls [Batch.Check] first, so that a batch which breaks
// the rules above changes no slot.
package model

import (
	"errors"
	"fmt"
)

// ErrLost says of Forward's error that the device is of no more use to this process: every
// batch to come would fail.
var ErrLost = errors.New("the device is lost to this process")

// Mode says what kinds of work a batch has.
type Mode int

// The modes of SGLang's ForwardMode that exist here.
const (
	Extend Mode = iota // prompts, or chunks of them
	Decode             // one token of each request
	Mixed              // extends first, then decodes
)

func (m Mode) String() string {
	switch m {
	case Extend:
		return "extend"
	case Decode:
		return "decode"
	case Mixed:
		return "mixed"
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// Batch is one step's work. It is the model's to read until Forward returns.
type Batch struct {
	Mode Mode
	Work []Work
}

// Work is one request's part of a step.
type Work struct {
	RID      string
	IDs      []int64
	Tokens   []int64 // all of the request's, up to the last of IDs
	Prompt   int     // how many of all its tokens are the prompt
	Start    int     // tokens before IDs
	Slots    []int32 // of all positions up to the last of IDs
	Next     int64   // the token behind IDs, -1 where it is to be chosen
	Sample   bool    // the token behind IDs is to be chosen
	Sampling *Sampling
	Logprobs Logprobs
}

// Sampling says how a token is chosen, by SGLang's names and with its defaults'
// meaning: TopK -1 is the whole vocabulary, Temperature 0 is greedy.
type Sampling struct {
	Temperature       float64
	TopP              float64
	TopK              int
	MinP              float64
	FrequencyPenalty  float64
	PresencePenalty   float64
	RepetitionPenalty float64
	MinNewTokens      int // fewer than these do not end with a stop token or EOS: the sampler chooses another
	StopTokenIDs      []int64
	LogitBias         map[int64]float64 // added to the ids' logits
	Seed              *int64            // SGLang's sampling_seed; nil: one is made
}

// Logprobs says which log-probabilities a work wants beside its token.
type Logprobs struct {
	Want       bool
	InputStart int // from this position on, what it says of the token behind it
	Top        int // how many of the most likely
	IDs        []int64
	Tokens     []int64 // all of the request's, up to the last of IDs
	Prompt     int     // how many of all its tokens are the prompt
}

// Output of a step, one entry for each work in its order. A model fills one.
type Output struct {
	Logits [][]float32 // nil where Sample is not set
	Chosen []Choice
}

// Choice is the token after a work, and its log-probabilities where wanted.
type Choice struct {
	Token int64
	Step  Position // of Token
	// Input is for the tokens behind the work's positions from InputStart on, the
	// last one's being Next; without the one that is to be chosen.
	Input []Position
	// Err says why no token can be chosen for this work, whatever becomes of the
	// others. Nothing else counts then.
	Err error
}

// Position has the log-probabilities at one position.
type Position struct {
	Token TokenLogprob
	Null  bool // the first input token has nothing before it
	Top   []TokenLogprob
	IDs   []TokenLogprob
}

// TokenLogprob is an id and the logarithm of its probability.
type TokenLogprob struct {
	ID  int64
	Val float64
}

// Limits of a model.
type Limits struct {
	VocabSize     int     // ids are 0 and up to, not with, this
	ContextLength int     // tokens of a request, prompt and output
	EOS           []int64 // ids that end a text
}

// Check looks at all that a model relies on, for one with so many slots. Its error
// names the rid, the number and what was expected.
func (b *Batch) Check(l Limits, slots int) error {
	if len(b.Work) == 0 {
		return errors.New("a batch without work")
	}
	for i := range b.Work {
		if err := b.Work[i].check(l, slots); err != nil {
			return fmt.Errorf("rid %q: %w", b.Work[i].RID, err)
		}
	}
	return nil
}

func (w *Work) check(l Limits, slots int) error {
	if len(w.IDs) == 0 || w.Start < 0 || len(w.Slots) != w.Start+len(w.IDs) {
		return fmt.Errorf("%d ids behind %d with %d slots, expected at least one id and a slot for each", len(w.IDs), w.Start, len(w.Slots))
	}
	if len(w.Slots) > l.ContextLength {
		return fmt.Errorf("%d tokens, expected at most %d", len(w.Slots), l.ContextLength)
	}
	for _, id := range w.IDs {
		if id < 0 || id >= int64(l.VocabSize) {
			return fmt.Errorf("id %d, expected 0 to %d", id, l.VocabSize-1)
		}
	}
	for _, slot := range w.Slots {
		if slot < 0 || int(slot) >= slots {
			return fmt.Errorf("slot %d, expected 0 to %d", slot, slots-1)
		}
	}
	if w.Next < -1 || w.Next >= int64(l.VocabSize) {
		return fmt.Errorf("token behind is %d, expected -1 or 0 to %d", w.Next, l.VocabSize-1)
	}
	for _, id := range w.Logprobs.IDs {
		if id < 0 || id >= int64(l.VocabSize) {
			return fmt.Errorf("log-probability of id %d, expected 0 to %d", id, l.VocabSize-1)
		}
	}
	return nil
}

// Model computes batches, one after the other.
type Model interface {
	Limits() Limits
	Forward(b *Batch) (Output, error)
}

// Greedy is the id of the largest logit, the lowest one of equals.
func Greedy(logits []float32) int64 {
	best := 0
	for i, v := range logits {
		if v > logits[best] {
			best = i
		}
	}
	return int64(best)
}

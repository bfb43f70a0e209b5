package sim

import (
	"errors"
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// Config of a Model.
type Config struct {
	ContextLength int
	Seed          uint64 // for requests that have none
	Step          StepTime
	Shares        Shares
	Clock         Clock
}

// StepTime says how many seconds a step takes.
type StepTime struct {
	Base       float64
	PerToken   float64 // for each token computed
	PerContext float64 // for each token of the sequences
}

// Seconds of a step.
func (t StepTime) Seconds(tokens, context int) float64 {
	return t.Base + float64(t.PerToken*float64(tokens)) + float64(t.PerContext*float64(context))
}

// Shares of the generated tokens, each 0 to 1 and together at most 1. The rest
// are ASCII characters.
type Shares struct {
	MultiByte float64 // parts of characters of more than one byte
	Empty     float64 // the token without bytes
	Special   float64 // special tokens other than EOS
	Stop      float64 // EOS
}

// Clock is the time, in seconds since any moment, and a way to let it pass.
type Clock interface {
	Now() float64
	SleepUntil(seconds float64) error // returns at once if that is over
}

const mostSeconds = 3600 // of each part of a step time

func (c Config) check() error {
	if c.Clock == nil {
		return errors.New("sim: there is no clock")
	}
	if c.ContextLength < 2 {
		return fmt.Errorf("sim: the context length is %d, expected at least 2", c.ContextLength)
	}
	for _, f := range []struct {
		name  string
		value float64
		most  float64
	}{
		{"the base of the step time", c.Step.Base, mostSeconds},
		{"the step time per token", c.Step.PerToken, mostSeconds},
		{"the step time per token of context", c.Step.PerContext, mostSeconds},
		{"the share of multi-byte tokens", c.Shares.MultiByte, 1},
		{"the share of empty tokens", c.Shares.Empty, 1},
		{"the share of special tokens", c.Shares.Special, 1},
		{"the share of stop tokens", c.Shares.Stop, 1},
	} {
		if f.value >= 0 && f.value <= f.most {
			continue
		}
		if f.most == 1 {
			return fmt.Errorf("sim: %s is %g, expected 0 to 1", f.name, f.value)
		}
		return fmt.Errorf("sim: %s is %g s, expected 0 to %d s", f.name, f.value, mostSeconds)
	}
	if ascii := c.Shares.ascii(); ascii < -1e-9 {
		return fmt.Errorf("sim: the shares of tokens are %g together, expected at most 1", 1-ascii)
	}
	return nil
}

func (s Shares) ascii() float64 { return 1 - s.MultiByte - s.Empty - s.Special - s.Stop }

// The vocabulary.
const (
	emptyID      = 256
	firstStop    = 257
	firstSpecial = 259 // behind the stop tokens
	vocabSize    = 264
)

var specials = []string{"<|endoftext|>", "<|im_end|>", "<|im_start|>", "<think>", "</think>", "<|fim_prefix|>", "<|fim_suffix|>"}

// Vocabulary has the tokens of every simulated device.
func Vocabulary() []tokenizer.Token {
	var tokens []tokenizer.Token
	for id := range int64(256) {
		tokens = append(tokens, tokenizer.Token{ID: id, Bytes: []byte{byte(id)}})
	}
	tokens = append(tokens, tokenizer.Token{ID: emptyID})
	for i, name := range specials {
		tokens = append(tokens, tokenizer.Token{ID: firstStop + int64(i), Bytes: []byte(name), Special: true})
	}
	return tokens
}

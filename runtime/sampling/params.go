package sampling

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// greedyBelow is the temperature under which SGLang takes the largest logit.
const greedyBelow = 1e-6

// Default has what a request has that says nothing (SGLang's SamplingParams).
func Default() model.Sampling {
	return model.Sampling{Temperature: 1, TopP: 1, TopK: -1, RepetitionPenalty: 1}
}

// ParamError says which parameter of a request cannot be.
type ParamError struct {
	Param    string // by SGLang's name
	Value    string
	Expected string
}

func (e *ParamError) Error() string {
	return fmt.Sprintf("%s is %s, expected %s", e.Param, e.Value, e.Expected)
}

// Check names the first parameter that cannot be.
func Check(p *model.Sampling, maxNewTokens, vocabSize int) error {
	if maxNewTokens < 0 {
		return &ParamError{"max_new_tokens", fmt.Sprint(maxNewTokens), "at least 0"}
	}
	if p.MinNewTokens > maxNewTokens {
		return &ParamError{"min_new_tokens", fmt.Sprint(p.MinNewTokens), fmt.Sprintf("0 to max_new_tokens, which is %d", maxNewTokens)}
	}
	return check(p, vocabSize)
}

// check is Check without max_new_tokens. Comparisons with NaN are false, so each
// range asks for what is allowed.
func check(p *model.Sampling, vocabSize int) error {
	for _, f := range []struct {
		name     string
		value    float64
		allowed  bool
		expected string
	}{
		{"temperature", p.Temperature, p.Temperature >= 0 && p.Temperature <= math.MaxFloat64, "a finite number of at least 0"},
		{"top_p", p.TopP, p.TopP > 0 && p.TopP <= 1, "more than 0 and at most 1"},
		{"min_p", p.MinP, p.MinP >= 0 && p.MinP <= 1, "0 to 1"},
		{"frequency_penalty", p.FrequencyPenalty, p.FrequencyPenalty >= -2 && p.FrequencyPenalty <= 2, "-2 to 2"},
		{"presence_penalty", p.PresencePenalty, p.PresencePenalty >= -2 && p.PresencePenalty <= 2, "-2 to 2"},
		{"repetition_penalty", p.RepetitionPenalty, p.RepetitionPenalty > 0 && p.RepetitionPenalty <= 2, "more than 0 and at most 2"},
	} {
		if !f.allowed {
			return &ParamError{f.name, fmt.Sprint(f.value), f.expected}
		}
	}
	if p.TopK != -1 && p.TopK < 1 {
		return &ParamError{"top_k", fmt.Sprint(p.TopK), "-1 (the whole vocabulary) or at least 1"}
	}
	if p.MinNewTokens < 0 {
		return &ParamError{"min_new_tokens", fmt.Sprint(p.MinNewTokens), "at least 0"}
	}
	if err := checkIDs("stop_token_ids", p.StopTokenIDs, vocabSize); err != nil {
		return err
	}
	return checkBias(p.LogitBias, vocabSize)
}

func checkIDs(name string, ids []int64, vocabSize int) error {
	for i, id := range ids {
		if id < 0 || id >= int64(vocabSize) {
			return &ParamError{fmt.Sprintf("%s[%d]", name, i), fmt.Sprint(id), fmt.Sprintf("0 to %d", vocabSize-1)}
		}
	}
	return nil
}

// checkBias names the lowest id that cannot be, so that the message is the same
// each time.
func checkBias(bias map[int64]float64, vocabSize int) error {
	if len(bias) == 0 {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(bias)) {
		if id < 0 || id >= int64(vocabSize) {
			return &ParamError{"an id of logit_bias", fmt.Sprint(id), fmt.Sprintf("0 to %d", vocabSize-1)}
		}
		if v := bias[id]; !(math.Abs(v) <= math.MaxFloat32) {
			return &ParamError{fmt.Sprintf("logit_bias[%d]", id), fmt.Sprint(v), "a finite number that a float32 can hold"}
		}
	}
	return nil
}

// CheckLogprobs names the first thing wanted of log-probabilities that cannot be.
func CheckLogprobs(want model.Logprobs, vocabSize int) error {
	if want.Top < 0 || want.Top > vocabSize {
		return &ParamError{"top_logprobs_num", fmt.Sprint(want.Top), fmt.Sprintf("0 to %d", vocabSize)}
	}
	return checkIDs("token_ids_logprob", want.IDs, vocabSize)
}

// greedy says whether the largest logit is taken, without a random number.
func greedy(p *model.Sampling) bool { return p.Temperature < greedyBelow || p.TopK == 1 }

// temperature is what the logits are divided by.
func temperature(p *model.Sampling) float64 {
	if p.Temperature < greedyBelow {
		return 1
	}
	return p.Temperature
}

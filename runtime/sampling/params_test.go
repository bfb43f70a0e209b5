package sampling

import (
	"errors"
	"math"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

func TestCheckNamesParameterValueAndRange(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, change := range map[string]func(p *model.Sampling){
		"temperature is NaN, expected a finite number of at least 0":    func(p *model.Sampling) { p.Temperature = nan },
		"temperature is -0.5, expected a finite number of at least 0":   func(p *model.Sampling) { p.Temperature = -0.5 },
		"temperature is +Inf, expected a finite number of at least 0":   func(p *model.Sampling) { p.Temperature = inf },
		"top_p is 0, expected more than 0 and at most 1":                func(p *model.Sampling) { p.TopP = 0 },
		"top_p is NaN, expected more than 0 and at most 1":              func(p *model.Sampling) { p.TopP = nan },
		"top_k is 0, expected -1 (the whole vocabulary) or at least 1":  func(p *model.Sampling) { p.TopK = 0 },
		"top_k is -2, expected -1 (the whole vocabulary) or at least 1": func(p *model.Sampling) { p.TopK = -2 },
		"min_p is -0.1, expected 0 to 1":                                func(p *model.Sampling) { p.MinP = -0.1 },
		"min_p is NaN, expected 0 to 1":                                 func(p *model.Sampling) { p.MinP = nan },
		"frequency_penalty is 2.5, expected -2 to 2":                    func(p *model.Sampling) { p.FrequencyPenalty = 2.5 },
		"presence_penalty is NaN, expected -2 to 2":                     func(p *model.Sampling) { p.PresencePenalty = nan },
		"repetition_penalty is 0, expected more than 0 and at most 2":   func(p *model.Sampling) { p.RepetitionPenalty = 0 },
		"min_new_tokens is -1, expected at least 0":                     func(p *model.Sampling) { p.MinNewTokens = -1 },
		"min_new_tokens is 9, expected 0 to max_new_tokens, which is 8": func(p *model.Sampling) { p.MinNewTokens = 9 },
		"stop_token_ids[1] is 10, expected 0 to 9":                      func(p *model.Sampling) { p.StopTokenIDs = []int64{1, 10} },
		"an id of logit_bias is -3, expected 0 to 9":                    func(p *model.Sampling) { p.LogitBias = map[int64]float64{-3: 1, -1: 1, 12: 1} },
		"logit_bias[4] is NaN, expected a finite number that a float32 can hold": func(p *model.Sampling) {
			p.LogitBias = map[int64]float64{5: inf, 4: nan, 3: 1}
		},
		"logit_bias[4] is 1e+39, expected a finite number that a float32 can hold": func(p *model.Sampling) { p.LogitBias = map[int64]float64{4: 1e39} },
	} {
		p := Default()
		change(&p)
		err := Check(&p, 8, 10)
		var param *ParamError
		if !errors.As(err, &param) || err.Error() != want || param.Param == "" {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	p := Default()
	if err := Check(&p, -1, 10); err == nil || err.Error() != "max_new_tokens is -1, expected at least 0" {
		t.Errorf("error %v for max_new_tokens -1", err)
	}
	if err := Check(&p, 0, 10); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}

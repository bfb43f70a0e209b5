package checkpoint

import (
	"fmt"
	"math"
)

// frequencies are a rotation's without scaling, each step rounded to float32 as in
// transformers.
func frequencies(theta float64, headDim int) []float32 {
	f := make([]float32, headDim/2)
	for j := range f {
		exponent := float32(2*j) / float32(headDim)
		f[j] = 1 / float32(math.Pow(theta, float64(exponent)))
	}
	return f
}

// llama3 are the numbers of a rotation of that type: waves longer than the original
// context by lowFreq turn slower by factor, those shorter than it by highFreq as
// before, those between in between.
type llama3 struct {
	factor, lowFreq, highFreq, original float64
}

func (l llama3) check() error {
	for _, f := range []struct {
		name  string
		value float64
	}{{"factor", l.factor}, {"low_freq_factor", l.lowFreq}, {"high_freq_factor", l.highFreq}, {"original_max_position_embeddings", l.original}} {
		if !(f.value > 0) || math.IsInf(f.value, 1) {
			return fmt.Errorf("the rotation's %s is %v, expected a number over 0", f.name, f.value)
		}
	}
	if l.lowFreq >= l.highFreq {
		return fmt.Errorf("the rotation's low_freq_factor is %v, expected less than its high_freq_factor, %v", l.lowFreq, l.highFreq)
	}
	return nil
}

// scale changes the frequencies in the order of transformers' steps.
func (l llama3) scale(frequencies []float32) {
	factor, low, high := float32(l.factor), float32(l.lowFreq), float32(l.highFreq)
	for j, f := range frequencies {
		wave := float32(2*math.Pi) / f
		switch {
		case wave > float32(l.original/l.lowFreq):
			frequencies[j] = f / factor
		case wave >= float32(l.original/l.highFreq):
			smooth := (float32(l.original)/wave - low) / (high - low)
			frequencies[j] = float32((1-smooth)*f/factor) + float32(smooth*f)
		}
	}
}

package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/runtime/jsoncheck"
)

// folderConfig is what is read of a config.json. A pointer is nil where the file has
// nothing or null.
type folderConfig struct {
	Architectures       []string        `json:"architectures"`
	VocabSize           *int            `json:"vocab_size"`
	HiddenSize          *int            `json:"hidden_size"`
	IntermediateSize    *int            `json:"intermediate_size"`
	Layers              *int            `json:"num_hidden_layers"`
	Heads               *int            `json:"num_attention_heads"`
	KVHeads             *int            `json:"num_key_value_heads"`
	HeadDim             *int            `json:"head_dim"`
	ContextLength       *int            `json:"max_position_embeddings"`
	RMSNormEps          *float64        `json:"rms_norm_eps"`
	RopeTheta           *float64        `json:"rope_theta"`
	RopeScaling         *rotation       `json:"rope_scaling"`
	RopeParameters      *rotation       `json:"rope_parameters"`
	TieWordEmbeddings   bool            `json:"tie_word_embeddings"`
	EOS                 ids             `json:"eos_token_id"`
	HiddenAct           *string         `json:"hidden_act"`
	AttentionBias       bool            `json:"attention_bias"`
	MLPBias             bool            `json:"mlp_bias"`
	UseSlidingWindow    bool            `json:"use_sliding_window"`
	LayerTypes          []string        `json:"layer_types"`
	PartialRotaryFactor *float64        `json:"partial_rotary_factor"`
	QuantizationConfig  json.RawMessage `json:"quantization_config"`
}

// rotation is rope_scaling, or rope_parameters, which has the base as well.
type rotation struct {
	RopeType            *string  `json:"rope_type"`
	Type                *string  `json:"type"`
	RopeTheta           *float64 `json:"rope_theta"`
	Factor              *float64 `json:"factor"`
	LowFreqFactor       *float64 `json:"low_freq_factor"`
	HighFreqFactor      *float64 `json:"high_freq_factor"`
	Original            *float64 `json:"original_max_position_embeddings"`
	PartialRotaryFactor *float64 `json:"partial_rotary_factor"`
}

// ids are one id or a list of them.
type ids []int64

func (i *ids) UnmarshalJSON(raw []byte) error {
	if bytes.HasPrefix(raw, []byte("[")) {
		return json.Unmarshal(raw, (*[]int64)(i))
	}
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	var one int64
	if err := json.Unmarshal(raw, &one); err != nil {
		return err
	}
	*i = ids{one}
	return nil
}

var folderArchitectures = map[string]string{"Qwen3ForCausalLM": qwen3, "LlamaForCausalLM": llama}

// parseConfig makes a Config of a config.json and, unless that is nil, a
// generation_config.json.
func parseConfig(raw, generation []byte) (Config, error) {
	var f folderConfig
	if err := unmarshal(raw, &f); err != nil {
		return Config{}, err
	}
	if len(f.Architectures) != 1 || folderArchitectures[f.Architectures[0]] == "" {
		return Config{}, fmt.Errorf("architectures is %.200q, expected Qwen3ForCausalLM or LlamaForCausalLM", f.Architectures)
	}
	c := Config{Architecture: folderArchitectures[f.Architectures[0]], TieWordEmbeddings: f.TieWordEmbeddings}
	c.QKNorm = c.Architecture == qwen3
	if err := errors.Join(f.refuse(), f.numbers(&c)); err != nil {
		return Config{}, err
	}
	c.addEOS(f.EOS...)
	if generation != nil {
		var g struct {
			EOS ids `json:"eos_token_id"`
		}
		if err := unmarshal(generation, &g); err != nil {
			return Config{}, fmt.Errorf("generation_config.json: %w", err)
		}
		c.addEOS(g.EOS...)
	}
	if err := c.check(); err != nil {
		return Config{}, err
	}
	err := f.rotation(&c)
	return c, err
}

// unmarshal is json.Unmarshal for files in which no key may be given twice.
func unmarshal(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		return err
	}
	return jsoncheck.DoubledKey(raw)
}

// refuse names what would be computed otherwise than here.
func (f *folderConfig) refuse() error {
	switch {
	case f.HiddenAct != nil && *f.HiddenAct != "silu":
		return fmt.Errorf("hidden_act is %.100q, expected silu", *f.HiddenAct)
	case f.AttentionBias:
		return errors.New("attention_bias is true, expected false: biases are not computed")
	case f.MLPBias:
		return errors.New("mlp_bias is true, expected false: biases are not computed")
	case f.UseSlidingWindow:
		return errors.New("use_sliding_window is true, expected false: all attention is full")
	case f.PartialRotaryFactor != nil && *f.PartialRotaryFactor != 1:
		return fmt.Errorf("partial_rotary_factor is %v, expected 1", *f.PartialRotaryFactor)
	case len(f.QuantizationConfig) > 0 && !bytes.Equal(f.QuantizationConfig, []byte("null")):
		var q struct {
			Method string `json:"quant_method"`
		}
		if err := json.Unmarshal(f.QuantizationConfig, &q); err != nil {
			return fmt.Errorf("quantization_config: %w", err)
		}
		return fmt.Errorf("quantization_config has quant_method %.100q, expected weights in F32, F16 or BF16", q.Method)
	}
	if i := slices.IndexFunc(f.LayerTypes, func(t string) bool { return t != "full_attention" }); i >= 0 {
		return fmt.Errorf("layer_types has %.100q, expected full_attention", f.LayerTypes[i])
	}
	return nil
}

// numbers fills in the config's.
func (f *folderConfig) numbers(c *Config) error {
	if c.Architecture == llama {
		if f.KVHeads == nil {
			f.KVHeads = f.Heads
		}
		if f.HeadDim == nil && f.HiddenSize != nil && f.Heads != nil && *f.Heads > 0 {
			d := *f.HiddenSize / *f.Heads
			f.HeadDim = &d
		}
	}
	for _, n := range []struct {
		name string
		from *int
		to   *int
	}{
		{"vocab_size", f.VocabSize, &c.VocabSize}, {"hidden_size", f.HiddenSize, &c.HiddenSize}, {"intermediate_size", f.IntermediateSize, &c.IntermediateSize},
		{"num_hidden_layers", f.Layers, &c.Layers}, {"num_attention_heads", f.Heads, &c.Heads}, {"num_key_value_heads", f.KVHeads, &c.KVHeads},
		{"head_dim", f.HeadDim, &c.HeadDim}, {"max_position_embeddings", f.ContextLength, &c.ContextLength},
	} {
		if n.from == nil {
			return fmt.Errorf("no %s, expected a number", n.name)
		}
		*n.to = *n.from
	}
	if f.RMSNormEps == nil {
		return errors.New("no rms_norm_eps, expected a number")
	}
	c.RMSNormEps = *f.RMSNormEps
	return f.theta(c)
}

// theta takes the rotation's base from wherever it stands; it may stand twice.
func (f *folderConfig) theta(c *Config) error {
	var found *float64
	for _, place := range []*float64{f.RopeTheta, f.RopeScaling.theta(), f.RopeParameters.theta()} {
		if place != nil && found != nil && *place != *found {
			return fmt.Errorf("rope_theta is %v and %v, expected one", *found, *place)
		}
		if place != nil {
			found = place
		}
	}
	switch {
	case found != nil:
		c.RopeTheta = *found
	case c.Architecture == llama:
		c.RopeTheta = 10000
	default:
		return errors.New("no rope_theta, expected it in config.json, in rope_scaling or in rope_parameters")
	}
	return nil
}

func (r *rotation) theta() *float64 {
	if r == nil {
		return nil
	}
	return r.RopeTheta
}

// kind is the type; without one it is the default.
func (r *rotation) kind() string {
	switch {
	case r == nil:
	case r.RopeType != nil:
		return *r.RopeType
	case r.Type != nil:
		return *r.Type
	}
	return "default"
}

// rotation scales the frequencies. rope_scaling goes before rope_parameters, as in
// transformers; types that differ are an error.
func (f *folderConfig) rotation(c *Config) error {
	r := f.RopeScaling
	if r == nil {
		r = f.RopeParameters
	} else if f.RopeParameters != nil && f.RopeParameters.kind() != r.kind() {
		return fmt.Errorf("rope_scaling is of type %.100q and rope_parameters of %.100q, expected one", r.kind(), f.RopeParameters.kind())
	}
	if r != nil && r.PartialRotaryFactor != nil && *r.PartialRotaryFactor != 1 {
		return fmt.Errorf("the rotation's partial_rotary_factor is %v, expected 1", *r.PartialRotaryFactor)
	}
	switch r.kind() {
	case "default":
		return nil
	case "llama3":
	default:
		return fmt.Errorf("the rotation is of type %.100q, expected default or llama3", r.kind())
	}
	if r.Factor == nil || r.LowFreqFactor == nil || r.HighFreqFactor == nil || r.Original == nil {
		return errors.New("a rotation of type llama3 lacks one of factor, low_freq_factor, high_freq_factor and original_max_position_embeddings")
	}
	l := llama3{*r.Factor, *r.LowFreqFactor, *r.HighFreqFactor, *r.Original}
	if err := l.check(); err != nil {
		return err
	}
	c.RopeFrequencies = frequencies(c.RopeTheta, c.HeadDim)
	l.scale(c.RopeFrequencies)
	return nil
}

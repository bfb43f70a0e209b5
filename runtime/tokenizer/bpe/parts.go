package bpe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// part is one stage of a tokenizer.json, of any type.
type part struct {
	Type             string     `json:"type"`
	Pretokenizers    []part     `json:"pretokenizers"`
	Processors       []part     `json:"processors"`
	Pattern          *patternOf `json:"pattern"`
	Behavior         string     `json:"behavior"`
	Invert           bool       `json:"invert"`
	IndividualDigits bool       `json:"individual_digits"`
	AddPrefixSpace   *bool      `json:"add_prefix_space"`
	TrimOffsets      bool       `json:"trim_offsets"` // of places in the text, which are not asked for
	UseRegex         *bool      `json:"use_regex"`

	// Of TemplateProcessing.
	Single        []piece            `json:"single"`
	Pair          json.RawMessage    `json:"pair"` // for two texts at once, which nobody gives
	SpecialTokens map[string]special `json:"special_tokens"`
}

type patternOf struct {
	Regex  *string
	String *string
}

// parts reads the stages around the model into d.
func (f *file) parts(d *definition) error {
	switch {
	case f.Normalizer == nil:
	case f.Normalizer.Type == "NFC":
		d.nfc = true
	default:
		return fmt.Errorf("the normalizer is %q, expected NFC or null", f.Normalizer.Type)
	}
	var err error
	if d.prefix, err = f.PostProcessor.prefix(); err != nil {
		return fmt.Errorf("the post_processor: %w", err)
	}
	if p := f.Decoder; p == nil {
		return errors.New("it has no decoder, expected ByteLevel")
	} else if p.Type != "ByteLevel" {
		return fmt.Errorf("the decoder is %q, expected ByteLevel", p.Type)
	}
	if d.steps, err = f.PreTokenizer.splitters(); err != nil {
		return fmt.Errorf("the pre_tokenizer: %w", err)
	}
	return nil
}

var errNoByteLevel = errors.New("expected ByteLevel, alone or at the end of a Sequence")

// splitters are the steps of a pre-tokenizer. The last one is ByteLevel: it
// writes bytes as letters, which no pattern is meant for.
func (p *part) splitters() ([]splitter, error) {
	if p == nil {
		return nil, errNoByteLevel
	}
	parts := []part{*p}
	if p.Type == "Sequence" {
		parts = p.Pretokenizers
	}
	if n := len(parts); n == 0 || parts[n-1].Type != "ByteLevel" {
		return nil, errNoByteLevel
	}
	var steps []splitter
	for i := range parts {
		s, err := parts[i].splitter()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", parts[i].Type, err)
		}
		steps = append(steps, s...)
		if parts[i].Type == "ByteLevel" && i != len(parts)-1 {
			return nil, errNoByteLevel
		}
	}
	return slices.Clip(steps), nil
}

// splitter is the step of one pre-tokenizer, or none.
func (p *part) splitter() ([]splitter, error) {
	switch p.Type {
	case "Split":
		switch {
		case p.Pattern == nil || p.Pattern.Regex == nil:
			return nil, errors.New("it has no pattern of type Regex")
		case p.Behavior != "Isolated" || p.Invert:
			return nil, fmt.Errorf("its behavior is %q, and invert %v, expected Isolated and false", p.Behavior, p.Invert)
		}
		s, err := pattern(*p.Pattern.Regex)
		return []splitter{s}, err
	case "Digits":
		if !p.IndividualDigits {
			return nil, errors.New("individual_digits is false, expected true")
		}
		return []splitter{digits}, nil
	case "ByteLevel":
		if p.AddPrefixSpace == nil || *p.AddPrefixSpace {
			return nil, errors.New("add_prefix_space is true, or missing, expected false")
		}
		if p.UseRegex == nil || *p.UseRegex { // its default is true
			return []splitter{splitGPT2}, nil
		}
		return nil, nil
	}
	return nil, errors.New("it is not known, expected Split, Digits or ByteLevel")
}

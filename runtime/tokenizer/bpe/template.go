package bpe

import (
	"errors"
	"fmt"
)

// piece is a part of what a TemplateProcessing makes of a text: one of its special
// tokens, or the text, which is called A.
type piece struct {
	SpecialToken *pieceID
	Sequence     *pieceID
}

type pieceID struct {
	ID     string `json:"id"`
	TypeID int    `json:"type_id"` // of segments, which these models do not have
}

// special is a special token of a template, which may be several of the vocabulary.
type special struct {
	ID     string   `json:"id"`
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

// prefix are the ids that a post-processor puts before a text.
func (p *part) prefix() ([]int32, error) {
	if p == nil {
		return nil, nil
	}
	parts := []part{*p}
	if p.Type == "Sequence" {
		parts = p.Processors
	}
	var ids []int32
	templates := 0
	for i := range parts {
		switch one := &parts[i]; one.Type {
		case "ByteLevel":
		case "TemplateProcessing":
			var err error
			if ids, err = one.template(); err != nil {
				return nil, fmt.Errorf("TemplateProcessing: %w", err)
			}
			templates++
		default:
			return nil, fmt.Errorf("it is %q, expected ByteLevel, TemplateProcessing, a Sequence of these or null", one.Type)
		}
	}
	if templates > 1 {
		return nil, fmt.Errorf("it has %d of TemplateProcessing, expected one at most", templates)
	}
	return ids, nil
}

// template are the ids before A.
func (p *part) template() ([]int32, error) {
	last := len(p.Single) - 1
	if last < 0 || p.Single[last].Sequence == nil || p.Single[last].Sequence.ID != "A" {
		return nil, errors.New("its single does not end with the sequence A, expected special tokens and then A")
	}
	var ids []int32
	for i, one := range p.Single[:last] {
		if one.SpecialToken == nil {
			return nil, fmt.Errorf("part %d of its single is no special token, expected special tokens and then the sequence A", i)
		}
		s, ok := p.SpecialTokens[one.SpecialToken.ID]
		if !ok || len(s.IDs) == 0 {
			return nil, fmt.Errorf("its special_tokens have no ids of %q, which its single begins with", one.SpecialToken.ID)
		}
		ids = append(ids, s.IDs...)
	}
	return ids, nil
}

// Package backend makes the model and the tokenizer that the settings name. The
// scheduler takes the model; HTTP workers and detokenizers take the tokenizer.
package backend

import (
	"context"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/server/args"
)

// Tokenizer makes ids of text and text of ids.
type Tokenizer interface {
	Encode(text string) ([]int64, error)
	AppendDecode(dst []byte, ids []int64, skipSpecial, spacesBetween bool) []byte
	VocabSize() int // the largest id and one
}

// Info describes what is served.
type Info struct {
	Name          string // served_model_name
	Architecture  string
	ContextLength int
	VocabSize     int
	EOS           []int64
	SlotBytes     int // of one token's keys and values; 0: none
}

// Describe says what the settings name, without making it.
func Describe(a args.Args) (Info, error) { panic("not built yet") }

// NewTokenizer makes the tokenizer.
func NewTokenizer(a args.Args) (Tokenizer, error) { panic("not built yet") }

// NewModel makes the model with room for slots tokens. ctx ends a simulated step's sleep.
func NewModel(ctx context.Context, a args.Args, slots int) (model.Model, error) {
	panic("not built yet")
}

// Slots is MaxTotalTokens, or what MemFractionStatic allows; an error names the
// sizes when there is too little memory.
func Slots(a args.Args) (int, error) { panic("not built yet") }

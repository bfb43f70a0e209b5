//go:build cuda

package cuda

import (
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// What a block has room for, whatever the model: more is computed one block after the other.
const (
	blockTokens = 2048
	blockTable  = 1 << 20 // slots of all works, and at least a context
	blockSplits = 8192    // parts of contexts that decodes are attended to in, and at least a context's
	answerRows  = 256     // positions whose logits are computed at a time
)

// room is what the buffers have room for, and few how many tokens are multiplied one by one.
type room struct{ tokens, table, splits, rows, few int }

func roomFor(c qwen3.Config) room {
	return room{blockTokens, max(blockTable, c.ContextLength), max(blockSplits, kernels.Splits(c.ContextLength)), answerRows, kernels.MatVecTokens}
}

// scratch is what a block's computation needs on the device beside weights and slots. Rows
// are tokens'; numbers are float32.
type scratch struct {
	x, normed             driver.Buffer // [tokens, HiddenSize]: the residual stream, and its norm before a product
	added                 driver.Buffer // [tokens, HiddenSize]: what is added to it
	qkv                   driver.Buffer // [tokens, (Heads + 2·KVHeads)·HeadDim]
	heads                 driver.Buffer // [tokens, Heads·HeadDim]: of attention
	gateUp, inner         driver.Buffer // [tokens, 2·IntermediateSize] and half of it
	partial, maxima, sums driver.Buffer // [splits, Heads] times HeadDim, 1, 1
	logits                driver.Buffer // [rows, Tokens]
	staged                driver.Buffer // what staging has
	best                  driver.Buffer // what results has

	frequencies driver.Buffer // [HeadDim/2]
}

func newScratch(c qwen3.Config, a *arena) scratch {
	r := roomFor(c)
	floats := func(n, each int) driver.Buffer { return a.alloc(4 * int64(n) * int64(each)) }
	rows := func(each int) driver.Buffer { return floats(r.tokens, each) }
	return scratch{
		x: rows(c.HiddenSize), normed: rows(c.HiddenSize), added: rows(c.HiddenSize),
		qkv: rows((c.Heads + 2*c.KVHeads) * c.HeadDim), heads: rows(c.Heads * c.HeadDim),
		gateUp: rows(2 * c.IntermediateSize), inner: rows(c.IntermediateSize),
		partial: floats(r.splits, c.Heads*c.HeadDim), maxima: floats(r.splits, c.Heads), sums: floats(r.splits, c.Heads),
		logits: floats(r.rows, vocabulary(c)), staged: a.alloc(stagingBytes(r)), best: a.alloc(int64(r.rows) * resultBytes),
		frequencies: floats(1, c.HeadDim/2),
	}
}

// vocabulary is how many logits are computed: those of ids that are no padding.
func vocabulary(c qwen3.Config) int {
	if c.Tokens > 0 {
		return c.Tokens
	}
	return c.VocabSize
}

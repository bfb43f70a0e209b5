package bpe_test

import (
	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/server/backend"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/bpe"
)

// What the server and both of the detokenizer's methods ask for.
var (
	_ backend.Tokenizer       = (*bpe.Tokenizer)(nil)
	_ detokenizer.ByteDecoder = (*bpe.Tokenizer)(nil)
)

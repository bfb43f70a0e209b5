package worker

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
)

// checkMethod writes the default of configure's method out, and refuses what
// cannot be met by any vocabulary.
func (w *worker) checkMethod() error {
	c := &w.conf
	switch {
	case c.Method != "" && w.routing != nil:
		return fmt.Errorf("worker: method %q for a router, which has no detokenizer", c.Method)
	case c.Method == "":
		c.Method = protocol.MethodOffset
	case c.Method != protocol.MethodOffset && c.Method != protocol.MethodBytes:
		return fmt.Errorf("worker: method %q, want %q or %q", c.Method, protocol.MethodOffset, protocol.MethodBytes)
	}
	return nil
}

// detokenizer is a new one of the method that the worker was told.
func (w *worker) detokenizer(v protocol.Vocabulary) (*detokenizer.Detokenizer, error) {
	d, err := decoder(v)
	if err != nil {
		return nil, err
	}
	detok, err := detokenizer.NewMethod(detokenizer.Method(w.conf.Method), d, detokenizer.Options{})
	if err != nil {
		return nil, fmt.Errorf("worker: method %s with a vocabulary of kind %q: %w", w.conf.Method, v.Kind, err)
	}
	return detok, nil
}

func decoder(v protocol.Vocabulary) (detokenizer.Decoder, error) {
	tokens := make([]tokenizer.Token, len(v.Tokens))
	for i, t := range v.Tokens {
		tokens[i] = tokenizer.Token{ID: t.ID, Bytes: t.Bytes, Special: t.Special}
	}
	switch v.Kind {
	case protocol.VocabularyWords:
		return tokenizer.NewWordLevel(tokens)
	case protocol.VocabularyBytes:
		return tokenizer.NewBytes(tokens)
	}
	return nil, fmt.Errorf("worker: vocabulary kind %q, want %q or %q", v.Kind, protocol.VocabularyWords, protocol.VocabularyBytes)
}

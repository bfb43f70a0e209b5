package wire

import "fmt"

// BatchEmbeddingOutput is a scheduler's batch of embeddings. A detokenizer has
// nothing to do with it: its rows go to the HTTP workers as they came.
type BatchEmbeddingOutput struct {
	RIDs                 []string       `wire:"rids"`
	HTTPWorkerIPCs       []Opt[string]  `wire:"http_worker_ipcs"`
	FinishedReasons      []Map          `wire:"finished_reasons"`
	Embeddings           []Embedding    `wire:"embeddings"`
	PromptTokens         []Opt[int64]   `wire:"prompt_tokens"`
	CachedTokens         []Opt[int64]   `wire:"cached_tokens"`
	PlaceholderTokensIdx [][]Opt[int64] `wire:"placeholder_tokens_idx"`
	PlaceholderTokensVal [][]Opt[int64] `wire:"placeholder_tokens_val"`
	RetractionCounts     []Opt[int64]   `wire:"retraction_counts"`
	CachedTokensDetails  []Map          `wire:"cached_tokens_details"`
	TimeStats            *Opaque        `wire:"time_stats"`
	PooledHiddenStates   []Opt[Ext]     `wire:"pooled_hidden_states"`
}

// Class is the name on the wire.
func (m *BatchEmbeddingOutput) Class() string { return "BatchEmbeddingOutput" }

// Rows is the number of rows: the length of rids.
func (m *BatchEmbeddingOutput) Rows() int { return len(m.RIDs) }

// Embedding is one row of embeddings, one of four forms: a []Value of numbers, a
// []Value in which an entry may also be a []Value of numbers (a vector a token),
// a [Map] from integer to number (sparse), or one number (a score). A number is
// any of Value's. Nil is null.
//
// The numbers stay Values: SGLang's annotations allow an integer for a float
// everywhere, and then it would have to encode again as an integer.
type Embedding any

var embeddingCodec = codec[Embedding]{
	kinds: kindArray | kindMap | kindFloat | kindInt | kindNil,
	enc: func(w *writer, v Embedding) error {
		if err := checkEmbedding(v); err != nil {
			return err
		}
		return w.value(v, MaxDepth-2)
	},
	dec: func(r *reader) (Embedding, error) {
		o := r.offset()
		if _, err := r.next(kindArray | kindMap | kindFloat | kindInt | kindNil); err != nil {
			return nil, err
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		if err := checkEmbedding(v); err != nil {
			e := located(err, o)
			e.Offset = o // of the row: a Value does not know where its parts were
			return nil, e
		}
		return v, nil
	},
	toValue: func(v Embedding) Value { return v },
	fromValue: func(v Value) (Embedding, error) {
		return v, checkEmbedding(v)
	},
}

func checkEmbedding(v Value) error {
	switch v := v.(type) {
	case nil:
		return nil
	case []Value:
		return checkVectors(v)
	case Map:
		for _, p := range v {
			if !isInteger(p.Key) {
				return fmt.Errorf("got a key of type %T, want an integer", p.Key)
			}
			if !isNumber(p.Value) {
				return inside(badPart(p.Value, "a number"), fmt.Sprintf("[%d]", p.Key), -1)
			}
		}
		return nil
	}
	if !isNumber(v) {
		return badPart(v, "a number, a list or a map")
	}
	return nil
}

// checkVectors wants numbers, or lists of numbers.
func checkVectors(list []Value) error {
	for i, v := range list {
		if isNumber(v) {
			continue
		}
		inner, ok := v.([]Value)
		if !ok {
			return inside(badPart(v, "a number or a list of numbers"), index(i), -1)
		}
		for k, x := range inner {
			if !isNumber(x) {
				return inside(badPart(x, "a number"), index(i)+index(k), -1)
			}
		}
	}
	return nil
}

// badPart is badValue for what is inside an embedding, with the names of kinds.
func badPart(v Value, want string) error {
	switch v.(type) {
	case []Value:
		return fmt.Errorf("got array, want %s", want)
	case Map:
		return fmt.Errorf("got map, want %s", want)
	case []byte:
		return fmt.Errorf("got bin, want %s", want)
	case Ext:
		return fmt.Errorf("got ext, want %s", want)
	}
	return badValue(v, want)
}

func isNumber(v Value) bool {
	switch v.(type) {
	case float64, Float32:
		return true
	}
	return isInteger(v)
}

func isInteger(v Value) bool {
	switch v.(type) {
	case int64, uint64:
		return true
	}
	return false
}

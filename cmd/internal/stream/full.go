package stream

import (
	"encoding/json"
	"fmt"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// FullSteps is the number of batches of the full stream.
const FullSteps = 2

// Tensors are the fields of BatchTokenIDOutput that the full stream leaves at
// their default: tensors and arrays of other libraries, for which a work file
// has no form.
var Tensors = []string{"routed_experts", "indexer_topk", "input_top_logprobs_val_flat", "input_top_logprobs_idx_flat"}

// fullRows is two rows for each consumer and one more, so that some message
// holds one row of a batch and some more.
func fullRows(consumers int) int { return 2*consumers + 1 }

// FullRows is the number of rows of the full stream, fence left out.
func FullRows(consumers int) int { return FullSteps * fullRows(consumers) }

// Full returns the stream that every arm must pass before it is measured. In
// each row of it every parallel field that BatchStrOutput carries on has a value
// that no other row and no other field has, but for Tensors; finished_reasons
// has one in the last batch. The vocabulary and the fence are the seed stream's; see
// Source.Full for the vocabulary's kind.
func Full(seed uint64, consumers int) (protocol.Work, error) {
	p := Place{Cell: protocol.Cell{Count: fullRows(max(0, consumers)), Metadata: Rich}}
	if err := p.check(consumers, FullSteps); err != nil {
		return protocol.Work{}, err
	}
	g := generator{seed: seed}
	w := protocol.Work{Vocabulary: fixtureVocabulary(), PromptIDs: []int64{1}}
	for step := range FullSteps {
		w.Stream = append(w.Stream, g.full(step, p.Cell.Count, consumers))
	}
	w.Fence = g.fence(p, consumers, []int64{1, 2, 3})
	for _, b := range w.Fence {
		b.Columns["rids"] = g.column(repeat(consumers, func(i int) string { return fmt.Sprintf("full-end-%05x", i) }))
	}
	return w, g.err
}

// full is one batch; values of field f and row n are made of unique(f, n).
func (g *generator) full(step, rows, consumers int) protocol.Batch {
	b := protocol.Batch{Consumers: repeat(rows, func(i int) int { return i % consumers }), Columns: map[string]json.RawMessage{}}
	for f, field := range fullFields {
		b.Columns[field.name] = g.column(repeat(rows, func(i int) any {
			return field.value(unique{field: f, row: step*rows + i})
		}))
	}
	b.Columns["rids"] = g.column(repeat(rows, func(i int) string { return fmt.Sprintf("full-%05x", i) }))
	b.Columns["read_offsets"] = g.column(repeat(rows, constant(0)))
	b.Columns["decode_ids"] = g.column(repeat(rows, func(i int) []int64 { return []int64{int64(1 + i%3)} }))
	if step < FullSteps-1 {
		b.Columns["finished_reasons"] = g.column(make([]*finish, rows))
	}
	g.metadata(b.Columns, maxBatches-FullSteps+uint64(step), rows)
	return b
}

// unique makes values of one field in one row.
type unique struct{ field, row int }

func (u unique) int() int       { return 1 + u.row*1000 + u.field }
func (u unique) text() string   { return fmt.Sprintf("v%d-é", u.int()) }
func (u unique) float() float64 { return float64(u.int()) + 0.25 }

func yes(unique) any          { return true }
func number(u unique) any     { return u.int() }
func numbers(u unique) any    { return []int{u.int(), 7} }
func fraction(u unique) any   { return u.float() }
func fractions(u unique) any  { return []any{nil, u.float()} }
func nested(u unique) any     { return []any{nil, []float64{u.float(), 0.5}} }
func nestedInts(u unique) any { return []any{[]int{u.int(), 7}, nil} }

// fullFields are the columns whose values are made by their kinds, in wire order
// of BatchTokenIDOutput. The columns that only a detokenizer reads have what it
// needs.
var fullFields = []struct {
	name  string
	value func(unique) any
}{
	{"finished_reasons", func(u unique) any { return finish{Type: "length", Length: u.int()} }},
	{"decoded_texts", func(unique) any { return "" }},
	{"output_ids", numbers},
	{"skip_special_tokens", yes}, {"spaces_between_special_tokens", yes}, {"no_stop_trim", yes},
	{"prompt_tokens", number}, {"reasoning_tokens", number}, {"completion_tokens", number}, {"cached_tokens", number},
	{"input_token_logprobs_val", fractions}, {"input_token_logprobs_idx", numbers},
	{"output_token_logprobs_val", fractions}, {"output_token_logprobs_idx", numbers},
	{"input_top_logprobs_val", nested}, {"input_top_logprobs_idx", nestedInts},
	{"output_top_logprobs_val", nested}, {"output_top_logprobs_idx", nestedInts},
	{"input_token_ids_logprobs_val", nested}, {"input_token_ids_logprobs_idx", nestedInts},
	{"output_token_ids_logprobs_val", nested}, {"output_token_ids_logprobs_idx", nestedInts},
	{"output_token_entropy_val", fraction},
	{"output_token_sampling_mask", func(u unique) any { return []any{numbers(u)} }},
	{"output_hidden_states", func(u unique) any { return []any{[]any{u.float(), nil}, []any{[]float64{u.float(), 0.5}}} }},
	{"placeholder_tokens_idx", numbers}, {"placeholder_tokens_val", numbers},
	{"retraction_counts", number},
	{"beam_search_output", func(u unique) any { return map[string]any{"sequences": []any{u.text(), u.int()}} }},
	{"weight_versions", func(u unique) any { return []any{[]any{u.text(), u.int()}} }},
	{"token_steps", numbers},
	{"cached_tokens_details", func(u unique) any { return map[string]any{"device": u.int(), "host": 7} }},
	{"dp_ranks", number},
	{"image_tokens", number}, {"audio_tokens", number}, {"video_tokens", number},
	{"spec_verify_ct", number}, {"spec_num_correct_drafts", number}, {"spec_num_block_accept_tokens", number}, {"spec_num_cap_tokens", number},
	{"spec_correct_drafts_histogram", numbers}, {"spec_cap_lens_histogram", numbers},
	{"input_top_logprobs_flat_null_prefix", number},
}

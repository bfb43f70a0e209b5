package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// mixedStream separates its random numbers from others of the seed.
const mixedStream = 0x6d697865

// Mixed returns the mixed stream of one trial and its fence. The count of the
// place's cell is the number of rows of the first batch.
func Mixed(seed uint64, p Place, consumers int) (protocol.Work, error) {
	if err := p.check(consumers, MixedSteps); err != nil {
		return protocol.Work{}, err
	}
	l := newLexicon(seed)
	w := protocol.Work{Vocabulary: l.Vocabulary, PromptIDs: []int64{firstByte + 'a'}}
	g := generator{seed: seed}
	m := mixer{generator: &g, place: p, r: rand.New(rand.NewPCG(seed, mixedStream<<32|uint64(p.Ordinal)))}
	if err := m.requests(&l, newShape(seed, p.Cell.Count, consumers)); err != nil {
		return protocol.Work{}, err
	}
	for step := range MixedSteps {
		w.Stream = append(w.Stream, m.batch(step))
	}
	w.Fence = g.fence(p, consumers, []int64{firstByte + 'a', firstByte + 'b', firstByte + 'c'})
	return w, g.err
}

// mixer turns requests into batches.
type mixer struct {
	*generator
	place Place
	r     *rand.Rand
	rows  []mixedRow
}

// mixedRow is one request on its way through the batches.
type mixedRow struct {
	request
	rid      string
	shape    shapeRow
	prompts  int  // prompt_tokens
	logprobs bool // asked for
	sent     int  // rows that have come
	tokens   int  // output ids that have come
}

func (m *mixer) requests(l *lexicon, s shape) error {
	for i, row := range s {
		var counts []int
		for _, n := range row.tokens {
			if n > 0 {
				counts = append(counts, n)
			}
		}
		q, err := l.request(m.r, (i+int(m.place.Ordinal))%endings, counts)
		if err != nil {
			return err
		}
		m.rows = append(m.rows, mixedRow{
			request: q, rid: fmt.Sprintf("rid-%08x-%05x", m.place.Ordinal, i), shape: row,
			prompts: len(q.prompt) + m.r.IntN(5000), logprobs: m.r.IntN(3) == 0,
		})
	}
	return nil
}

// batch is the batch of one step, its rows in an order of its own.
func (m *mixer) batch(step int) protocol.Batch {
	var present []int
	for i, row := range m.rows {
		if step < len(row.shape.tokens) && row.shape.tokens[step] > 0 {
			present = append(present, i)
		}
	}
	m.r.Shuffle(len(present), func(a, b int) { present[a], present[b] = present[b], present[a] })
	b := protocol.Batch{Columns: map[string]json.RawMessage{}}
	lists := map[string][]any{}
	logprobs := false
	for _, i := range present {
		b.Consumers = append(b.Consumers, m.rows[i].shape.consumer)
		logprobs = logprobs || m.rows[i].logprobs
	}
	for _, i := range present {
		m.rows[i].add(lists)
		if logprobs {
			m.logprobs(lists, &m.rows[i])
		}
		m.rows[i].sent++
	}
	for name, list := range lists {
		b.Columns[name] = m.column(list)
	}
	if m.place.Cell.Metadata == Rich {
		m.metadata(b.Columns, uint64(m.place.Ordinal)*MixedSteps+uint64(step), len(present))
	}
	return b
}

// add appends the row's values, all but logprobs and metadata.
func (q *mixedRow) add(lists map[string][]any) {
	put := func(name string, v any) { lists[name] = append(lists[name], v) }
	ids := q.request.rows[q.sent]
	q.tokens += len(ids)
	var reason any
	if q.sent == len(q.request.rows)-1 {
		reason = q.reason
	}
	decode, before := ids, ""
	if q.sent == 0 {
		decode, before = append(append([]int64{}, q.prompt...), ids...), q.before
	}
	put("rids", q.rid)
	put("finished_reasons", reason)
	put("decoded_texts", before)
	put("decode_ids", decode)
	put("read_offsets", len(q.prompt))
	put("output_ids", ids)
	put("skip_special_tokens", q.skip)
	put("spaces_between_special_tokens", q.spaces)
	put("no_stop_trim", q.keep)
	put("prompt_tokens", q.prompts)
	put("reasoning_tokens", q.tokens/3)
	put("completion_tokens", q.tokens)
	put("cached_tokens", q.prompts/2)
}

// logprobs appends the values of the logprob columns: lists as long as the row's
// ids where they were asked for, with nulls where there is nothing to say, and
// empty ones in the other rows. Those of the prompt come once.
func (m *mixer) logprobs(lists map[string][]any, q *mixedRow) {
	inputs, outputs := 0, 0
	if q.logprobs {
		outputs = len(q.request.rows[q.sent])
		if q.sent == 0 {
			inputs = len(q.prompt)
		}
	}
	for _, part := range []struct {
		name string
		n    int
		gap  bool // the first one has no value
	}{{"input", inputs, true}, {"output", outputs, false}} {
		put := func(name string, v any) {
			lists[part.name+name] = append(lists[part.name+name], v)
		}
		values, ids := m.scores(part.n, part.gap)
		put("_token_logprobs_val", values)
		put("_token_logprobs_idx", ids)
		for _, kind := range []string{"_top_logprobs", "_token_ids_logprobs"} {
			values, ids := m.ranked(part.n, part.gap)
			put(kind+"_val", values)
			put(kind+"_idx", ids)
		}
	}
}

// scores are n logprobs with their ids, the first null if gap says so.
func (m *mixer) scores(n int, gap bool) (values []any, ids []int64) {
	values, ids = make([]any, n), make([]int64, n)
	for i := range values {
		ids[i] = m.r.Int64N(firstPiece)
		if i > 0 || !gap {
			values[i] = m.score()
		}
	}
	return values, ids
}

// ranked are n lists of two logprobs, null for a place without.
func (m *mixer) ranked(n int, gap bool) (values, ids []any) {
	values, ids = make([]any, n), make([]any, n)
	for i := range values {
		if i > 0 || !gap {
			values[i] = []float64{m.score(), m.score()}
			ids[i] = []int64{m.r.Int64N(firstPiece), m.r.Int64N(firstPiece)}
		}
	}
	return values, ids
}

// score is a logprob that is no whole number, which some writers would shorten.
func (m *mixer) score() float64 { return -(float64(m.r.IntN(1<<24)) + 0.5) / (1 << 20) }

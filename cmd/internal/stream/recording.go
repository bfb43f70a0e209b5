package stream

import (
	"encoding/json"
	"fmt"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Recording is a stream that was captured somewhere else. Its values are the
// captured ones in every trial; only the rids are new each time.
type Recording struct {
	Vocabulary protocol.Vocabulary
	Batches    []protocol.Batch
	SHA256     string // of what it was read from
}

// Cell is the one cell that a recording can be played in.
func (r *Recording) Cell() protocol.Cell {
	c := protocol.Cell{Count: len(r.Batches[0].Consumers), Metadata: Plain}
	for _, b := range r.Batches {
		if b.Columns["customized_info"] != nil || b.Columns["time_stats"] != nil {
			c.Metadata = Rich
		}
	}
	return c
}

// Consumers is the number of consumers that its rows go to.
func (r *Recording) Consumers() int {
	n := 0
	for _, b := range r.Batches {
		for _, c := range b.Consumers {
			n = max(n, c+1)
		}
	}
	return n
}

// Rows is the number of rows of all its batches.
func (r *Recording) Rows() int {
	n := 0
	for _, b := range r.Batches {
		n += len(b.Consumers)
	}
	return n
}

// Work is the recording with rids of one trial. The fence brings the first
// three ids of the vocabulary.
func (r *Recording) Work(seed uint64, p Place, consumers int) (protocol.Work, error) {
	if len(r.Vocabulary.Tokens) == 0 {
		return protocol.Work{}, fmt.Errorf("stream: the recording has a vocabulary of no tokens")
	}
	if p.Cell != r.Cell() {
		return protocol.Work{}, fmt.Errorf("stream: %d rows of %s metadata, the recording has %d of %s", p.Cell.Count, p.Cell.Metadata, r.Cell().Count, r.Cell().Metadata)
	}
	if err := p.check(consumers, Steps); err != nil {
		return protocol.Work{}, err
	}
	g := generator{seed: seed}
	ids := repeat(Steps, func(i int) int64 { return r.Vocabulary.Tokens[i%len(r.Vocabulary.Tokens)].ID })
	w := protocol.Work{Vocabulary: r.Vocabulary, PromptIDs: []int64{}, Fence: g.fence(p, consumers, ids)}
	for step, b := range r.Batches {
		var rids []string
		if err := json.Unmarshal(b.Columns["rids"], &rids); err != nil {
			return protocol.Work{}, fmt.Errorf("stream: rids of recorded batch %d: %w", step, err)
		}
		columns := map[string]json.RawMessage{}
		for name, column := range b.Columns {
			columns[name] = column
		}
		columns["rids"] = g.column(repeat(len(rids), func(i int) string { return fmt.Sprintf("%s-%08x", rids[i], p.Ordinal) }))
		w.Stream = append(w.Stream, protocol.Batch{Consumers: b.Consumers, Columns: columns})
	}
	return w, g.err
}

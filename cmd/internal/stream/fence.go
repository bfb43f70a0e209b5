package stream

import (
	"encoding/json"
	"fmt"
	"hash/crc32"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Paths is how wide a fence must be: Rows rows to each consumer, of which the
// kth has a rid whose crc32 is k modulo Modulus. See FencePaths.
type Paths struct{ Rows, Modulus int }

// FencePaths is the fence that flushes every way of every arm from a detokenizer
// to a consumer. An arm of M detokenizers that is routed by rid needs M rows a
// consumer, one of each crc32 modulo M; any other needs one. The widest need
// gives the number of rows, and since both arms of a run get the same fence, row
// k's crc32 is k modulo the least common multiple of the needs: it is then k
// modulo each of them, so that the first M rows reach all of M detokenizers.
func FencePaths(arms ...protocol.Routing) Paths {
	p := Paths{Rows: 1, Modulus: 1}
	for _, a := range arms {
		n := a.PathsPerConsumer()
		p.Rows = max(p.Rows, n)
		p.Modulus = p.Modulus / gcd(p.Modulus, n) * n
	}
	return p
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Widen makes a fence of one row a consumer that wide: its rows Rows times over,
// each time with other rids. A rid that has the right crc32 is found by trying
// endings; one that has it already, as with one detokenizer, stays.
func (p Paths) Widen(fence []protocol.Batch) ([]protocol.Batch, error) {
	if p.Rows == 1 && p.Modulus == 1 {
		return fence, nil
	}
	wide := make([]protocol.Batch, len(fence))
	for i, b := range fence {
		wide[i].Columns = map[string]json.RawMessage{}
		for range p.Rows {
			wide[i].Consumers = append(wide[i].Consumers, b.Consumers...)
		}
		for name, column := range b.Columns {
			raw, err := p.column(name, column)
			if err != nil {
				return nil, fmt.Errorf("stream: fence batch %d, column %s: %w", i, name, err)
			}
			wide[i].Columns[name] = raw
		}
	}
	return wide, nil
}

func (p Paths) column(name string, column json.RawMessage) (json.RawMessage, error) {
	if name != "rids" {
		var values, all []json.RawMessage
		if err := json.Unmarshal(column, &values); err != nil {
			return nil, err
		}
		for range p.Rows {
			all = append(all, values...)
		}
		return json.Marshal(all)
	}
	var rids, all []string
	if err := json.Unmarshal(column, &rids); err != nil {
		return nil, err
	}
	for k := range p.Rows {
		for _, rid := range rids {
			all = append(all, p.ending(rid, k))
		}
	}
	return json.Marshal(all)
}

// ending is a rid made of the given one whose crc32 is k modulo p.Modulus: so
// found after Modulus tries on average.
func (p Paths) ending(rid string, k int) string {
	try := rid
	for n := 0; int(crc32.ChecksumIEEE([]byte(try))%uint32(p.Modulus)) != k; n++ {
		try = fmt.Sprintf("%s-%x", rid, n)
	}
	return try
}

// Route gives every row of a trial to the consumer that its rid's crc32 leads to
// in the router's loop. The fence's rows stay where they are, so that each
// consumer has one, and get rids that lead there.
func Route(w *protocol.Work, consumers int) error {
	p := Paths{Rows: 1, Modulus: consumers}
	for i := range w.Stream {
		b := &w.Stream[i]
		rids, err := ridsColumn(*b)
		if err != nil {
			return fmt.Errorf("stream: batch %d: %w", i, err)
		}
		for row, rid := range rids {
			b.Consumers[row] = int(crc32.ChecksumIEEE([]byte(rid)) % uint32(consumers))
		}
	}
	for i := range w.Fence {
		b := &w.Fence[i]
		rids, err := ridsColumn(*b)
		if err != nil {
			return fmt.Errorf("stream: fence batch %d: %w", i, err)
		}
		for row, rid := range rids {
			rids[row] = p.ending(rid, b.Consumers[row])
		}
		if b.Columns["rids"], err = json.Marshal(rids); err != nil {
			return err
		}
	}
	return nil
}

func ridsColumn(b protocol.Batch) (rids []string, err error) {
	if err := json.Unmarshal(b.Columns["rids"], &rids); err != nil {
		return nil, err
	}
	if len(rids) != len(b.Consumers) {
		return nil, fmt.Errorf("%d rids for %d rows", len(rids), len(b.Consumers))
	}
	return rids, nil
}

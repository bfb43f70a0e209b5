//go:build cuda

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fanoutbench/fanoutbench/runtime/model"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/driver"
	"github.com/fanoutbench/fanoutbench/runtime/model/cuda/kernels"
	"github.com/fanoutbench/fanoutbench/runtime/model/qwen3"
)

// Chooser is a sampler that can choose of a row's largest logits, without seeing the others.
type Chooser interface {
	qwen3.Sampler
	// Enough says how many of the largest logits the work's choice needs, and at which
	// temperature it wants the logarithm of the sum over all; 0 where it needs all logits.
	Enough(w *model.Work) (k int, temperature float64)
	// ChooseOf is Choose for as many logits as Enough said, the largest first and of equals the
	// lower id. logSum is log Σ exp(logit/temperature) over all ids in float32, and NaN where there is one logit.
	// Not ok where that does not decide what Choose would.
	ChooseOf(w *model.Work, ids []int64, logits []float32, logSum float64) (c model.Choice, ok bool)
}

// mostLargest are the most of a row's largest logits that the device gives.
const mostLargest = 256

// resultBytes are the most of a row: argmax' logit and id, the largest logits and their ids, a sum,
// and what rounds the ids' place up.
const resultBytes = mostLargest*(4+8) + 4 + 4 + 8 + 2*8

// largest is where a row's largest logits lie among the results.
type largest struct {
	k, values, ids int
	sum            int // -1: there is none
}

// results are what comes down of the rows' largest logits, as far as they are laid out.
type results struct {
	bytes []byte
	used  int
	rows  []largest
	ids   []int64   // of the row at hand
	top   []float32 // of the row at hand
}

func newResults(rows int) results {
	return results{
		bytes: make([]byte, rows*resultBytes), rows: make([]largest, 0, rows),
		ids: make([]int64, mostLargest), top: make([]float32, mostLargest),
	}
}

// place lays out so many numbers of so many bytes.
func (r *results) place(n, each int) int {
	at := (r.used + each - 1) / each * each
	r.used = at + n*each
	return at
}

// read gives a row's largest logits.
func (r *results) read(l largest) (ids []int64, top []float32, logSum float64) {
	for i := range l.k {
		r.ids[i] = int64(binary.LittleEndian.Uint64(r.bytes[l.ids+8*i:]))
		r.top[i] = float32At(r.bytes, l.values+4*i)
	}
	logSum = math.NaN()
	if l.sum >= 0 {
		logSum = float64(float32At(r.bytes, l.sum))
	}
	return r.ids[:l.k], r.top[:l.k], logSum
}

func float32At(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}

// answer computes the logits of what is asked, and takes down as little of them as the sampler
// needs.
func (s *step) answer() error {
	for from := 0; from < s.n; from += s.block.room.rows {
		asks := s.block.asks[from:min(from+s.block.room.rows, s.n)]
		s.head(from, len(asks))
		s.choose(asks)
		if s.err != nil {
			return s.err
		}
		if s.results.used > 0 {
			if err := s.t.Download(s.results.bytes[:s.results.used], s.best, 0); err != nil {
				return err
			}
		}
		for i := range asks {
			if err := s.take(&asks[i], i); err != nil {
				return err
			}
		}
	}
	return nil
}

// choose launches the search for the rows' largest logits, where those are enough.
func (s *step) choose(asks []ask) {
	r := &s.results
	r.used, r.rows = 0, r.rows[:0]
	greedy := false
	for i := range asks {
		s.enough(&asks[i])
		greedy = greedy || asks[i].k == 1
		r.rows = append(r.rows, largest{k: asks[i].k, sum: -1})
	}
	if greedy {
		values, ids := r.place(len(asks), 4), r.place(len(asks), 8)
		for i := range r.rows {
			r.rows[i].values, r.rows[i].ids = values+4*i, ids+8*i
		}
		if s.err == nil {
			n := vocabulary(s.config)
			s.launched(s.kernels.Argmax(s.t, s.result(values), s.result(ids), s.logits.Pointer, len(asks), n, n))
		}
	}
	for from := 0; from < len(asks); {
		to := from + 1
		for to < len(asks) && asks[to].k > 1 && asks[from].k > 1 && asks[to].temperature == asks[from].temperature {
			to++
		}
		if asks[from].k > 1 {
			s.topK(asks, from, to)
		}
		from = to
	}
}

func (s *step) result(at int) uint64 { return s.best.Pointer + uint64(at) }

// enough fills in how many of an ask's largest logits are enough.
func (s *step) enough(a *ask) {
	a.k = 0
	if s.chooser == nil || a.Input || !a.Choose {
		return
	}
	if a.k, a.temperature = s.chooser.Enough(&s.batch.Work[a.Work]); a.k > min(mostLargest, vocabulary(s.config)) {
		a.k = 0
	}
}

// topK is for rows that follow each other and have one temperature.
func (s *step) topK(asks []ask, from, to int) {
	k := 0
	for i := from; i < to; i++ {
		k = max(k, asks[i].k)
	}
	r, n, v := &s.results, to-from, vocabulary(s.config)
	values, sums, ids := r.place(n*k, 4), r.place(n, 4), r.place(n*k, 8)
	for i := range n {
		row := &r.rows[from+i]
		row.values, row.ids, row.sum = values+4*i*k, ids+8*i*k, sums+4*i
	}
	if s.err == nil {
		s.launched(s.kernels.TopK(s.t, kernels.TopK{
			Values: s.result(values), IDs: s.result(ids), Sums: s.result(sums), Logits: s.logits.Pointer + uint64(4*from*v),
			Rows: n, Vocabulary: v, Stride: v, K: k, InverseTemperature: float32(1 / asks[from].temperature),
		}))
	}
}

// take makes a choice of the ith row at hand: of its largest logits, or of all of them.
func (s *step) take(a *ask, i int) error {
	w, c := &s.batch.Work[a.Work], &s.chosen[a.Work]
	if l := s.results.rows[i]; l.k > 0 {
		ids, top, logSum := s.results.read(l)
		if chosen, ok := s.chooser.ChooseOf(w, ids, top, logSum); ok {
			c.Token, c.Step, c.Err = chosen.Token, chosen.Step, chosen.Err
			return nil
		}
	}
	n := 4 * vocabulary(s.config)
	row := driver.Buffer{Pointer: s.logits.Pointer + uint64(i*n), Bytes: int64(n)}
	if err := s.t.Download(s.rowBytes, row, 0); err != nil {
		return err
	}
	for j := range n / 4 {
		s.row[j] = float32At(s.rowBytes, 4*j)
	}
	s.config.HidePadding(s.row)
	if err := a.Take(s.sampler, c, w, s.row); err != nil {
		return fmt.Errorf("rid %q: %w", w.RID, err)
	}
	return nil
}

package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// TestMix: on few bits it can be tried that no two numbers give the same one,
// and that another key gives another order.
func TestMix(t *testing.T) {
	for _, bits := range []int{1, 2, 7, 12, 16, batchBits} {
		keys := []uint64{0, 1, 0xdeadbeefcafef00d}
		if bits == batchBits {
			keys = keys[2:]
		}
		orders := map[string]bool{}
		for _, key := range keys {
			seen := make([]bool, 1<<bits)
			var head bytes.Buffer
			for n := range uint64(1) << bits {
				m := mix(n, bits, key)
				if m >= 1<<bits || seen[m] {
					t.Fatalf("%d bits, key %x: %d gives %d, out of range or given before", bits, key, n, m)
				}
				seen[m] = true
				if n < 64 {
					fmt.Fprint(&head, m, " ")
				}
			}
			if orders[head.String()] && bits > 6 {
				t.Errorf("%d bits: two keys give the same order", bits)
			}
			orders[head.String()] = true
		}
	}
}

// draw is the metadata of a row anywhere in the largest run.
func draw(rng *rand.Rand) (batch uint64, i int, v values) {
	batch, i = rng.Uint64N(maxBatches), rng.IntN(maxRows)
	switch rng.IntN(4) { // the ends too
	case 0:
		batch = []uint64{0, maxBatches - 1}[rng.IntN(2)]
	case 1:
		i = []int{0, maxRows - 1}[rng.IntN(2)]
	}
	return batch, i, newValues(rng.Uint64(), batch)
}

// TestFloatsStayFloats: every float is written with a fraction or an exponent,
// comes back as it was, and is not whole.
func TestFloatsStayFloats(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		batch, i, v := draw(rng)
		times := v.times(i)
		floats := []float64{
			v.metric(i)[0], v.metric(i)[1], times.QueueDurationS,
			times.WaitQueueEntryTime, times.ForwardEntryTime, times.PrefillFinishedTime,
		}
		for n, f := range floats {
			b, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			var back float64
			if err := json.Unmarshal(b, &back); err != nil || back != f {
				t.Fatalf("batch %d, row %d, value %d: %s came back as %v, %v", batch, i, n, b, back, err)
			}
			if !strings.ContainsAny(string(b), ".e") || f == math.Trunc(f) {
				t.Fatalf("batch %d, row %d, value %d is %s, want a fraction", batch, i, n, b)
			}
		}
	}
}

// TestValuesAreTheFixtures: where the fixture has a number, the stream has one
// that is less than one step above it.
func TestValuesAreTheFixtures(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 20_000 {
		batch, i, v := draw(rng)
		times, base := v.times(i), timeBase+float64(batch*batchSpan)
		ms := float64(i) / 1000
		for _, c := range []struct {
			name           string
			got, low, high float64
		}{
			{name: "metric 0", got: v.metric(i)[0], low: float64(i), high: float64(i) + 1},
			{name: "metric 1", got: v.metric(i)[1], low: 0, high: 1},
			{name: "wait_queue_entry_time", got: times.WaitQueueEntryTime, low: base + 10 + ms, high: base + 10 + ms + 0.001},
			{name: "forward_entry_time", got: times.ForwardEntryTime, low: base + 12 + ms, high: base + 12 + ms + 0.001},
			{name: "prefill_finished_time", got: times.PrefillFinishedTime, low: base + 14 + ms, high: base + 14 + ms + 0.001},
			{name: "queue_duration_s", got: times.QueueDurationS, low: 0.25 + ms, high: 0.25 + ms + 0.001},
		} {
			if !(c.low < c.got && c.got < c.high) {
				t.Fatalf("batch %d, row %d: %s is %v, want between %v and %v", batch, i, c.name, c.got, c.low, c.high)
			}
		}
		if times.PrefillFinishedTime >= 1<<31 {
			t.Fatalf("batch %d, row %d: %v is beyond 2^31 s, where floats become coarser", batch, i, times.PrefillFinishedTime)
		}
	}
}

// TestOneWidth encodes the metadata of rows from everywhere: each kind has one
// length.
func TestOneWidth(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	widths := map[string]int{}
	for range 5_000 {
		batch, i, v := draw(rng)
		for name, value := range map[string]any{"metric": v.metric(i), "nested": v.nested(i), "time_stats": v.times(i)} {
			b, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			var frame bytes.Buffer
			e := msgpack.NewEncoder(&frame)
			e.UseCompactInts(true)
			d := json.NewDecoder(bytes.NewReader(b))
			d.UseNumber()
			if err := encodeNext(d, e); err != nil {
				t.Fatal(err)
			}
			if widths[name] == 0 {
				widths[name] = frame.Len()
			}
			if frame.Len() != widths[name] {
				t.Fatalf("batch %d, row %d: %s %s takes %d bytes, others take %d", batch, i, name, b, frame.Len(), widths[name])
			}
		}
		if x := v.nested(i)[0].X[0]; x>>serialBits != 1 { // 41 bits: a pickle has six bytes for each
			t.Fatalf("batch %d, row %d: x is %d, want 2^40 to 2^41", batch, i, x)
		}
	}
}

// TestNeighboursDiffer: no value of a row comes twice among rows whose numbers
// are close, where a mistake in the ranges would show.
func TestNeighboursDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, batch := range []uint64{0, 1, 2, 3, 1000, 1001, maxBatches - 2, maxBatches - 1} {
		v := newValues(5, batch)
		for i := range 4100 { // the times of row i+2000 begin where the next time of row i does
			for n, value := range all(v, i) {
				where := fmt.Sprintf("batch %d, row %d, value %d", batch, i, n)
				if other, twice := seen[value]; twice {
					t.Fatalf("%s is in %s and in %s", value, other, where)
				}
				seen[value] = where
			}
		}
	}
}

// TestBatchesDoNotOverlap: the last row's last time comes before the first time
// of the next batch.
func TestBatchesDoNotOverlap(t *testing.T) {
	for _, batch := range []uint64{0, 1, maxBatches / 2, maxBatches - 2} {
		last := newValues(1, batch).times(maxRows - 1).PrefillFinishedTime
		first := newValues(1, batch+1).times(0).WaitQueueEntryTime
		if last >= first {
			t.Errorf("batch %d ends at %v, the next begins at %v", batch, last, first)
		}
	}
}

func all(v values, i int) []string {
	m, n, times := v.metric(i), v.nested(i)[0], v.times(i)
	return []string{
		fmt.Sprint("metric 0: ", m[0]), fmt.Sprint("metric 1: ", m[1]), fmt.Sprint("x: ", n.X[0]), n.Label, fmt.Sprint("duration: ", times.QueueDurationS),
		fmt.Sprint(times.WaitQueueEntryTime), fmt.Sprint(times.ForwardEntryTime), fmt.Sprint(times.PrefillFinishedTime),
	}
}

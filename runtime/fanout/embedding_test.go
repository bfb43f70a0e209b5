package fanout

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/detokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer"
	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// TestEmbeddingFrame gives every strategy the batch that SGLang's encoder made;
// its two rows go to two consumers, each with its own values.
func TestEmbeddingFrame(t *testing.T) {
	vectors := []wire.Embedding{[]wire.Value{0.5, -1.5, 2.0}, []wire.Value{3.0, 4.25, -5.0}}
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if err := r.play(t, sglangFrame(t, "embedding-output.bin")); err != nil {
			t.Fatal(err)
		}
		for i, vector := range vectors {
			ipc := fmt.Sprintf("ipc:///run/fanout-golden1/http-%d", i)
			want := &wire.BatchEmbeddingOutput{
				RIDs:             []string{fmt.Sprint("rid-full-", i)},
				FinishedReasons:  []wire.Map{{{Key: "type", Value: "stop"}, {Key: "matched", Value: nil}}},
				Embeddings:       []wire.Embedding{vector},
				PromptTokens:     repeat(1, int64(7+i)),
				CachedTokens:     repeat(1, int64(i)),
				RetractionCounts: repeat(1, int64(0)),
			}
			if isGrouped(info.Name) {
				want.HTTPWorkerIPCs = repeat(1, ipc)
			}
			if got := r.to[ipc].frames; !reflect.DeepEqual(got, [][]byte{encode(t, want)}) {
				t.Errorf("consumer %d got %q, want %q", i, got, encode(t, want))
			}
		}
		if r.counters.OpaqueDecodes != 0 || r.counters.FailedRows != 0 {
			t.Errorf("counted %+v", r.counters)
		}
	})
}

// vectors32 is a batch of 32 embeddings for four consumers with a wrapped column.
func vectors32(t testing.TB) *wire.BatchEmbeddingOutput {
	t.Helper()
	m := &wire.BatchEmbeddingOutput{}
	_, stats := metadata(32)
	m.TimeStats = wrap(t, stats)
	for i := range 32 {
		m.RIDs = append(m.RIDs, fmt.Sprint("rid-", i))
		m.HTTPWorkerIPCs = append(m.HTTPWorkerIPCs, wire.Some(worker(i%4)))
		m.Embeddings = append(m.Embeddings, []wire.Value{float64(i), 0.5})
	}
	return m
}

// TestEmbeddingsLeaveTheDetokenizerAlone: an embedding under the rid of a request
// that streams, finished at that, is none of the request's rows.
func TestEmbeddingsLeaveTheDetokenizerAlone(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		m := vectors32(t)
		m.FinishedReasons = make([]wire.Map, 32)
		for i := range m.FinishedReasons {
			m.FinishedReasons[i] = wire.Map{{Key: "type", Value: "stop"}, {Key: "matched", Value: nil}}
		}
		if err := r.play(t, encode(t, published(0, 32)), encode(t, m), encode(t, published(1, 32))); err != nil {
			t.Fatal(err)
		}
		rows := r.delivered(t, worker(2))
		if len(rows) != 24 {
			t.Fatalf("%d rows, want 24", len(rows))
		}
		for i, row := range rows[:24] {
			want := []any{"a", nil, " b"}[i/8]
			if row["output_strs"] != want || (row["embeddings"] == nil) != (want != nil) {
				t.Errorf("row %d: text %v, embedding %v, want the text %v", i, row["output_strs"], row["embeddings"], want)
			}
		}
	})
}

// TestEmbeddingDecodes counts how often the one opaque column is opened.
func TestEmbeddingDecodes(t *testing.T) {
	want := map[string]int64{"per-row": 32, "reuse": 2, "grouped": 4, "splice": 0, "grouped-splice": 0, "floor": 0}
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if err := r.play(t, encode(t, vectors32(t))); err != nil {
			t.Fatal(err)
		}
		if got := r.counters.OpaqueDecodes; got != want[info.Name] {
			t.Errorf("%d decodes, want %d", got, want[info.Name])
		}
	})
}

// TestEmbeddingFaults: a row without a consumer fails alone, a pickled column and
// all of its rows with a name.
func TestEmbeddingFaults(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		m := vectors32(t)
		m.HTTPWorkerIPCs[5] = wire.Opt[string]{}
		err := r.play(t, encode(t, m))
		var row *RowError
		if !errors.As(err, &row) || row.Row != 5 || row.RID != "rid-5" || row.Rows != 1 || !errors.Is(err, ErrNoConsumer) {
			t.Errorf("got %v, want row 5 without a consumer", err)
		}
		if got, want := r.rids(t, worker(1)), append([]string{"rid-1"}, ridsOf(1, 32)[2:]...); !reflect.DeepEqual(got, want) {
			t.Errorf("consumer 1 got %q, want %q", got, want)
		}
		r = newRig(t, info.Name, setting{})
		m.TimeStats = &wire.Opaque{Wrapper: wire.PickleWrapper, Data: []byte(".")}
		err = r.play(t, encode(t, m))
		if err == nil || !strings.Contains(err.Error(), "BatchEmbeddingOutput.time_stats") || !strings.Contains(err.Error(), "PickleWrapper") {
			t.Errorf("got %v, want an error with field and wrapper", err)
		}
		if len(r.events) != 0 {
			t.Errorf("%q happened", r.events)
		}
	})
}

// TestNoAllocationAnEmbedding: splicing embeddings allocates no more than
// splicing rows of text, the one string of all rids.
func TestNoAllocationAnEmbedding(t *testing.T) {
	for _, name := range []string{"splice", "grouped-splice"} {
		r := newRig(t, name, setting{})
		r.Strategy.(interface{ setDial(Dial) }).setDial(func(string) (Sender, error) { return nothing{}, nil })
		frame := encode(t, vectors32(t))
		batch := func() {
			if err := r.Batch(frame); err != nil {
				t.Fatal(err)
			}
		}
		batch()
		if n := testing.AllocsPerRun(30, batch); n > 1 {
			t.Errorf("%s: %v allocations a batch of 32 rows, want at most 1", name, n)
		}
	}
}

// TestByteVocabulary: with a vocabulary of bytes, by both methods, special
// tokens are in the text of the rows that want them and not in the others', in
// one batch.
func TestByteVocabulary(t *testing.T) {
	vocab, err := tokenizer.NewBytes([]tokenizer.Token{
		{ID: 0, Bytes: []byte("</s>"), Special: true}, {ID: 1, Bytes: []byte("\xf0\x9f")},
		{ID: 2, Bytes: []byte("\x98\x80")}, {ID: 3, Bytes: []byte("z ")},
	})
	if err != nil {
		t.Fatal(err)
	}
	steps := [3][]int64{{3, 1}, {2, 0}, {1}}
	want := [2][3]string{{"z ", "😀", "�"}, {"z ", "😀</s>", "�"}}
	each(t, func(t *testing.T, info Info) {
		for _, method := range []detokenizer.Method{detokenizer.MethodOffset, detokenizer.MethodBytes} {
			detok, err := detokenizer.NewMethod(method, vocab, detokenizer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, info.Name, setting{detok: detok})
			var frames [][]byte
			for step, ids := range steps {
				m := published(step, 8)
				for i := range m.RIDs {
					m.DecodeIDs[i] = wire.Some(wire.IntArray{Values: ids})
					m.SkipSpecialTokens[i] = wire.Some(i%2 == 0)
				}
				frames = append(frames, encode(t, m))
			}
			if err := r.play(t, frames...); err != nil {
				t.Fatal(err)
			}
			for c := range 4 {
				for k, row := range r.delivered(t, worker(c)) {
					if got, want := row["output_strs"], want[c%2][k/2]; got != want {
						t.Errorf("%s, consumer %d, row %d: got %q, want %q", method, c, k, got, want)
					}
				}
			}
		}
	})
}

package fanout

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle/pickletest"
)

// openAny is Open for any wrapper: the rows of a pickle are texts that can be
// compared, read by the dumb twin of wire/pickle.
func openAny(o *wire.Opaque) (wire.Value, error) {
	if o == nil || o.Wrapper != wire.PickleWrapper {
		return o.Open()
	}
	list, entries, err := pickletest.Rows(o.Data)
	if err != nil || list == nil && entries == nil {
		return nil, err
	}
	for i, row := range list {
		if text, ok := row.(string); ok {
			list[i] = pickletest.RoundTimes(text)
		}
	}
	if list != nil {
		return list, nil
	}
	m := make(wire.Map, len(entries))
	for k, e := range entries {
		m[k].Key = e.Key
		if e.List != nil {
			m[k].Value = e.List
		}
	}
	return m, nil
}

// badPickle is a batch whose customized_info is no pickle that can be cut.
func badPickle(t testing.TB) []byte {
	m := published(0, 2)
	m.CustomizedInfo = &wire.Opaque{Wrapper: wire.PickleWrapper, Data: []byte("\x80\x04]0.")}
	return encode(t, m)
}

// pickled is the batch of 32 rows with pickled metadata that SGLang's scheduler
// sent at a step.
func pickled(t testing.TB, step int) []byte {
	return sglangFrame(t, fmt.Sprintf("in-rich-32-step%d.bin", step))
}

// TestSGLangPickles gives every strategy the batches with pickled metadata that
// SGLang's scheduler sent, and wants the rows that SGLang's own detokenizer sent
// on, every field of them: pickles as what they hold, all else exactly.
func TestSGLangPickles(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if err := r.play(t, pickled(t, 0), pickled(t, 1), pickled(t, 2)); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for c := range 4 {
			ipc := fmt.Sprintf("ipc:///run/fanout-golden1/http-%d", c)
			var want [][]byte
			for step := range 3 {
				want = append(want, sglangFrames(t, fmt.Sprintf("out-rich-32-step%d-worker%d.lpf", step, c))...)
			}
			sglang := &rig{name: "sglang", to: map[string]*memory{ipc: {frames: want}}}
			got, all := r.delivered(t, ipc), sglang.delivered(t, ipc)
			if !reflect.DeepEqual(got, all) {
				t.Errorf("consumer %d: got rows %v, want %v", c, got, all)
			}
			for _, row := range got {
				if row["customized_info"] == nil || row["time_stats"] == nil {
					t.Errorf("a row without metadata: %v", row)
				}
			}
			rows += len(got)
		}
		if rows != 96 {
			t.Errorf("%d rows, want 96", rows)
		}
	})
}

func decoded(t testing.TB, frame []byte) *wire.BatchTokenIDOutput {
	m, err := wire.DecodeTokenID(frame)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPickledEmbeddings: a BatchEmbeddingOutput's pickled time_stats are cut too.
func TestPickledEmbeddings(t *testing.T) {
	times := decoded(t, pickled(t, 1)).TimeStats
	want, _, err := pickletest.Rows(times.Data)
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		m := vectors32(t)
		m.TimeStats = times
		if err := r.play(t, encode(t, m)); err != nil {
			t.Fatal(err)
		}
		for c := range 4 {
			rows := r.delivered(t, worker(c))
			if len(rows) != 8 {
				t.Fatalf("consumer %d has %d rows, want 8", c, len(rows))
			}
			for k, row := range rows {
				if row["time_stats"] != pickletest.RoundTimes(want[c+4*k].(string)) {
					t.Errorf("consumer %d, row %d: got %v, want %v", c, k, row["time_stats"], want[c+4*k])
				}
			}
		}
	})
}

package fanout

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
)

// TestStrategiesAgree plays random streams, with faults and evictions too,
// through every strategy and compares with the dumb one: the same rows as
// values, in the same order, to the same consumers; the same rows failed.
func TestStrategiesAgree(t *testing.T) {
	rows, failed, aborted, vectors := 0, int64(0), 0, 0
	for seed := range uint64(120) {
		rng := rand.New(rand.NewPCG(seed, 11))
		w := &world{Rand: rng, t: t, consumers: 1 + rng.IntN(5), faults: rng.IntN(3) == 0}
		s := setting{capacity: []int{0, 2, 4}[rng.IntN(3)]}
		frames := w.stream()
		dumb := newRig(t, "per-row", s)
		wantErr := dumb.play(t, frames...)
		for _, info := range List() {
			r := newRig(t, info.Name, s)
			err := r.play(t, frames...)
			what := fmt.Sprintf("seed %d, %s", seed, info.Name)
			if got, want := failedRows(err), failedRows(wantErr); got != want {
				t.Fatalf("%s: failed %s, per-row %s\n%v", what, got, want, err)
			}
			if r.counters.FailedRows != dumb.counters.FailedRows {
				t.Fatalf("%s: %d rows failed, per-row %d", what, r.counters.FailedRows, dumb.counters.FailedRows)
			}
			sameDelivery(t, what, r, dumb, w.consumers)
		}
		for ipc := range dumb.to {
			for _, row := range dumb.delivered(t, ipc) {
				rows++
				if row["class"] == embeddings {
					vectors++
				}
				if f, ok := row["finished_reasons"].(wire.Map); ok && strings.Contains(fmt.Sprint(f), "evicted") {
					aborted++
				}
			}
		}
		failed += dumb.counters.FailedRows
	}
	if rows == 0 || failed == 0 || aborted == 0 || vectors == 0 {
		t.Errorf("%d rows, %d failed, %d aborted, %d of embeddings: the streams do not cover what they should", rows, failed, aborted, vectors)
	}
}

// failedRows names the rows of RowErrors in order.
func failedRows(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := err.(*RowError); ok {
		return fmt.Sprintf(" %d %q x%d", e.Row, e.RID, e.Rows)
	}
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		var out strings.Builder
		for _, err := range e.Unwrap() {
			out.WriteString(failedRows(err))
		}
		return out.String()
	}
	return " " + err.Error()
}

func sameDelivery(t *testing.T, what string, r, dumb *rig, consumers int) {
	t.Helper()
	if len(r.to) != len(dumb.to) {
		t.Fatalf("%s: %d consumers got rows, per-row %d", what, len(r.to), len(dumb.to))
	}
	for c := range consumers {
		got, want := r.delivered(t, worker(c)), dumb.delivered(t, worker(c))
		if len(got) != len(want) {
			t.Fatalf("%s: consumer %d got %d rows, per-row %d", what, c, len(got), len(want))
		}
		for i := range want {
			if reflect.DeepEqual(got[i], want[i]) {
				continue
			}
			for field := range want[i] {
				if !reflect.DeepEqual(got[i][field], want[i][field]) {
					t.Fatalf("%s: consumer %d, row %d (%v), %s: got %#v, per-row %#v", what, c, i, want[i]["rids"], field, got[i][field], want[i][field])
				}
			}
			t.Fatalf("%s: consumer %d, row %d: got %v, per-row %v", what, c, i, got[i], want[i])
		}
	}
}

// TestSGLangFrames gives every strategy the batches that SGLang's scheduler
// sent, and wants the bytes that SGLang's detokenizer sent on; of grouped
// messages, which that release did not have, the rows.
func TestSGLangFrames(t *testing.T) {
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		var frames [][]byte
		for step := range 3 {
			frames = append(frames, sglangFrame(t, fmt.Sprintf("in-plain-32-step%d.bin", step)))
		}
		if err := r.play(t, frames...); err != nil {
			t.Fatal(err)
		}
		for c := range 4 {
			ipc := fmt.Sprintf("ipc:///run/fanout-golden1/http-%d", c)
			var want [][]byte
			for step := range 3 {
				want = append(want, sglangFrames(t, fmt.Sprintf("out-plain-32-step%d-worker%d.lpf", step, c))...)
			}
			if !isGrouped(info.Name) && !reflect.DeepEqual(r.to[ipc].frames, want) {
				t.Errorf("consumer %d: the frames are not SGLang's", c)
			}
			sglang := &rig{name: "sglang", to: map[string]*memory{ipc: {frames: want}}}
			if got, want := r.delivered(t, ipc), sglang.delivered(t, ipc); !reflect.DeepEqual(got, want) {
				t.Errorf("consumer %d: got rows %v, want %v", c, got, want)
			}
		}
	})
}

// TestGroupedIPCs: SGLang's grouped messages name the consumer for each row.
func TestGroupedIPCs(t *testing.T) {
	m, err := wire.DecodeStr(sglangFrame(t, "grouped-0523-rich-310-worker0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	if m.Rows() != 78 || len(m.HTTPWorkerIPCs) != 78 {
		t.Fatalf("%d rows, %d names", m.Rows(), len(m.HTTPWorkerIPCs))
	}
	(&rig{name: "grouped"}).checkIPCs(t, m.Rows(), m.HTTPWorkerIPCs, "ipc:///run/fanout-golden1/http-0")
}

// TestOrder has the sends and flushes of a batch of six rows for two consumers.
func TestOrder(t *testing.T) {
	const a, b = "ipc:///run/http-1", "ipc:///run/http-0"
	perRow := []string{"send " + a, "flush " + a + " 1", "send " + b, "flush " + b + " 1", "send " + b, "flush " + b + " 1", "send " + a, "flush " + a + " 1"}
	grouped := []string{"send " + a, "flush " + a + " 1", "send " + b, "flush " + b + " 1"}
	burst := []string{"send " + a, "send " + b, "send " + b, "send " + a, "flush " + a + " 2", "flush " + b + " 2"}
	want := map[string][]string{
		"per-row": perRow, "reuse": perRow, "grouped": grouped, "splice": burst, "floor": burst,
		"grouped-splice": {"send " + a, "send " + b, "flush " + a + " 1", "flush " + b + " 1"},
	}
	m := rich(t, 0, 4)
	for i, ipc := range []string{a, b, b, a} {
		m.HTTPWorkerIPCs[i] = wire.Some(ipc)
	}
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if err := r.play(t, encode(t, m)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(r.events, want[info.Name]) {
			t.Errorf("got %q, want %q", r.events, want[info.Name])
		}
		if !reflect.DeepEqual(r.dialled, []string{a, b}) {
			t.Errorf("dialled %q, want each once, by first appearance", r.dialled)
		}
	})
}

// TestOtherFrames: what is no batch for a detokenizer is named, and nothing is
// sent.
func TestOtherFrames(t *testing.T) {
	freeze := append([]byte{0x93, 0xab}, "FreezeGCReq\xc0\xc0"...)
	for name, c := range map[string]struct {
		frame []byte
		want  string
	}{
		"another class":           {freeze, "FreezeGCReq"},
		"an embedding, cut short": {sglangFrame(t, "embedding-output.bin")[:200], "BatchEmbeddingOutput"},
		"its own kind":            {sglangFrame(t, "out-plain-1-step0-worker0-0.bin"), "BatchStrOutput"},
		"cut short":               {encode(t, rich(t, 0, 4))[:200], "wire: "},
		"empty":                   {nil, "wire: "},
		"a bad pickle":            {badPickle(t), ".customized_info"},
	} {
		each(t, func(t *testing.T, info Info) {
			r := newRig(t, info.Name, setting{})
			err := r.play(t, c.frame)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "fanout: ") && !strings.Contains(err.Error(), "fanout: ") {
				t.Errorf("%s: got %v, want a fanout error with %q", name, err, c.want)
			}
			if name == "a bad pickle" && !strings.Contains(err.Error(), "inside the PickleWrapper: pickle: POP at byte 3: ") {
				t.Errorf("%s: %v does not name wrapper, opcode and offset", name, err)
			}
			if len(r.events) != 0 {
				t.Errorf("%s: %q happened", name, r.events)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	ok := newRig(t, "per-row", setting{})
	c := Config{Detokenizer: ok.Strategy.(*perRow).detok, Dial: func(string) (Sender, error) { return nil, nil }}
	_, err := New("spliced", c)
	for _, known := range append(List(), Info{Name: `"spliced"`}) {
		if err == nil || !strings.Contains(err.Error(), known.Name) {
			t.Errorf("unknown name: got %v, want it to say %s", err, known.Name)
		}
	}
	if _, err := New("splice", Config{Dial: c.Dial}); err == nil {
		t.Error("no Detokenizer: no error")
	}
	if _, err := New("splice", Config{Detokenizer: c.Detokenizer}); err == nil {
		t.Error("no Dial: no error")
	}
}

// TestRegistry: NeedsPrepared tells the truth, names are different.
func TestRegistry(t *testing.T) {
	seen := map[string]bool{}
	each(t, func(t *testing.T, info Info) {
		r := newRig(t, info.Name, setting{})
		if _, ok := r.Strategy.(Prepared); ok != info.NeedsPrepared {
			t.Errorf("implements Prepared: %t, NeedsPrepared: %t", ok, info.NeedsPrepared)
		}
		if seen[info.Name] || info.Summary == "" {
			t.Errorf("name %q is not its own, or has no summary %q", info.Name, info.Summary)
		}
		seen[info.Name] = true
	})
}

// TestFloor: Batch looks at nothing, and runs out.
func TestFloor(t *testing.T) {
	r := newRig(t, "floor", setting{})
	one, two := encode(t, rich(t, 0, 4)), encode(t, rich(t, 1, 4))
	p := r.Strategy.(Prepared)
	if err := errors.Join(p.Prepare([][]byte{one}), p.Prepare([][]byte{two})); err != nil {
		t.Fatal(err)
	}
	// A call that fails leaves what was prepared.
	err := p.Prepare([][]byte{encode(t, rich(t, 0, 4)), []byte("no frame")})
	if err == nil || !strings.Contains(err.Error(), "frame 1 of 2") {
		t.Errorf("bad frame: got %v", err)
	}
	if len(r.dialled) != 0 || r.counters != (Counters{}) {
		t.Errorf("preparing dialled %q and counted %+v", r.dialled, r.counters)
	}
	if n := r.Strategy.(*floor).detok.Len(); n != 0 {
		t.Errorf("preparing left %d states in the detokenizer that was given", n)
	}
	for range 2 {
		if err := r.Batch([]byte("anything")); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Batch(one); err == nil || !errors.Is(err, errNothingPrepared) {
		t.Errorf("a third batch: got %v, want that nothing is prepared", err)
	}
	splice := newRig(t, "splice", setting{})
	if err := splice.play(t, one, two); err != nil {
		t.Fatal(err)
	}
	if splice.counters != r.counters {
		t.Errorf("counters %+v, splice %+v", r.counters, splice.counters)
	}
	for c := range 4 {
		if got, want := r.to[worker(c)].frames, splice.to[worker(c)].frames; !reflect.DeepEqual(got, want) {
			t.Errorf("consumer %d: got %d frames, splice %d, or others", c, len(got), len(want))
		}
	}
}

func FuzzSpliceAgainstPerRow(f *testing.F) {
	f.Add(encode(f, rich(f, 2, 3)))
	f.Add(encode(f, native(0, 2)))
	f.Add(sglangFrame(f, "in-plain-2-step2.bin"))
	f.Add(sglangFrame(f, "full-token-id-output.bin"))
	f.Add(sglangFrame(f, "in-rich-2-step2.bin"))
	f.Add(sglangFrame(f, "embedding-output.bin"))
	f.Fuzz(func(t *testing.T, frame []byte) {
		dumb, r := newRig(t, "per-row", setting{}), newRig(t, "splice", setting{})
		before := bytes.Clone(frame)
		wantErr, err := dumb.Batch(frame), r.Batch(frame)
		if !bytes.Equal(frame, before) {
			t.Fatal("the frame was changed")
		}
		if wantErr != nil || err != nil {
			return // which faults a lazy and a thorough reader see first may differ
		}
		for ipc := range dumb.to {
			if got, want := r.delivered(t, ipc), dumb.delivered(t, ipc); !reflect.DeepEqual(got, want) {
				t.Fatalf("consumer %q: got %v, per-row %v", ipc, got, want)
			}
		}
	})
}

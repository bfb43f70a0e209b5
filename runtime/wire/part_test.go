package wire

import (
	"bytes"
	"testing"
)

// The part of a batch that a View makes is that of the codec, byte for byte:
// any rows in any order, some twice, none at all; of either class.
func TestPartEqualsTake(t *testing.T) {
	v := &View{} // one for all batches: nothing may be left of the one before
	randomBatches(t, 400, false, func(t *testing.T, g *gen, m *BatchTokenIDOutput) {
		comparePart(t, g, v, m, m.RIDs)
		e := &BatchEmbeddingOutput{}
		g.message(t, e, 1+g.IntN(20))
		comparePart(t, g, v, e, e.RIDs)
	})
}

func comparePart[T any, M interface {
	*T
	Message
}](t *testing.T, g *gen, v *View, m M, rids []string) {
	t.Helper()
	if err := v.Parse(mustEncode(t, m)); err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][]int{someRows(g, m.Rows()), {g.IntN(m.Rows())}, {}} {
		part, err := Take(m, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		rows32 := make([]int32, len(rows))
		for k, i := range rows {
			rows32[k] = int32(i)
		}
		want := append([]byte("before"), mustEncode(t, part)...)
		if got := v.AppendPart([]byte("before"), rows32); !bytes.Equal(got, want) {
			t.Errorf("%s, rows %v: got\n%q\nwant\n%q", m.Class(), rows, got, want)
		}
	}
	for i, rid := range rids {
		if got := v.RIDBytes(i); string(got) != rid {
			t.Errorf("RIDBytes(%d) = %q, want %q", i, got, rid)
		}
	}
}

func TestPartAllocations(t *testing.T) {
	frame := mustEncode(t, richBatch(t, 310))
	v := &View{}
	var buf []byte
	rows := []int32{0, 4, 8, 309}
	batch := func() {
		if err := v.Parse(frame); err != nil {
			t.Fatal(err)
		}
		buf = v.AppendPart(buf[:0], rows)
	}
	batch()
	if n := testing.AllocsPerRun(20, batch); n > 0 {
		t.Errorf("%v allocations a batch, want none", n)
	}
}

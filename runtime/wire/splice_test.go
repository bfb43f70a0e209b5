package wire

import (
	"bytes"
	"testing"
)

// The rows a View makes are those of the codec, byte for byte.
func TestViewEqualsTake(t *testing.T) {
	v := &View{} // one for all batches: nothing may be left of the one before
	randomBatches(t, 400, false, func(t *testing.T, g *gen, m *BatchTokenIDOutput) {
		if err := v.Parse(mustEncode(t, m)); err != nil {
			t.Fatal(err)
		}
		texts := make([]string, m.Rows())
		for i := range texts {
			texts[i] = g.text()
		}
		out, err := m.Str(texts)
		if err != nil {
			t.Fatal(err)
		}
		abort := Map{{"type", "abort"}, {"message", g.text()}}
		for i := range m.Rows() {
			finish := maybe(g, func() Map { return abort })
			want := takeRow(t, out, i, finish)
			if got := v.AppendRow([]byte("before"), i, []byte(texts[i]), rawMap(t, finish)); !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Errorf("row %d: got\n%q\nwant\n%q", i, got, want)
			}
		}
		compareGroup(t, g, v, out, abort)
	})
}

func takeRow(t *testing.T, out *BatchStrOutput, i int, finish Opt[Map]) []byte {
	t.Helper()
	row, err := Take(out, []int{i}, nil)
	if err != nil {
		t.Fatal(err)
	}
	row.HTTPWorkerIPCs = nil
	if finish.OK {
		row.FinishedReasons = []Map{finish.V}
	}
	return mustEncode(t, row)
}

func rawMap(t *testing.T, m Opt[Map]) []byte {
	t.Helper()
	if !m.OK {
		return nil
	}
	o, err := Wrap(m.V)
	if err != nil {
		t.Fatal(err)
	}
	return o.Data
}

func compareGroup(t *testing.T, g *gen, v *View, out *BatchStrOutput, abort Map) {
	t.Helper()
	rows := someRows(g, out.Rows())
	rows32 := make([]int32, len(rows))
	for k, i := range rows {
		rows32[k] = int32(i)
	}
	group, err := Take(out, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	aborted := make([][]byte, len(rows))
	for k := range rows {
		if g.chance(4) {
			if group.FinishedReasons == nil {
				group.FinishedReasons = make([]Map, len(rows))
			}
			group.FinishedReasons[k] = abort
			aborted[k] = rawMap(t, Some(abort))
		}
	}
	finish := func(k int) []byte { return aborted[k] }
	if g.chance(3) && bytes.Equal(bytes.Join(aborted, nil), nil) {
		finish = nil
	}
	texts := func(k int) []byte { return []byte(out.OutputStrs[rows[k]].V) }
	want := mustEncode(t, group)
	if got := v.AppendRows(nil, rows32, texts, finish); !bytes.Equal(got, want) {
		t.Errorf("rows %v: got\n%q\nwant\n%q", rows, got, want)
	}
}

package router

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanoutbench/fanoutbench/runtime/wire"
	"github.com/fanoutbench/fanoutbench/runtime/wire/pickle/pickletest"
)

// TestPickles gives every strategy SGLang's batch of 32 rows with pickled
// metadata: each row's pickles hold what they held in the batch, and the counts of
// decodes are those of any wrapper.
func TestPickles(t *testing.T) {
	frame, err := os.ReadFile(filepath.Join("..", "wire", "testdata", "in-rich-32-step0.bin"))
	if err != nil {
		t.Fatal(err)
	}
	want := pickles(t, frame)
	groups := map[string][][]byte{}
	for _, info := range List() {
		list, senders := targets(2)
		var c Counters
		s, err := New(info.Name, Config{Rule: ByRID, Targets: senders, Counters: &c})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Batch(frame); err != nil {
			t.Fatalf("%s: %v", info.Name, err)
		}
		rows := 0
		for _, to := range list {
			groups[info.Name] = append(groups[info.Name], to.frames...)
			for _, f := range to.frames {
				for rid, row := range pickles(t, f) {
					if rows++; row != want[rid] {
						t.Errorf("%s: %s has %q, want %q", info.Name, rid, row, want[rid])
					}
				}
			}
		}
		if decodes := map[string]int64{"per-row": 64, "grouped": 4}[info.Name]; rows != 32 || c.OpaqueDecodes != decodes {
			t.Errorf("%s: %d rows, %d decodes, want 32 and %d", info.Name, rows, c.OpaqueDecodes, decodes)
		}
	}
	if g, s := bytes.Join(groups["grouped"], nil), bytes.Join(groups["grouped-splice"], nil); !bytes.Equal(g, s) {
		t.Error("the messages of grouped and grouped-splice differ")
	}
}

// pickles gives both pickled values of each rid.
func pickles(t *testing.T, frame []byte) map[string][2]any {
	t.Helper()
	m, err := wire.DecodeTokenID(frame)
	if err != nil {
		t.Fatal(err)
	}
	_, info, err := pickletest.Rows(m.CustomizedInfo.Data)
	if err != nil || len(info) != 2 {
		t.Fatalf("customized_info has %d keys, %v", len(info), err)
	}
	times, _, err := pickletest.Rows(m.TimeStats.Data)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][2]any{}
	for i, rid := range m.RIDs {
		rows[rid] = [2]any{info[0].List[i].(string) + info[1].List[i].(string), times[i]}
	}
	return rows
}

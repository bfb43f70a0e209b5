package stream

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

func TestFencePaths(t *testing.T) {
	byRID := func(n int) protocol.Routing {
		return protocol.Routing{Detokenizers: n, Router: protocol.RouterRID}
	}
	byIPC := func(n int) protocol.Routing {
		return protocol.Routing{Detokenizers: n, Router: protocol.RouterIPC}
	}
	for _, k := range []struct {
		arms []protocol.Routing
		want Paths
	}{
		{nil, Paths{1, 1}},
		{[]protocol.Routing{{}, {Detokenizers: 1, Router: protocol.RouterNone}}, Paths{1, 1}},
		{[]protocol.Routing{byRID(2), {}}, Paths{2, 2}},
		{[]protocol.Routing{byRID(2), byRID(3)}, Paths{3, 6}},
		{[]protocol.Routing{byRID(4), byRID(6)}, Paths{6, 12}},
		{[]protocol.Routing{byIPC(5), byRID(3)}, Paths{3, 3}},
		{[]protocol.Routing{byIPC(5), byIPC(2)}, Paths{1, 1}},
	} {
		if got := FencePaths(k.arms...); got != k.want {
			t.Errorf("%+v: %+v, want %+v", k.arms, got, k.want)
		}
	}
}

// A widened fence reaches every pair of detokenizer and consumer of every arm,
// in each of its batches, with rids that are used once; its other columns are
// the narrow fence's over again. One detokenizer changes nothing.
func TestWiden(t *testing.T) {
	const consumers = 3
	narrow := seed(t, 1, place(9, 2, Rich), consumers).Fence
	if same, err := FencePaths(protocol.Routing{}).Widen(narrow); err != nil || !reflect.DeepEqual(same, narrow) {
		t.Errorf("%v, %v, want the fence as it was", same, err)
	}
	for _, m := range [][2]int{{1, 2}, {2, 3}, {3, 3}, {4, 6}, {5, 1}, {63, 64}} {
		arms := []protocol.Routing{{Detokenizers: m[0], Router: protocol.RouterRID}, {Detokenizers: m[1], Router: protocol.RouterRID}}
		wide, err := FencePaths(arms...).Widen(narrow)
		if err != nil {
			t.Fatal(err)
		}
		rows := max(m[0], m[1])
		for step, b := range wide {
			rids := ridsOf(t, b)
			if len(rids) != rows*consumers || len(b.Consumers) != len(rids) {
				t.Fatalf("%v: %d rids for %d rows, want %d", m, len(rids), len(b.Consumers), rows*consumers)
			}
			if !reflect.DeepEqual(rids, ridsOf(t, wide[0])) {
				t.Errorf("%v: step %d has other rids than step 0", m, step)
			}
			reached, seen := map[string]bool{}, map[string]bool{}
			for i, rid := range rids {
				seen[rid] = true
				for arm, n := range m {
					reached[fmt.Sprint(arm, crc32.ChecksumIEEE([]byte(rid))%uint32(n), b.Consumers[i])] = true
				}
			}
			if len(seen) != len(rids) || len(reached) != (m[0]+m[1])*consumers {
				t.Errorf("%v: %d different rids of %d; %d ways reached, want %d", m, len(seen), len(rids), len(reached), (m[0]+m[1])*consumers)
			}
			repeated(t, narrow[step], b, rows)
		}
	}
}

func ridsOf(t *testing.T, b protocol.Batch) (rids []string) {
	t.Helper()
	if err := json.Unmarshal(b.Columns["rids"], &rids); err != nil {
		t.Fatal(err)
	}
	return rids
}

func repeated(t *testing.T, narrow, wide protocol.Batch, rows int) {
	t.Helper()
	for name, column := range narrow.Columns {
		var one, all []any
		if err := json.Unmarshal(column, &one); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(wide.Columns[name], &all); err != nil || len(all) != rows*len(one) {
			t.Fatalf("column %s: %d values, %v, want %d", name, len(all), err, rows*len(one))
		}
		for i := range all {
			if name != "rids" && !reflect.DeepEqual(all[i], one[i%len(one)]) {
				t.Errorf("column %s, row %d: %v, want %v", name, i, all[i], one[i%len(one)])
			}
		}
	}
}

func TestWidenErrors(t *testing.T) {
	for _, columns := range []map[string]json.RawMessage{
		{"rids": json.RawMessage(`{}`)}, {"customized_info": json.RawMessage(`{"k":[1]}`)},
	} {
		if got, err := (Paths{2, 2}).Widen([]protocol.Batch{{Columns: columns}}); err == nil {
			t.Errorf("%v became %v, want an error", columns, got)
		}
	}
}

// In the router's loop every row is where its rid leads, each consumer has a row
// of the fence, and a rid's rows stay together.
func TestRoute(t *testing.T) {
	for _, consumers := range []int{1, 2, 3, 7} {
		w := seed(t, 1, place(5, 20, Rich), consumers)
		before := ridsOf(t, w.Stream[0])
		if err := Route(&w, consumers); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ridsOf(t, w.Stream[0]), before) {
			t.Error("the stream has other rids")
		}
		for _, b := range append(w.Stream, w.Fence...) {
			for i, rid := range ridsOf(t, b) {
				if want := int(crc32.ChecksumIEEE([]byte(rid)) % uint32(consumers)); b.Consumers[i] != want {
					t.Errorf("of %d: %s is with consumer %d, want %d", consumers, rid, b.Consumers[i], want)
				}
			}
		}
		for step, b := range w.Fence {
			if len(b.Consumers) != consumers || !reflect.DeepEqual(ridsOf(t, b), ridsOf(t, w.Fence[0])) {
				t.Errorf("fence batch %d: consumers %v, rids %q", step, b.Consumers, ridsOf(t, b))
			}
		}
	}
	bad := protocol.Work{Stream: []protocol.Batch{{Consumers: []int{0}, Columns: map[string]json.RawMessage{"rids": json.RawMessage(`["a","b"]`)}}}}
	if err := Route(&bad, 2); err == nil {
		t.Error("two rids for one row, want an error")
	}
}

package oracle

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// TestAccepted: what an arm may do in more than one way.
func TestAccepted(t *testing.T) {
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s := samples(t, rng)
		for name, rows := range map[string][]protocol.Row{
			"one endpoint after the other": s.copied(),
			"endpoints among each other":   interleaved(rng, s.copied()),
			"text cut otherwise":           s.recut(rng),
			"all endpoints named":          s.ipcs(func(endpoint string) json.RawMessage { return encode(endpoint) }),
			"no endpoint named":            s.ipcs(func(string) json.RawMessage { return json.RawMessage("null") }),
			"endpoints left out":           s.ipcs(func(string) json.RawMessage { return nil }),
			"defaults left out":            s.bare(),
		} {
			if err := s.want.Check(s.layout, rows); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, name, err)
			}
		}
		for _, by := range []float64{4e-6, -4e-6} {
			if rows, _ := s.shifted(rng, times[rng.IntN(3)], by); rows != nil {
				if err := s.want.Check(s.layout, rows); err != nil {
					t.Fatalf("seed %d: a time %v s off: %v", seed, by, err)
				}
			}
		}
	}
}

// recut gives the steps of each rid other parts of its text, empty ones too.
func (s *sample) recut(rng *rand.Rand) []protocol.Row {
	rows := s.copied()
	parts := map[string][]string{}
	for i := range rows {
		rid := s.rid(i)
		if parts[rid] == nil {
			parts[rid] = cut(rng, s.text[rid], s.count(i))
		}
		rows[i].Fields["output_strs"] = encode(parts[rid][s.step[i]])
	}
	return rows
}

func (s *sample) ipcs(value func(endpoint string) json.RawMessage) []protocol.Row {
	rows := s.copied()
	for i := range rows {
		delete(rows[i].Fields, "http_worker_ipcs")
		if v := value(s.layout.Endpoints[rows[i].Endpoint]); v != nil {
			rows[i].Fields["http_worker_ipcs"] = v
		}
	}
	return rows
}

func (s *sample) bare() []protocol.Row {
	rows := s.copied()
	for i := range rows {
		for name, value := range s.layout.Defaults {
			if string(rows[i].Fields[name]) == string(value) {
				delete(rows[i].Fields, name)
			}
		}
	}
	return rows
}

// A field that an arm's message lacks is not judged, and is named.
func TestLackingFields(t *testing.T) {
	s := samples(t, rand.New(rand.NewPCG(1, 3)))
	if lacking := s.want.Unjudged(s.layout); lacking != nil {
		t.Errorf("the whole message lacks %q", lacking)
	}
	rows := s.copied()
	for _, name := range []string{"prompt_tokens", "output_ids"} {
		delete(s.layout.Defaults, name)
		for i := range rows {
			delete(rows[i].Fields, name)
		}
	}
	if err := s.want.Check(s.layout, rows); err != nil {
		t.Errorf("got %v, want the rest accepted", err)
	}
	lacking := s.want.Unjudged(s.layout)
	if !slices.Contains(lacking, "prompt_tokens") || !slices.Contains(lacking, "output_ids") || len(lacking) != 2 {
		t.Errorf("lacking %q, want prompt_tokens and output_ids", lacking)
	}
}

func TestLayoutOfOtherSize(t *testing.T) {
	s := samples(t, rand.New(rand.NewPCG(1, 4)))
	s.layout.Endpoints = append(s.layout.Endpoints, "ipc:///more")
	if err := s.want.Check(s.layout, s.rows); err == nil || !strings.Contains(err.Error(), "endpoints") {
		t.Errorf("got %v, want an error for a layout of another number of consumers", err)
	}
}

func TestRowCounts(t *testing.T) {
	for seed := range uint64(20) {
		s := samples(t, rand.New(rand.NewPCG(seed, 5)))
		if got, want := s.want.Rows()+s.want.FenceRows(), len(s.rows); got != want || s.want.FenceRows() != 3*s.consumers {
			t.Errorf("%d rows, %d of the fence, want %d and %d", got, s.want.FenceRows(), want, 3*s.consumers)
		}
	}
}

// The tolerance is for times of time_stats: a key that ends so elsewhere is
// compared exactly.
func TestToleranceOfTimeStatsOnly(t *testing.T) {
	w := request{vocab: protocol.Vocabulary{Kind: protocol.VocabularyBytes}, steps: [][]int64{{}}}.work()
	w.Stream[0].Columns["customized_info"] = json.RawMessage(`{"x_time":[1.0]}`)
	w.Stream[0].Columns["time_stats"] = json.RawMessage(`[{"x_time":1.0}]`)
	e, err := New(w, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ info, stats, want string }{
		{`{"x_time":1}`, `{"x_time":1.000004}`, ""},
		{`{"x_time":1.000004}`, `{"x_time":1}`, `field customized_info: wanted {"x_time":1.0}, got {"x_time":1.000004}`},
	} {
		row := protocol.Row{Fields: map[string]json.RawMessage{
			"rids": json.RawMessage(`"r"`), "output_strs": json.RawMessage(`""`), "finished_reasons": json.RawMessage(`{"type":"length"}`),
			"customized_info": json.RawMessage(test.info), "time_stats": json.RawMessage(test.stats),
		}}
		err := e.Check(layout(1), []protocol.Row{row})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s, %s: got %v, want %q", test.info, test.stats, err, test.want)
		}
	}
}

// Nothing delivered: the first row that was sent is named.
func TestNothingDelivered(t *testing.T) {
	s := samples(t, rand.New(rand.NewPCG(1, 6)))
	var rids []string
	if err := json.Unmarshal(s.work.Stream[0].Columns["rids"], &rids); err != nil {
		t.Fatal(err)
	}
	f := fault{want: Difference{RID: rids[0], Field: "rows", Wanted: fmt.Sprint(rowsByRID(t, s.work)[rids[0]]), Got: "0"}}
	if err := s.want.Check(s.layout, nil); !f.matches(err) {
		t.Errorf("got %v, want %+v", err, f.want)
	}
}

// TestMessages: what a reader of a long value gets to see is the place that
// differs.
func TestMessages(t *testing.T) {
	long := strings.Repeat("x", 5000)
	at := commonPrefix(long+"a"+long, long+"b"+long)
	if got, want := excerpt(long+"a"+long, at), `xa`; at != 5000 || !strings.Contains(got, want) || len(got) > 260 || !strings.HasSuffix(got, " (bytes 4900 to 5100 of 10001)") {
		t.Errorf("got %s, want the place around byte 5000", got)
	}
	if got := excerpt("é", 1); got != `"é"` {
		t.Errorf("got %s, want the whole of a short text", got)
	}
	if got := show([]byte(`"` + strings.Repeat("é", 200))); len(got) != 202 || strings.Contains(got, "\uFFFD") {
		t.Errorf("got %d bytes, %s, want whole characters", len(got), got)
	}
	d := Difference{Consumer: 2, RID: "r", Step: 1, Field: "output_strs", Wanted: `"a"`, Got: `"b"`}
	if got, want := d.Error(), `consumer 2, rid "r", step 1, field output_strs: wanted "a", got "b"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

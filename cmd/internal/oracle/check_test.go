package oracle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// fault is a delivery with one thing wrong and what must be said of it. Wanted
// and Got are compared if they are not empty, rid and step if step is not
// anyStep.
type fault struct {
	rows []protocol.Row
	want Difference
}

const anyStep = -2

// faults make one kind of fault each at a random place; nil where the sample has
// no such place.
var faults = map[string]func(rng *rand.Rand, s *sample) *fault{
	"a row dropped":               dropped,
	"a row doubled":               doubled,
	"a row at another consumer":   moved,
	"two adjacent rows swapped":   swapped,
	"two rows' fields swapped":    exchanged,
	"two rows' values swapped":    valuesExchanged,
	"a field changed":             changed,
	"a field lost":                lost,
	"an unknown field":            unknownField,
	"an unknown rid":              unknownRID,
	"no rid":                      noRID,
	"a text cut":                  textCut,
	"a text with more":            textLonger,
	"a text altered":              textAltered,
	"a text that is no string":    textNone,
	"U+FFFD for half a character": textHalved,
	"another consumer's endpoint": wrongIPC,
	"a time 6e-6 s off":           timeOff,
	"a duration 1e-9 s off":       durationOff,
	"a row more behind the fence": surplus,
	"a position that lies":        positionLies,
	"an endpoint out of range":    endpointBeyond,
}

// TestEveryFaultIsNamed: whatever is wrong at whatever place, it is found, and
// named by consumer, rid, step, field and both values.
func TestEveryFaultIsNamed(t *testing.T) {
	made := map[string]int{}
	for seed := range seeds(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		s := samples(t, rng)
		if err := s.want.Check(s.layout, interleaved(rng, s.copied())); err != nil {
			t.Fatalf("seed %d: the right delivery: %v", seed, err)
		}
		for name, make := range faults {
			f := make(rng, s)
			if f == nil {
				continue
			}
			made[name]++
			err := s.want.Check(s.layout, interleaved(rng, f.rows))
			if !f.matches(err) {
				t.Fatalf("seed %d: %s: got %v, want %+v", seed, name, err, f.want)
			}
		}
	}
	many := min(int(seeds(400)/8), 15)
	for name := range faults {
		if made[name] < many {
			t.Errorf("%s came up %d times, want %d", name, made[name], many)
		}
	}
}

func (f *fault) matches(err error) bool {
	var got *Difference
	if !errors.As(err, &got) || got.Consumer != f.want.Consumer || got.Field != f.want.Field || got.RID != f.want.RID {
		return false
	}
	return (f.want.Step == anyStep || got.Step == f.want.Step) &&
		(f.want.Wanted == "" || got.Wanted == f.want.Wanted) && (f.want.Got == "" || got.Got == f.want.Got)
}

// at is a difference at row i.
func (s *sample) at(i int, field, wanted, got string) Difference {
	return Difference{Consumer: s.rows[i].Endpoint, RID: s.rid(i), Step: s.step[i], Field: field, Wanted: wanted, Got: got}
}

func dropped(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	n := s.count(i)
	d := s.at(i, "rows", fmt.Sprint(n), fmt.Sprint(n-1))
	d.Step = n - 1 // which one is missing cannot be known, that one too few came can
	return &fault{renumbered(slices.Delete(s.copied(), i, i+1)), d}
}

func doubled(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	n := s.count(i)
	d := s.at(i, "rows", fmt.Sprint(n), fmt.Sprint(n+1))
	d.Step = n
	return &fault{renumbered(slices.Insert(s.copied(), i+1, s.rows[i])), d}
}

func moved(rng *rand.Rand, s *sample) *fault {
	if s.consumers == 1 {
		return nil
	}
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	to := (rows[i].Endpoint + 1 + rng.IntN(s.consumers-1)) % s.consumers
	row := rows[i]
	row.Endpoint = to
	rows = slices.Insert(slices.Delete(rows, i, i+1), rng.IntN(len(rows)), row)
	return &fault{renumbered(rows), Difference{Consumer: to, RID: s.rid(i), Step: anyStep, Field: "consumer", Wanted: fmt.Sprint(s.rows[i].Endpoint), Got: fmt.Sprint(to)}}
}

func swapped(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows) - 1)
	if s.rows[i].Endpoint != s.rows[i+1].Endpoint {
		return nil
	}
	return s.exchange(i, i+1)
}

func exchanged(rng *rand.Rand, s *sample) *fault {
	i, j := rng.IntN(len(s.rows)), rng.IntN(len(s.rows))
	if i == j {
		return nil
	}
	return s.exchange(min(i, j), max(i, j))
}

// exchange swaps all fields of rows i < j: their consumers are wrong, or their
// order, or, within a rid, what they hold.
func (s *sample) exchange(i, j int) *fault {
	rows := s.copied()
	rows[i].Fields, rows[j].Fields = rows[j].Fields, rows[i].Fields
	a, b := s.rows[i].Endpoint, s.rows[j].Endpoint
	switch {
	case a != b && s.consumers > 1:
		return nil // either may be met first; moved has this fault
	case s.rid(i) == s.rid(j):
		return &fault{rows, s.at(i, s.differs(i, j), "", "")}
	}
	d := Difference{Consumer: a, RID: s.rid(j), Step: anyStep, Field: "order", Got: fmt.Sprintf("%q", s.rid(j))}
	d.Wanted = fmt.Sprintf("%q at position %d", s.rid(i), s.rows[i].Position)
	return &fault{rows, d}
}

// differs is the first field, by name, that rows i and j do not share.
func (s *sample) differs(i, j int) string {
	for _, name := range slices.Sorted(maps.Keys(s.layout.Defaults)) {
		if name != "http_worker_ipcs" && name != "output_strs" && !Same(s.value(i, name), s.value(j, name), 0) {
			return name
		}
	}
	return ""
}

func (s *sample) value(i int, name string) json.RawMessage {
	if v, ok := s.rows[i].Fields[name]; ok {
		return v
	}
	return s.layout.Defaults[name]
}

// valuesExchanged swaps one field of two rows of one consumer.
func valuesExchanged(rng *rand.Rand, s *sample) *fault {
	i, j := rng.IntN(len(s.rows)), rng.IntN(len(s.rows))
	i, j = min(i, j), max(i, j)
	name := s.passed[1+rng.IntN(len(s.passed)-1)]
	a, b := s.rows[i].Fields[name], s.rows[j].Fields[name]
	if s.rows[i].Endpoint != s.rows[j].Endpoint || Same(a, b, 0) || a == nil || b == nil {
		return nil
	}
	rows := s.copied()
	rows[i].Fields[name], rows[j].Fields[name] = b, a
	if strings.ContainsRune(string(a)+string(b), '{') { // keys of what is wanted are in another order
		return &fault{rows, s.at(i, name, "", "")}
	}
	return &fault{rows, s.at(i, name, show(a), show(b))}
}

// changed sets any field of the layout to a value of any kind that is not the
// right one.
func changed(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	names := slices.Sorted(maps.Keys(s.layout.Defaults))
	name := names[rng.IntN(len(names))]
	value := []string{`null`, `true`, `7`, `7.5`, `"seven"`, `[]`, `[null]`, `{}`, `{"a": [1.0]}`, `{"$f": "nan"}`}[rng.IntN(10)]
	right, ok := s.rows[i].Fields[name]
	if !ok {
		right = s.layout.Defaults[name]
	}
	null := value == "null"
	if name == "rids" || name == "output_strs" || name == "http_worker_ipcs" && null || Same(right, []byte(value), 0) {
		return nil
	}
	rows := s.copied()
	rows[i].Fields[name] = []byte(value)
	return &fault{rows, s.at(i, name, "", value)}
}

// lost leaves out a field that is not at its default.
func lost(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	name := s.passed[1+rng.IntN(len(s.passed)-1)]
	right, ok := s.rows[i].Fields[name]
	if !ok || string(right) == "null" {
		return nil
	}
	rows := s.copied()
	delete(rows[i].Fields, name)
	return &fault{rows, s.at(i, name, "", "null")}
}

func unknownField(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	name := []string{"", "decode_ids", "zz", "Output_strs"}[rng.IntN(4)]
	rows[i].Fields[name] = []byte("null")
	return &fault{rows, s.at(i, name, "no such field, since the receipt has none", "null")}
}

func unknownRID(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	rid := []string{"", "rid", s.rid(i) + " ", strings.ToUpper(s.rid(i))}[rng.IntN(4)]
	rows[i].Fields["rids"] = encode(rid)
	return &fault{rows, Difference{Consumer: rows[i].Endpoint, RID: rid, Step: -1, Field: "rids", Wanted: "a rid of this trial", Got: fmt.Sprintf("%q", rid)}}
}

func noRID(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	d := Difference{Consumer: rows[i].Endpoint, Step: -1, Field: "rids", Wanted: "a string"}
	if value := []string{"", "null", "7", `["a"]`}[rng.IntN(4)]; value == "" {
		delete(rows[i].Fields, "rids")
		d.Got = "nothing"
	} else {
		rows[i].Fields["rids"] = []byte(value)
		d.Got = value
	}
	return &fault{rows, d}
}

// retext gives row i another text. The fault may show at a later row of the rid.
func (s *sample) retext(i int, text string) *fault {
	rows := s.copied()
	rows[i].Fields["output_strs"] = encode(text)
	d := s.at(i, "output_strs", "", "")
	d.Step = anyStep
	return &fault{rows, d}
}

func (s *sample) piece(i int) []rune {
	var text string
	if err := json.Unmarshal(s.rows[i].Fields["output_strs"], &text); err != nil {
		panic(err) // the sample's own
	}
	return []rune(text)
}

func textCut(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	text := s.piece(i)
	if len(text) == 0 {
		return nil
	}
	at := rng.IntN(len(text))
	return s.retext(i, string(slices.Delete(text, at, at+1)))
}

func textLonger(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	text := s.piece(i)
	return s.retext(i, string(slices.Insert(text, rng.IntN(len(text)+1), []rune(" x\uFFFD\x00")[rng.IntN(4)])))
}

func textAltered(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	text := s.piece(i)
	if len(text) == 0 {
		return nil
	}
	at := rng.IntN(len(text))
	if text[at] == 'q' {
		return nil
	}
	text[at] = 'q'
	f := s.retext(i, string(text))
	f.want.Step = s.step[i]
	return f
}

func textNone(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	d := s.at(i, "output_strs", "a string", "")
	if value := []string{"", "null", "7", `["a"]`}[rng.IntN(4)]; value == "" {
		delete(rows[i].Fields, "output_strs")
		d.Got = "nothing"
	} else {
		rows[i].Fields["output_strs"] = []byte(value)
		d.Got = value
	}
	return &fault{rows, d}
}

// textHalved writes U+FFFD where a character is split between two steps: at the
// end of the first, where nothing or the whole character would be right.
func textHalved(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	text := s.piece(i)
	if len(text) == 0 || text[len(text)-1] == '\uFFFD' {
		return nil
	}
	text[len(text)-1] = '\uFFFD'
	f := s.retext(i, string(text))
	f.want.Step = s.step[i]
	return f
}

func wrongIPC(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	right := s.layout.Endpoints[s.rows[i].Endpoint]
	other := s.layout.Endpoints[rng.IntN(s.consumers)]
	if other == right {
		other = []string{"", right + "/", strings.ToUpper(right), "null"}[rng.IntN(4)]
	}
	rows := s.copied()
	rows[i].Fields["http_worker_ipcs"] = encode(other)
	return &fault{rows, s.at(i, "http_worker_ipcs", "", fmt.Sprintf("%q", other))}
}

// shifted adds to one value of time_stats. The row is nil if it has none.
func (s *sample) shifted(rng *rand.Rand, key string, by float64) ([]protocol.Row, int) {
	i := rng.IntN(len(s.rows))
	var stats map[string]any
	if err := json.Unmarshal(s.rows[i].Fields["time_stats"], &stats); err != nil || stats == nil {
		return nil, 0
	}
	stats[key] = stats[key].(float64) + by
	rows := s.copied()
	rows[i].Fields["time_stats"] = encode(stats)
	return rows, i
}

var times = []string{"wait_queue_entry_time", "forward_entry_time", "prefill_finished_time"}

func timeOff(rng *rand.Rand, s *sample) *fault {
	rows, i := s.shifted(rng, times[rng.IntN(3)], []float64{6e-6, -6e-6, 1}[rng.IntN(3)])
	if rows == nil {
		return nil
	}
	return &fault{rows, s.at(i, "time_stats", "", string(rows[i].Fields["time_stats"]))}
}

func durationOff(rng *rand.Rand, s *sample) *fault {
	rows, i := s.shifted(rng, "queue_duration_s", 1e-9)
	if rows == nil {
		return nil
	}
	return &fault{rows, s.at(i, "time_stats", "", string(rows[i].Fields["time_stats"]))}
}

func surplus(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	n := s.count(i)
	d := s.at(i, "rows", fmt.Sprint(n), fmt.Sprint(n+1))
	d.Step = n
	return &fault{renumbered(append(s.copied(), s.rows[i])), d}
}

func positionLies(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	rows[i].Position += []int{-1, 1, 1 << 40}[rng.IntN(3)]
	return &fault{rows, s.at(i, "position", fmt.Sprint(s.rows[i].Position), fmt.Sprint(rows[i].Position))}
}

func endpointBeyond(rng *rand.Rand, s *sample) *fault {
	i := rng.IntN(len(s.rows))
	rows := s.copied()
	to := []int{-1, s.consumers, 1 << 40}[rng.IntN(3)]
	rows[i].Endpoint = to
	return &fault{renumbered(rows), Difference{Consumer: to, Step: -1, Field: "endpoint", Wanted: fmt.Sprintf("0 to %d", s.consumers-1), Got: fmt.Sprint(to)}}
}

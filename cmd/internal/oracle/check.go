package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/protocol"
)

// Fields that are judged by a rule of their own.
const (
	fieldRID    = "rids"
	fieldIPC    = "http_worker_ipcs"
	fieldText   = "output_strs"
	fieldTimes  = "time_stats"
	fieldInfo   = "customized_info"
	nullLiteral = "null"
)

// Layout is the part of the arms' receipts that rows are judged by.
type Layout struct {
	Endpoints []string                   // of the arm that delivered, in index order
	Defaults  map[string]json.RawMessage // of every field of that arm's message

	// Detokenizers is how many processes share the rows; with several, which of
	// them is first at a consumer is chance. 0 is one.
	Detokenizers int

	// IDs says that the message is a router's: every column of the batch, and no
	// text yet.
	IDs bool
}

// Check returns the first *Difference between the rows delivered and the rows
// sent, or nil.
func (e *Expectation) Check(l Layout, delivered []protocol.Row) error {
	if len(l.Endpoints) != len(e.byConsumer) {
		return fmt.Errorf("oracle: a layout of %d endpoints, want %d", len(l.Endpoints), len(e.byConsumer))
	}
	seen := map[string]int{}
	arrived := make([][]arrival, len(e.byConsumer))
	for _, d := range delivered {
		a, err := e.place(d, seen)
		if err != nil {
			return err
		}
		if d.Position != len(arrived[d.Endpoint]) {
			return &Difference{Consumer: d.Endpoint, RID: a.rid, Step: a.nth, Field: "position",
				Wanted: fmt.Sprint(len(arrived[d.Endpoint])), Got: fmt.Sprint(d.Position)}
		}
		arrived[d.Endpoint] = append(arrived[d.Endpoint], a)
	}
	if err := e.checkCounts(seen); err != nil {
		return err
	}
	if l.Detokenizers <= 1 {
		if err := e.checkOrder(arrived); err != nil {
			return err
		}
	}
	return e.checkFields(l, arrived)
}

// arrival is a delivered row with its rid and its number among that rid's rows.
type arrival struct {
	protocol.Row
	rid string
	nth int
}

func (e *Expectation) place(d protocol.Row, seen map[string]int) (arrival, error) {
	if d.Endpoint < 0 || d.Endpoint >= len(e.byConsumer) {
		return arrival{}, &Difference{Consumer: d.Endpoint, Step: -1, Field: "endpoint",
			Wanted: fmt.Sprintf("0 to %d", len(e.byConsumer)-1), Got: fmt.Sprint(d.Endpoint)}
	}
	var rid string
	if err := read(d.Fields, fieldRID, &rid); err != nil {
		return arrival{}, &Difference{Consumer: d.Endpoint, Step: -1, Field: fieldRID,
			Wanted: "a string", Got: show(d.Fields[fieldRID])}
	}
	sent := e.byRID[rid]
	if sent == nil {
		return arrival{}, &Difference{Consumer: d.Endpoint, RID: rid, Step: -1, Field: fieldRID,
			Wanted: "a rid of this trial", Got: fmt.Sprintf("%q", rid)}
	}
	if sent[0].consumer != d.Endpoint {
		return arrival{}, &Difference{Consumer: d.Endpoint, RID: rid, Step: seen[rid], Field: "consumer",
			Wanted: fmt.Sprint(sent[0].consumer), Got: fmt.Sprint(d.Endpoint)}
	}
	seen[rid]++
	return arrival{Row: d, rid: rid, nth: seen[rid] - 1}, nil
}

// checkCounts names the first row sent that is missing, or whose rid has too
// many: an arm that stalls on a row leaves all that follow missing too.
func (e *Expectation) checkCounts(seen map[string]int) error {
	for _, r := range e.sent {
		got, want := seen[r.rid], len(e.byRID[r.rid])
		if got <= r.step || got > want {
			return &Difference{Consumer: r.consumer, RID: r.rid, Step: min(got, want), Field: "rows",
				Wanted: fmt.Sprint(want), Got: fmt.Sprint(got)}
		}
	}
	return nil
}

func (e *Expectation) checkOrder(arrived [][]arrival) error {
	for c, rows := range arrived {
		for i, a := range rows {
			want := e.byConsumer[c][i]
			if a.rid != want.rid {
				return &Difference{Consumer: c, RID: a.rid, Step: a.nth, Field: "order",
					Wanted: fmt.Sprintf("%q at position %d", want.rid, i), Got: fmt.Sprintf("%q", a.rid)}
			}
		}
	}
	return nil
}

func (e *Expectation) checkFields(l Layout, arrived [][]arrival) error {
	sofar := map[string]string{}
	for c, rows := range arrived {
		for _, a := range rows {
			sent := e.byRID[a.rid][a.nth]
			if d := l.compare(sent, a, c); d != nil {
				return d
			}
			if l.IDs {
				continue
			}
			if err := e.checkText(sofar, sent, a, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkText keeps the concatenation of each rid's texts: always a prefix of the
// whole text, and the whole text at its last row. A U+FFFD that the whole text
// does not have cannot be in a prefix of it.
func (e *Expectation) checkText(sofar map[string]string, sent *row, a arrival, consumer int) error {
	d := &Difference{Consumer: consumer, RID: a.rid, Step: a.nth, Field: fieldText}
	var piece string
	if read(a.Fields, fieldText, &piece) != nil {
		d.Wanted, d.Got = "a string", show(a.Fields[fieldText])
		return d
	}
	whole, all := e.text[a.rid], sofar[a.rid]+piece
	sofar[a.rid] = all
	last := sent.step == len(e.byRID[a.rid])-1
	if !last && strings.HasPrefix(whole, all) || whole == all {
		return nil
	}
	at := commonPrefix(whole, all)
	d.Wanted, d.Got = excerpt(whole, at)+" in all", excerpt(all, at)+" in all"
	if !last {
		d.Wanted = "a prefix of " + excerpt(whole, at)
	}
	return d
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// excerpt quotes s, or if it is long the part around byte at.
func excerpt(s string, at int) string {
	const around = 100
	low, high := max(0, at-around), min(len(s), at+around)
	if low == 0 && high == len(s) {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q (bytes %d to %d of %d)", s[low:high], low, high, len(s))
}

// compare returns the first field that differs, in name order, or nil; fields
// that the layout does not have come first.
func (l Layout) compare(sent *row, a arrival, consumer int) *Difference {
	differs := func(name, want string, got json.RawMessage) *Difference {
		return &Difference{Consumer: consumer, RID: a.rid, Step: a.nth, Field: name, Wanted: want, Got: show(got)}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Fields)) {
		if _, ok := l.Defaults[name]; !ok {
			return differs(name, "no such field, since the receipt has none", a.Fields[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Defaults)) {
		want, got := l.Defaults[name], l.Defaults[name]
		if v, ok := a.Fields[name]; ok {
			got = v
		}
		if v, ok := sent.fields[name]; ok {
			want = v
		}
		if !l.sameField(name, want, got, consumer) {
			return differs(name, show(want), got)
		}
	}
	return nil
}

func (l Layout) sameField(name string, want, got json.RawMessage, consumer int) bool {
	switch name {
	case fieldText: // judged by concatenation
		return true
	case fieldIPC:
		var ipc string
		return isNull(got) || json.Unmarshal(got, &ipc) == nil && ipc == l.Endpoints[consumer]
	case fieldTimes:
		return Same(want, got, timeTolerance)
	}
	return Same(want, got, 0)
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == nullLiteral }

// show is a value for a message: short, never empty.
func show(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	if len(raw) > 200 {
		return strings.ToValidUTF8(string(raw[:200]), "") + "..."
	}
	return string(raw)
}

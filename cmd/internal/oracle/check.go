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
	nullLiteral = "null"
)

// Layout is the part of the arms' receipts that rows are judged by.
type Layout struct {
	Endpoints []string                   // of the arm that delivered, in index order
	Defaults  map[string]json.RawMessage // of every field of that arm's message
	Shared    map[string]bool            // fields that both arms' messages have
}

// Check returns the first *Difference between the rows delivered and the rows
// sent, or nil.
func (e *Expectation) Check(l Layout, delivered []protocol.Row) error {
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
	if err := e.checkOrder(arrived); err != nil {
		return err
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
	if err := json.Unmarshal(d.Fields[fieldRID], &rid); err != nil {
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

func (e *Expectation) checkCounts(seen map[string]int) error {
	for _, rid := range slices.Sorted(maps.Keys(e.byRID)) {
		sent := e.byRID[rid]
		if got := seen[rid]; got != len(sent) {
			return &Difference{Consumer: sent[0].consumer, RID: rid, Step: min(got, len(sent)), Field: "rows",
				Wanted: fmt.Sprint(len(sent)), Got: fmt.Sprint(got)}
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
			if name, want, got := l.compare(sent, a, c); name != "" {
				return &Difference{Consumer: c, RID: a.rid, Step: a.nth, Field: name, Wanted: show(want), Got: show(got)}
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
	whole := e.text[a.rid]
	var piece string
	raw := a.Fields[fieldText]
	if err := json.Unmarshal(raw, &piece); err != nil || string(raw) == nullLiteral {
		return &Difference{Consumer: consumer, RID: a.rid, Step: a.nth, Field: fieldText, Wanted: "a string", Got: show(raw)}
	}
	all := sofar[a.rid] + piece
	sofar[a.rid] = all
	last := sent.step == len(e.byRID[a.rid])-1
	if !strings.HasPrefix(whole, all) || last && whole != all {
		want := fmt.Sprintf("a prefix of %q", whole)
		if last {
			want = fmt.Sprintf("%q in all", whole)
		}
		return &Difference{Consumer: consumer, RID: a.rid, Step: a.nth, Field: fieldText, Wanted: want, Got: fmt.Sprintf("%q in all", all)}
	}
	return nil
}

// compare returns the name of the first field that differs, in name order, with
// both values, or an empty name.
func (l Layout) compare(sent *row, a arrival, consumer int) (name string, want, got json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(a.Fields)) {
		if _, ok := l.Defaults[name]; !ok {
			return name, json.RawMessage(`"no such field in the receipt"`), a.Fields[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Defaults)) {
		want, got := l.Defaults[name], l.Defaults[name]
		if v, ok := a.Fields[name]; ok {
			got = v
		}
		if v, ok := sent.fields[name]; ok && l.Shared[name] {
			want = v
		}
		if !l.sameField(name, want, got, consumer) {
			return name, want, got
		}
	}
	return "", nil, nil
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
		return string(raw[:200]) + "..."
	}
	return string(raw)
}

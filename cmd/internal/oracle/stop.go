package oracle

import (
	"encoding/json"
	"fmt"
	"strings"
)

// stop is how a request ends: what is trimmed off its text, if anything.
type stop struct {
	matched string // the stop string
	token   bool   // the last id is a stop token, and goes
	id      int64  // that id
	keep    bool   // no_stop_trim: a stop string stays, what follows it goes
}

// cut is how many bytes of the text stay.
func (s stop) cut(text string) int {
	at := strings.Index(text, s.matched)
	switch {
	case s.matched == "" || at < 0:
		return len(text)
	case s.keep:
		return at + len(s.matched)
	}
	return at
}

// ending wants the last row to finish the request and no row before it: a state
// that goes on keeps text back, and one that has ended begins anew.
func ending(rows []*row) (stop, error) {
	for i, r := range rows {
		raw := r.fields["finished_reasons"]
		last := i == len(rows)-1
		switch {
		case isNull(raw) && last:
			return stop{}, fmt.Errorf("row %d is the last, and finished_reasons is null, want a reason", i)
		case !isNull(raw) && !last:
			return stop{}, fmt.Errorf("row %d of %d finishes by %s, want only the last one to finish", i, len(rows), show(raw))
		}
	}
	return finish(rows[len(rows)-1])
}

// finish reads a finish reason. Of type "stop" a text in "matched" is a stop
// string and an integer a stop token; null, as nothing, trims nothing.
func finish(r *row) (s stop, err error) {
	var reason struct {
		Type    string          `json:"type"`
		Matched json.RawMessage `json:"matched"`
	}
	if err := read(r.fields, "finished_reasons", &reason); err != nil {
		return s, err
	}
	raw := show(r.fields["finished_reasons"])
	switch {
	case reason.Type != "length" && reason.Type != "abort" && reason.Type != "stop":
		return s, fmt.Errorf("finished_reasons is %s: for type %q the text cannot be worked out, only for \"length\", \"abort\" and \"stop\"", raw, reason.Type)
	case isNull(reason.Matched):
		return s, nil
	case reason.Type != "stop":
		return s, fmt.Errorf("finished_reasons is %s: what matched cannot be trimmed for type %q, only for \"stop\"", raw, reason.Type)
	}
	if err := read(r.fields, "no_stop_trim", &s.keep); err != nil {
		return s, err
	}
	if json.Unmarshal(reason.Matched, &s.matched) == nil {
		return s, nil
	}
	if json.Unmarshal(reason.Matched, &s.id) != nil {
		return s, fmt.Errorf("finished_reasons is %s: what matched is neither a text nor the id of a token", raw)
	}
	s.token = !s.keep
	return s, nil
}

// withoutStop is the ids of a request without its stop token, which must be the
// last id of the last row: an id that came earlier may have been shown.
func withoutStop(q gathered, s stop) ([]int64, error) {
	last := len(q.ids) - 1
	if last < q.early || last < q.prompt || q.ids[last] != s.id {
		return nil, fmt.Errorf("the stop token %d is not the last id of the last row, whose ids are %v", s.id, q.ids[q.early:])
	}
	return q.ids[:last], nil
}

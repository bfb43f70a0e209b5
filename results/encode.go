package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// record is what stands in one file, or on one line of raw.jsonl. normal
// replaces null lists and objects by empty ones, so that a record has one form.
type record interface{ normal() }

// encodeLine is the record as one line with its line end.
func encodeLine(r record) ([]byte, error) { return encode(r, "") }

// encodeFile is the record as an indented file.
func encodeFile(r record) ([]byte, error) { return encode(r, "  ") }

// encode keeps <, > and & as they are: commands and patches are read by people.
func encode(r record, indent string) ([]byte, error) {
	r.normal()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(r); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads b into r and refuses everything but the form that encode writes:
// a key that is unknown, missing, doubled, in another case or order, a null
// where there must be a list, and anything behind the record. So no value can
// be hidden in a file, and what was read is all that stands there.
func decode(b []byte, r record, encoded func(record) ([]byte, error)) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("is empty, want a JSON object")
		}
		return err
	}
	want, err := encoded(r)
	if err != nil {
		return err
	}
	if !bytes.Equal(b, want) {
		return notAsWritten(b, want)
	}
	return nil
}

// notAsWritten names the first byte where got leaves the form of want.
func notAsWritten(got, want []byte) error {
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	return fmt.Errorf("is not in the form this program writes: byte %d begins %s, want %s", at, excerpt(got, at), excerpt(want, at))
}

// excerpt shows a few bytes from at on, and a few before it for orientation.
func excerpt(b []byte, at int) string {
	if at >= len(b) {
		return "the end"
	}
	return fmt.Sprintf("%q", b[max(0, at-16):min(len(b), at+24)])
}

func (p *Plan) normal() {
	p.Reference.Options = orEmpty(p.Reference.Options)
	p.Candidate.Options = orEmpty(p.Candidate.Options)
	if p.Control != nil {
		p.Control.Options = orEmpty(p.Control.Options)
	}
	p.Counts = listed(p.Counts)
	p.Metadata = listed(p.Metadata)
	p.First = listed(p.First)
}

func (t *Trial) normal() {
	t.Counters = orEmpty(t.Counters)
	t.StartedAt = t.StartedAt.UTC()
	t.Disturbance = t.Disturbance.known()
}

func (r *Result) normal() {
	r.Arms = orEmpty(r.Arms)
	for name, a := range r.Arms {
		a.Options = orEmpty(a.Options)
		a.Packages = orEmpty(a.Packages)
		a.Sources = listed(a.Sources)
		a.BinarySHA256 = listed(a.BinarySHA256)
		r.Arms[name] = a
	}
	r.Summary = listed(r.Summary)
	normalRows(r.Summary)
	normalRows(r.Control)
	if a := r.Analysis; a != nil {
		a.Primary, a.Effects = listed(a.Primary), listed(a.Effects)
		if a.Control != nil {
			a.Control.Primary = listed(a.Control.Primary)
		}
	}
	e := &r.Environment
	e.Command = listed(e.Command)
	e.Cgroup, e.Pressure, e.GC = orEmpty(e.Cgroup), orEmpty(e.Pressure), orEmpty(e.GC)
	e.StartedAt, e.EndedAt = e.StartedAt.UTC(), e.EndedAt.UTC()
}

func normalRows(rows []SummaryRow) {
	for i := range rows {
		rows[i].Reductions = listed(rows[i].Reductions)
		rows[i].Counters = orEmpty(rows[i].Counters)
		for arm, names := range rows[i].Counters {
			rows[i].Counters[arm] = orEmpty(names)
		}
	}
}

func orEmpty[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return m
}

func listed[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

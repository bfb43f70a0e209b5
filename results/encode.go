package results

import "github.com/fanoutbench/fanoutbench/results/form"

// record is what stands in one file, or on one line of raw.jsonl. normal
// replaces null lists and objects by empty ones, so that a record has one form.
type record interface{ normal() }

// encodeLine is the record as one line with its line end.
func encodeLine(r record) ([]byte, error) { return encode(r, "") }

// encodeFile is the record as an indented file.
func encodeFile(r record) ([]byte, error) { return encode(r, form.Indent) }

func encode(r record, indent string) ([]byte, error) {
	r.normal()
	return form.Encode(r, indent)
}

// decode reads b into r and refuses everything but the form that encode writes.
func decode(b []byte, r record, encoded func(record) ([]byte, error)) error {
	return form.Decode(b, r, func() ([]byte, error) { return encoded(r) })
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

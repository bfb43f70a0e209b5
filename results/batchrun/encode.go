package batchrun

import (
	"encoding/json"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// record is what stands in one file, or on one line of a file of many. normal
// replaces null lists and objects by empty ones, so that a record has one form.
type record interface{ normal() }

func encodeLine(r record) ([]byte, error) {
	r.normal()
	return form.Encode(r, "")
}

func encodeFile(r record) ([]byte, error) {
	r.normal()
	return form.Encode(r, form.Indent)
}

func decode(b []byte, r record, encoded func(record) ([]byte, error)) error {
	return form.Decode(b, r, func() ([]byte, error) { return encoded(r) })
}

// settle returns the value as it reads back, and its bytes. Bytes that are not
// UTF-8 are replaced on the way, and the caller's maps and lists are left alone.
func settle[T any, P interface {
	*T
	record
}](v T, encoded func(record) ([]byte, error)) (T, []byte, error) {
	var back T
	first, err := json.Marshal(v)
	if err != nil {
		return back, nil, err
	}
	if err := json.Unmarshal(first, &back); err != nil {
		return back, nil, err
	}
	b, err := encoded(P(&back))
	return back, b, err
}

func (p *Plan) normal() {
	p.Reference.Options, p.Candidate.Options = form.OrEmpty(p.Reference.Options), form.OrEmpty(p.Candidate.Options)
	p.Cells, p.First, p.Labels, p.Schedules = form.Listed(p.Cells), form.Listed(p.First), form.Listed(p.Labels), form.Listed(p.Schedules)
}

// A request's lists are absent where they are empty.
func (r *Request) normal() {}

func (t *Trial) normal() {
	t.Reasons = form.Listed(t.Reasons)
	if t.Judged != nil {
		t.Judged.InFlight = form.Listed(t.Judged.InFlight)
	}
	t.StartedAt = t.StartedAt.UTC()
	for i := range t.Parts {
		t.Parts[i].StartedAt = t.Parts[i].StartedAt.UTC()
	}
}

func (r *Result) normal() {
	r.Arms = form.OrEmpty(r.Arms)
	for name, a := range r.Arms {
		a.Command, a.Sources, a.BinarySHA256 = form.Listed(a.Command), form.Listed(a.Sources), form.Listed(a.BinarySHA256)
		a.Options, a.Server = form.OrEmpty(a.Options), form.OrEmpty(a.Server)
		r.Arms[name] = a
	}
	r.Figures, r.RoundFigures, r.Summary = form.Listed(r.Figures), form.Listed(r.RoundFigures), form.Listed(r.Summary)
	for _, figures := range [][]Figures{r.Figures, r.RoundFigures} {
		for i := range figures {
			figures[i].Batches, figures[i].BatchItems = form.Listed(figures[i].Batches), form.Listed(figures[i].BatchItems)
		}
	}
	for i := range r.Summary {
		r.Summary[i].Reductions = form.Listed(r.Summary[i].Reductions)
	}
	if r.Analysis != nil {
		r.Analysis.Primary = form.Listed(r.Analysis.Primary)
	}
	for i := range r.Shards {
		r.Shards[i].Repeat = form.Listed(r.Shards[i].Repeat)
	}
	e := &r.Environment
	e.Command = form.Listed(e.Command)
	e.Cgroup, e.Pressure, e.GC = form.OrEmpty(e.Cgroup), form.OrEmpty(e.Pressure), form.OrEmpty(e.GC)
	e.StartedAt, e.EndedAt = e.StartedAt.UTC(), e.EndedAt.UTC()
}

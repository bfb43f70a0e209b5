package batchrun

import (
	"fmt"
	"io"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// Formats that Report writes. Package htmlreport has one more.
var Formats = []string{"text", "markdown", "csv", "json"}

// Report writes a run as one of Formats, of figures that follow from its trials;
// others are an error. Text and Markdown round, CSV and JSON do not.
func Report(w io.Writer, f *Folder, format string) error {
	b, err := f.report(format)
	if err != nil {
		return fmt.Errorf("batchrun: report %s as %s: %w", f.Dir, form.Shortened(format), err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("batchrun: report %s: %w", f.Dir, err)
	}
	return nil
}

func (f *Folder) report(format string) ([]byte, error) {
	if err := f.CheckFigures(); err != nil {
		return nil, err
	}
	switch format {
	case "text":
		return f.text(), nil
	case "markdown":
		return f.markdown(), nil
	case "csv":
		return summaryCSV(f.Plan, f.Result)
	case "json":
		return form.Encode(f.shown(), form.Indent)
	}
	return nil, form.Unwanted("format", format, "one of %q", Formats)
}

// report is the format json.
type report struct {
	Conclusion string       `json:"conclusion"` // one plain sentence
	Status     string       `json:"status"`
	Decision   string       `json:"decision"`
	Invalid    []string     `json:"invalid,omitempty"`
	Failure    string       `json:"failure,omitempty"`
	Warnings   []string     `json:"warnings,omitempty"`
	Reference  PlanArm      `json:"reference"`
	Candidate  PlanArm      `json:"candidate"`
	Cells      []Cell       `json:"cells"`
	Rounds     int          `json:"rounds"`
	Requests   int          `json:"requests"`
	Figures    []Figures    `json:"figures"`
	Summary    []SummaryRow `json:"summary"`
	Agreement  Agreement    `json:"agreement"`
	Analysis   *Analysis    `json:"analysis,omitempty"`
	PlanSHA256 string       `json:"plan_sha256"`
	RawSHA256  string       `json:"raw_sha256"`
}

func (f *Folder) shown() report {
	r, v := f.Result, f.Result.Verdict
	return report{
		Conclusion: f.Conclusion(), Status: v.Status, Decision: v.Decision, Invalid: v.Invalid, Failure: v.Failure, Warnings: v.Warnings,
		Reference: f.Plan.Reference, Candidate: f.Plan.Candidate, Cells: f.Plan.Cells, Rounds: f.Plan.Rounds, Requests: r.Requests,
		Figures: r.Figures, Summary: r.Summary, Agreement: r.Agreement, Analysis: r.Analysis, PlanSHA256: r.PlanSHA256, RawSHA256: r.RawSHA256,
	}
}

// Header are the lines above a report's tables, name and value.
func (f *Folder) Header() [][2]string {
	p, r := f.Plan, f.Result
	lines := [][2]string{{"verdict", f.Conclusion()}}
	add := func(name, value string) { lines = append(lines, [2]string{name, value}) }
	for _, name := range []string{Reference, Candidate} {
		add(name, p.Spec(name)+r.Arms[name].note())
	}
	add("requests", fmt.Sprintf("%d in %s: %s, %s, 2 arms, %s first in %d", r.Requests, counted(r.Trials, "trial"), counted(p.Rounds, "round"), counted(len(p.Cells), "cell"), Candidate, p.candidateFirst()))
	add("load", p.load())
	if p.Shard != nil {
		add("shard", fmt.Sprintf("%d of %d (from 0), of rates that are those of all", *p.Shard, p.Shards))
	}
	for _, s := range r.Shards {
		add("shard", fmt.Sprintf("%d of %d, %s: %d requests, from %s, %d CPUs, kernel %s", s.Shard, p.Shards, s.Status, s.Requests, s.CPU, s.CPUs, s.Kernel))
	}
	if r.Clocks != nil {
		add("clocks", r.Clocks.text())
	}
	if r.Agreement.Compared > 0 {
		add("answers", fmt.Sprintf("%d compared, %d not equal, furthest apart %.3g, %g is tolerated", r.Agreement.Compared, r.Agreement.Different, *r.Agreement.Largest, p.ScoreTolerance))
	}
	for _, why := range r.Verdict.Invalid {
		add("invalid", why)
	}
	if r.Verdict.Failure != "" {
		add("failure", r.Verdict.Failure)
	}
	for _, w := range r.Verdict.Warnings {
		add("warning", w)
	}
	return lines
}

// counted is a number of things in words.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (p Plan) candidateFirst() int {
	n := 0
	for _, arm := range p.First {
		if arm == Candidate {
			n++
		}
	}
	return n
}

// load says what was sent, in words.
func (p Plan) load() string {
	s := fmt.Sprintf("%s, %d + %d tokens an item, %s, seed %d", p.API, p.QueryTokens, p.ItemTokens, counted(p.UniqueRequests, "different request"), p.Seed)
	if p.DatasetSHA256 != "" {
		s = fmt.Sprintf("%s, %s of data set %.12s, seed %d", p.API, counted(p.UniqueRequests, "different request"), p.DatasetSHA256, p.Seed)
	}
	if p.SharedPrefix {
		s += ", beginning alike"
	}
	if p.Cold {
		return s + ", cold cache"
	}
	return s + ", warm cache"
}

// note says of an arm what else must be known to read its figures.
func (a Arm) note() string {
	switch {
	case a.Descriptive != "":
		return " (descriptive: " + a.Descriptive + ")"
	case a.Restart == RestartNever:
		return " (its server ran already and was never restarted)"
	case a.Restart == RestartRun:
		return " (one server for the whole run)"
	}
	return ""
}

// Commands are what one types to check the run, to show it, to make it once more, and
// what started the arms' servers.
func (f *Folder) Commands() []string {
	lines := []string{"batchsend verify " + quoted(f.Dir), "batchsend report " + quoted(f.Dir)}
	again := f.Result.Repeat
	if len(again) == 0 {
		again = f.Result.Environment.Command
	}
	if len(f.Result.Shards) > 0 {
		again = nil
	}
	lines = append(lines, recorded(again)...)
	for _, s := range f.Result.Shards {
		lines = append(append(lines, fmt.Sprintf("# shard %d", s.Shard)), recorded(s.Repeat)...)
	}
	for _, name := range []string{Reference, Candidate} {
		if command := recorded(f.Result.Arms[name].Command); len(command) > 0 {
			lines = append(append(lines, "# the server of the "+name), command...)
		}
	}
	return lines
}

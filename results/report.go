package results

import (
	"maps"
	"slices"
	"strings"

	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Formats that Report writes.
var Formats = []string{"text", "markdown", "csv", "json", "bench"}

// Report writes a run as one of Formats. Figures are shown only of a verified
// run, and only if they follow from its trials; otherwise a run that is not
// verified shows its failure in full, and figures that do not follow are an
// error. Text and Markdown round, CSV and JSON do not.
func Report(w io.Writer, f *Folder, format string) error {
	if err := f.CheckFigures(); err != nil {
		return fmt.Errorf("results: report %s: %w", f.Dir, err)
	}
	b, err := f.report(format)
	if err != nil {
		return fmt.Errorf("results: report %s as %s: %w", f.Dir, format, err)
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("results: report %s: %w", f.Dir, err)
	}
	return nil
}

// report is the report of figures that were checked.
func (f *Folder) report(format string) ([]byte, error) {
	write, ok := map[string]func(report) ([]byte, error){
		"text": report.text, "markdown": report.markdown, "csv": report.csv, "json": report.json,
		"bench": func(r report) ([]byte, error) { return r.bench(f) },
	}[format]
	if !ok {
		return nil, fmt.Errorf("format is %q, want one of %q", shortened(format), Formats)
	}
	r := reportOf(f)
	var err error
	if r.RowsVerified {
		if r.profiles, err = readProfiles(f.Dir, f.Plan); err != nil {
			return nil, err
		}
	}
	return write(r)
}

// CheckFigures recomputes what a report is about to show, of a verified run. An
// error names what does not follow from the trials.
func (f *Folder) CheckFigures() error {
	if f.Result.Verdict.Status != StatusVerified {
		return nil
	}
	figures, err := figuresOf(f.Plan, f.Trials)
	if err != nil {
		return err
	}
	return errors.Join(sameRows(f.Result.Summary, figures.summary), sameRows(f.Result.Control, figures.control),
		sameAnalysis(f.Result.Analysis, figures.analysis))
}

// report is what every format shows; its JSON is the format json.
type report struct {
	ToolVersion  string       `json:"tool_version"`
	Status       string       `json:"status"`
	Decision     string       `json:"decision"`
	RowsVerified bool         `json:"rows_verified"`
	Failure      *Failure     `json:"failure,omitempty"`
	Warnings     []string     `json:"warnings,omitempty"`
	Arms         []reportArm  `json:"arms"` // reference, then candidate
	Transport    string       `json:"transport"`
	Rounds       int          `json:"rounds"`
	Repetitions  int          `json:"repetitions"`
	Process      string       `json:"process"`
	Consumer     string       `json:"consumer"`
	Consumers    string       `json:"consumers,omitempty"`
	Pace         string       `json:"pace"`
	Loop         string       `json:"loop,omitempty"`
	HTTPWorkers  int          `json:"http_workers"`
	Stream       string       `json:"stream"`
	Seed         uint64       `json:"seed"`
	VerifiedRows int          `json:"verified_rows"`
	FenceRows    int          `json:"fence_rows"`
	WarmupRows   int          `json:"warmup_rows"`
	FullRows     int          `json:"full_rows,omitempty"`
	CPU          string       `json:"cpu"`
	CPUs         int          `json:"cpus"`
	PlanSHA256   string       `json:"plan_sha256"`
	RawSHA256    string       `json:"raw_sha256"`
	Rows         []SummaryRow `json:"summary"` // empty in a run that is not verified

	// Of a run whose plan has a family.
	Kind       string       `json:"kind,omitempty"`       // as in the plan
	MarginPct  float64      `json:"margin_pct,omitempty"` // slow-down, in per cent of the reference, that still counts as equal
	Conclusion string       `json:"conclusion,omitempty"` // the verdict in one plain sentence
	Analysis   *Analysis    `json:"analysis,omitempty"`
	Control    []SummaryRow `json:"control,omitempty"` // the control in the candidate's place

	profiles    []profiled // in text and Markdown only
	environment Environment
	dir         string
}

type reportArm struct {
	Name     string `json:"name"`
	Spec     string `json:"spec"`
	Runtime  string `json:"runtime"`
	Strategy string `json:"strategy"`
	ZMQ      string `json:"zmq"`
	OwnClock bool   `json:"own_clock"` // the arm brought its own controller and clock
	Revision string `json:"revision,omitempty"`
	Modified string `json:"modified,omitempty"`
	Layouts  int    `json:"layouts,omitempty"`

	Again       bool   `json:"again,omitempty"`       // one controller for all rounds, each from fresh processes
	Descriptive string `json:"descriptive,omitempty"` // why the arm's figures decide nothing

	// In force, defaults written out: NAME=VALUE, by name.
	Options []string `json:"options"`
}

func reportOf(f *Folder) report {
	p, r := f.Plan, f.Result
	out := report{
		ToolVersion: r.ToolVersion, Status: r.Verdict.Status, Decision: r.Verdict.Decision,
		RowsVerified: r.Verdict.Status == StatusVerified, Failure: r.Verdict.Failure, Warnings: r.Verdict.Warnings,
		Transport: r.Transport, Rounds: r.Rounds, Repetitions: r.Repetitions,
		Process: p.Process, Consumer: p.Consumer, Consumers: p.Consumers, Pace: p.Pace, Loop: p.Loop, HTTPWorkers: p.HTTPWorkers, Stream: p.Stream, Seed: p.Seed,
		VerifiedRows: r.VerifiedRows, FenceRows: r.FenceRows, WarmupRows: r.WarmupRows, FullRows: r.FullRows,
		CPU: r.Environment.CPU, CPUs: r.Environment.CPUs,
		PlanSHA256: r.PlanSHA256, RawSHA256: r.RawSHA256, Rows: []SummaryRow{},
		environment: r.Environment, dir: f.Dir,
	}
	if out.RowsVerified {
		out.Rows = r.Summary
	}
	if out.RowsVerified && r.Analysis != nil {
		out.Kind, out.MarginPct = p.Kind, p.MarginPct
		out.Conclusion, out.Analysis, out.Control = r.Conclusion(), r.Analysis, r.Control
	}
	for _, arm := range []struct {
		name string
		plan ArmPlan
	}{{Reference, p.Reference}, {Candidate, p.Candidate}} {
		a := r.Arms[arm.name] // an arm that never started has its spec alone
		out.Arms = append(out.Arms, reportArm{
			arm.name, arm.plan.Spec, a.Runtime, a.Strategy, a.ZMQ, a.OwnClock, a.Revision, a.Modified, arm.plan.Layouts,
			a.Again, a.Descriptive, a.optionList(),
		})
	}
	return out
}

func (a Arm) optionList() []string {
	list := []string{}
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		list = append(list, name+"="+a.Options[name])
	}
	return list
}

func (r report) json() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(r)
	return b.Bytes(), err
}

// csv is one line a metric, each with the whole header, so that the lines of
// several runs can be put together. A run that is not verified is one line with
// its failure.
func (r report) csv() ([]byte, error) {
	head := []string{"status", "decision", "rows_verified", "transport", "run_rounds", "repetitions"}
	values := []string{
		r.Status, r.Decision, strconv.FormatBool(r.RowsVerified), r.Transport, strconv.Itoa(r.Rounds), strconv.Itoa(r.Repetitions),
	}
	for _, a := range r.Arms {
		head = append(head, a.Name, a.Name+"_strategy", a.Name+"_options", a.Name+"_own_clock")
		values = append(values, a.Spec, a.Strategy, strings.Join(a.Options, " "), strconv.FormatBool(a.OwnClock))
	}
	if !r.RowsVerified {
		head, values = append(head, "failure"), append(values, r.Failure.text())
		return csvLines([][]string{head, values})
	}
	head = append(head, summaryColumns...)
	if r.Analysis != nil {
		head = append(head, primaryColumns...)
	}
	lines := [][]string{head}
	for _, row := range r.Rows {
		line := append(values[:len(values):len(values)], row.columns()...)
		if r.Analysis != nil {
			line = append(line, r.primaryValues(row)...)
		}
		lines = append(lines, line)
	}
	return csvLines(lines)
}

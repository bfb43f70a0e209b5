package results

import (
	"bytes"
	"fmt"
	"strings"
)

// text is the report for a terminal.
func (r report) text() ([]byte, error) {
	var b bytes.Buffer
	writePairs(&b, append(r.verdict(), r.header()...))
	if !r.RowsVerified {
		return b.Bytes(), nil
	}
	if r.Analysis != nil {
		b.WriteByte('\n')
		writeTable(&b, r.primaryTable(), leftPrimary)
		b.WriteString("\n" + r.primaryLegend() + "\n")
	}
	b.WriteByte('\n')
	writeTable(&b, r.table(), leftColumns)
	b.WriteString("\n" + legend + "\n")
	r.profileText(&b)
	return b.Bytes(), nil
}

// counted is a number of things, in the singular where there is one.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// verdict are the lines about the decision and its cells, none without an
// analysis.
func (r report) verdict() [][2]string {
	if r.Analysis == nil || !r.RowsVerified {
		return nil
	}
	lines := [][2]string{{"verdict", r.Conclusion}}
	for _, c := range r.Analysis.Primary {
		lines = append(lines, [2]string{"", fmt.Sprintf("%d %s %s: %s: %s", c.Count, c.Metadata, c.Metric, c.Decision, c.Reason)})
	}
	if control := r.controlLine(); control != "" {
		lines = append(lines, [2]string{"control", control})
	}
	return lines
}

// header are the lines above the table: name and value.
func (r report) header() [][2]string {
	lines := [][2]string{{"run", fmt.Sprintf("%s, decision %s (fanoutbench %s)", r.Status, r.Decision, r.ToolVersion)}}
	for _, a := range r.Arms {
		lines = append(lines, [2]string{a.Name, a.String()})
	}
	process := "a fresh process each round"
	switch r.Process {
	case ProcessRun:
		process = "one process for the run"
	case ProcessSpawn:
		process = "everything started anew each round"
	}
	if r.Loop != "" {
		lines = append(lines, [2]string{"loop", r.Loop + ": the consumers are the detokenizers' inputs"})
	}
	if r.Consumers != "" {
		lines = append(lines, [2]string{"consumers", "each in a process of its own, from which the controller hears that rows have come"})
	}
	lines = append(lines,
		[2]string{"transport", r.Transport},
		[2]string{"rounds", fmt.Sprintf("%d after round -1, %s each, %s", r.Rounds, counted(r.Repetitions, "repetition"), process)},
		[2]string{"stream", fmt.Sprintf("%s, seed %d, %s, consumer %s, pace %s", r.Stream, r.Seed, counted(r.HTTPWorkers, "HTTP worker"), r.Consumer, r.Pace)},
		[2]string{"rows", r.rows()})
	if r.CPU != "" {
		lines = append(lines, [2]string{"machine", fmt.Sprintf("%s, %s", r.CPU, counted(r.CPUs, "CPU"))})
	}
	for _, w := range r.Warnings {
		lines = append(lines, [2]string{"warning", w})
	}
	if r.RowsVerified {
		return lines
	}
	if r.Failure == nil {
		return append(lines, [2]string{"failure", r.Failure.text()})
	}
	lines = append(lines, [2]string{"failure", r.Failure.Message})
	return append(lines, r.Failure.fields()...)
}

func (r report) rows() string {
	if !r.RowsVerified {
		return fmt.Sprintf("NOT verified; %d were right before the run ended", r.VerifiedRows)
	}
	return fmt.Sprintf("verified: %d, fence rows %d, warm-up rows %d", r.VerifiedRows, r.FenceRows, r.WarmupRows)
}

func (a reportArm) String() string {
	s := a.Spec
	for _, f := range []struct{ name, value string }{{"runtime", a.Runtime}, {"strategy", a.Strategy}, {"options", strings.Join(a.Options, " ")}, {"revision", a.Revision}} {
		if f.value != "" {
			s += ", " + f.name + " " + f.value
		}
	}
	if a.Modified == "true" {
		s += " with uncommitted changes"
	}
	if a.Layouts > 0 {
		s += fmt.Sprintf(", one of %d layouts a round", a.Layouts)
	}
	if a.Again {
		s += ", each round from one parent process"
	}
	if a.Descriptive != "" {
		s += ", DESCRIPTIVE, its figures decide nothing: " + a.Descriptive
	}
	if a.OwnClock {
		s += ", OWN CLOCK: timed by the arm itself, not by this program"
	}
	return s
}

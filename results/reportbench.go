package results

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// benchUnits are the units of the Go benchmark format that benchstat scales by
// itself: names that end in ns are shown as seconds.
var benchUnits = map[string]string{
	"complete_ms": "ns/op", "first_ms": "first-ns", "first_all_ms": "first-all-ns",
	"spread_ms": "spread-ns", "worker_cpu_ms": "worker-cpu-ns",
}

// bench is the run in the Go benchmark format
// (https://go.dev/design/14313-benchmark-format), for
//
//	benchstat -col arm FILE
//
// Every line is one round of one cell and arm, of which the line "arm:" above it
// names the arm: the means over repetitions in nanoseconds, so that benchstat's
// medians are those of the other reports. benchstat does not pair the rounds: its
// intervals are wider, or its p larger, than what the pairs say.
//
// A run that is not verified has its failure and no benchmark line.
func (r report) bench(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	config := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, oneLine(value)) }
	config("status", r.Status)
	config("decision", r.Decision)
	if !r.RowsVerified {
		config("failure", r.Failure.text())
		return b.Bytes(), nil
	}
	config("goos", f.Result.Environment.OS)
	config("goarch", f.Result.Environment.Arch)
	config("cpu", r.CPU)
	config("transport", r.Transport)
	config("reference", r.Arms[0].String())
	config("candidate", r.Arms[1].String())
	config("plan-sha256", r.PlanSHA256)
	for _, metric := range Metrics {
		fmt.Fprintf(&b, "Unit %s better=lower\n", benchUnits[metric])
	}
	for _, arm := range f.Plan.Arms() {
		config("arm", arm)
		for _, count := range f.Plan.Counts {
			for _, metadata := range f.Plan.Metadata {
				benchCell(&b, f, arm, count, metadata)
			}
		}
	}
	return b.Bytes(), nil
}

// benchCell writes a cell's rounds.
func benchCell(b *bytes.Buffer, f *Folder, arm string, count int, metadata string) {
	means := map[string][]*float64{}
	for _, metric := range Metrics {
		means[metric] = f.RoundMeans(arm, count, metadata, metric)
	}
	for round := range f.Plan.Rounds {
		values := []string{fmt.Sprintf("BenchmarkFanout/count=%d/metadata=%s", count, metadata), strconv.Itoa(f.Plan.Repetitions)}
		for _, metric := range Metrics {
			if v := means[metric][round]; v != nil {
				values = append(values, strconv.FormatFloat(*v*1e6, 'f', -1, 64), benchUnits[metric])
			}
		}
		if len(values) > 2 {
			b.WriteString(strings.Join(values, " ") + "\n")
		}
	}
}

// RoundMeans are an arm's means over the repetitions of a cell's metric, in
// milliseconds, by round; nil where a repetition lacks the metric.
func (f *Folder) RoundMeans(arm string, count int, metadata, metric string) []*float64 {
	var in []Trial
	for _, t := range f.Trials {
		if t.Round >= 0 && t.Count == count && t.Metadata == metadata && t.Arm == arm {
			in = append(in, t)
		}
	}
	return roundMeans(f.Plan, in, arm, metric)
}

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
)

// What is here is known by GitHub's documentation of workflow commands: lines of
// the form ::error title=T::MESSAGE, with %, line ends and, in properties, : and ,
// written as % and two digits.

// annotations are the lines that show up beside a job: an error where the outcome
// ends it.
func annotations(report results.GateReport, ends bool) string {
	var b strings.Builder
	outcome, reason := report.Outcome()
	switch {
	case ends:
		b.WriteString(annotation("error", outcome+": "+reason))
	case outcome == results.Unclear:
		b.WriteString(annotation("warning", outcome+": "+reason))
	}
	for _, w := range report.Warnings() {
		b.WriteString(annotation("warning", w))
	}
	return b.String()
}

func annotation(level, message string) string {
	message = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message)
	return fmt.Sprintf("::%s title=fanoutbench gate::%s\n", level, message)
}

// attempts says what a job that was run again makes of its result. A job is run
// again when its result was not liked, so only all attempts together mean what
// one means by itself.
func attempts(g *results.GatedTimes, attempt string, earlier int) {
	if attempt == "" {
		return
	}
	k, err := strconv.Atoi(attempt)
	switch {
	case err != nil || k < 1:
		g.Warnings = append(g.Warnings, fmt.Sprintf("GITHUB_RUN_ATTEMPT is %q, want a number from 1: not corrected for earlier attempts", attempt))
	case k == earlier+1 && k > 1:
		g.Notes = append(g.Notes, fmt.Sprintf("attempt %d, with the rounds of the %d before it", k, earlier))
	case k > earlier+1 && earlier > 0:
		g.Warnings = append(g.Warnings, fmt.Sprintf("attempt %d, with the rounds of %d before it, not corrected for the others: give --earlier for each", k, earlier))
	case k > 1 && g.Kind == results.KindAnytime:
		g.Warnings = append(g.Warnings, fmt.Sprintf("attempt %d, not corrected: give --earlier for each attempt before it", k))
	case k > 1:
		g.Warnings = append(g.Warnings, fmt.Sprintf("attempt %d, not corrected: with a fixed plan the attempts cannot be joined", k))
	}
}

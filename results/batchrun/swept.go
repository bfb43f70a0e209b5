package batchrun

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results/form"
)

// Swept is what a sweep gives one value after the other: a flag of this module's server.
type Swept struct {
	Name   string   // as it is asked for and as the runs' folders are called
	Option string   // the server's flag
	Arms   []string // that get the values
}

// swept are all of them. A limit of messages is the candidate's; what is asked of it is
// which to recommend. The fixed part of a simulated step is that of both arms; what is
// asked of it is from which ratio to a token's part on the candidate wins.
var swept = []Swept{
	{"max-tokens", "batch-send-max-tokens", []string{Candidate}},
	{"max-reqs", "batch-send-max-reqs", []string{Candidate}},
	{stepBase, "sim-step-base", []string{Reference, Candidate}},
}

const stepBase = "step-base"

// Values of a sweep.
const (
	maxSweepLimit = 1 << 40
	minStepBase   = 1e-9 // seconds; 0 is one too
	maxStepBase   = 3600
)

// FindSwept is the one of a name. The error names all.
func FindSwept(name string) (Swept, error) {
	at := slices.IndexFunc(swept, func(w Swept) bool { return w.Name == name })
	if at < 0 {
		var names []string
		for _, w := range swept {
			names = append(names, w.Name)
		}
		return Swept{}, form.Unwanted("name", name, "one of %q", names)
	}
	return swept[at], nil
}

// Limits says whether the values are limits of the candidate's messages, of which 0 is
// none and so the largest; they are seconds of a step otherwise.
func (w Swept) Limits() bool { return w.Name != stepBase }

// Parse reads values with commas between. Limits keep their order; seconds of a step are put
// the largest first, since the first run's rate is that of all, and a server whose steps are
// longest holds the least.
func (w Swept) Parse(list string) ([]float64, error) {
	var values []float64
	for word := range strings.SplitSeq(list, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || !w.allows(v) || slices.Contains(values, v) {
			return nil, fmt.Errorf("%s is %q, want %s, each once; this one is %q", w.Name, list, w.wanted(), word)
		}
		values = append(values, v)
	}
	if !w.Limits() {
		slices.SortFunc(values, func(a, b float64) int { return cmp.Compare(b, a) })
	}
	return values, nil
}

// allows is false of NaN, and of a 0 below 0, which has another text.
func (w Swept) allows(v float64) bool {
	switch {
	case math.Signbit(v):
		return false
	case w.Limits():
		return v == math.Trunc(v) && v <= maxSweepLimit
	}
	return v == 0 || v >= minStepBase && v <= maxStepBase
}

func (w Swept) wanted() string {
	if w.Limits() {
		return fmt.Sprintf("whole limits of 0 (none) to %d", maxSweepLimit)
	}
	return fmt.Sprintf("seconds of 0, or from %g to %d", minStepBase, maxStepBase)
}

// ValueText is a value as the server's flag and the run's folder have it: no exponent,
// and no point in a whole number.
func ValueText(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Folder is the name of a value's run folder.
func (w Swept) Folder(v float64) string { return w.Name + "-" + ValueText(v) }

// Label is a value as it stands in a table.
func (w Swept) Label(v float64) string {
	if w.Limits() && v == 0 {
		return "none"
	}
	return ValueText(v)
}

// Words is a value within a sentence.
func (w Swept) Words(v float64) string {
	switch {
	case !w.Limits():
		return "a fixed part of " + ValueText(v) + " s"
	case v == 0:
		return "no limit"
	}
	return "a limit of " + ValueText(v)
}

// What is the name of the values.
func (w Swept) What() string {
	if w.Limits() {
		return "limit"
	}
	return "fixed part of a step"
}

// size orders values.
func (w Swept) size(v float64) float64 {
	if w.Limits() && v == 0 {
		return math.Inf(1)
	}
	return v
}

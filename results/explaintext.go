package results

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Explain writes, as text, the rounds behind the figures of a run: for each cell
// that the options choose the coin and both arms' values of each round, what went
// on beside it, and the figures without the disturbed rounds. Those are
// descriptive: which rounds are left out was not decided beforehand, and nothing
// follows from them. Of a run that was not verified it shows the failure alone.
func Explain(w io.Writer, f *Folder, opt ExplainOptions) error {
	if err := opt.Check(f.Plan); err != nil {
		return fmt.Errorf("results: explain %s: %w", f.Dir, err)
	}
	if err := f.CheckFigures(); err != nil {
		return fmt.Errorf("results: explain %s: %w", f.Dir, err)
	}
	r := reportOf(f)
	var b bytes.Buffer
	writePairs(&b, r.header())
	if r.RowsVerified {
		b.WriteString("\n" + rule() + "\n")
	}
	p := f.Plan
	if r.RowsVerified {
		p = p.UpTo(f.Result.Rounds) // an anytime plan's run may have ended early
	}
	for _, row := range opt.chosen(r.Rows) {
		e, err := explainRow(p, f.Trials, row)
		if err != nil {
			return fmt.Errorf("results: explain %s: %w", f.Dir, err)
		}
		e.control = controlOf(f, p, row)
		e.text(&b)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("results: explain %s: %w", f.Dir, err)
	}
	return nil
}

// rule says what makes a round disturbed.
func rule() string {
	return fmt.Sprintf("A round of a cell is disturbed where steal, pressure or involuntary switches, over the cell's trials of\n"+
		"both arms, are above their median over the cell's rounds by more than %d median absolute deviations and\n"+
		"more than %d ticks of 10 ms, %d ms or %d switches.", deviations, gauges[0].floor, gauges[1].floor/1000, gauges[2].floor)
}

var explainHead = []string{
	"round", "first", "reference ms", "candidate ms", "reduction %", "steal ticks", "pressure ms",
	"involuntary ref", "cand", "voluntary ref", "cand", "MHz", "disturbed by",
}

func (e explained) text(b *bytes.Buffer) {
	fmt.Fprintf(b, "\ncount %d, metadata %s, %s\n", e.row.Count, e.row.Metadata, e.row.Metric)
	lines := [][]string{e.control.head(explainHead)}
	for _, r := range e.rounds {
		lines = append(lines, e.control.cells(r.round, r.cells()))
	}
	writeTable(b, lines, []int{orderColumn, len(lines[0]) - 1})
	fmt.Fprintf(b, "all %d rounds: %s\n", len(e.rounds), e.row.sentence())
	e.control.text(b)
	if len(e.unknown) > 0 {
		fmt.Fprintf(b, "not known: %s; some or all of the trials lack it\n", strings.Join(e.unknown, ", "))
	}
	switch {
	case e.without != nil:
		fmt.Fprintf(b, "descriptive, without %s: %s\n", numbered(e.excluded), e.without.sentence())
	case len(e.unknown) == len(gauges):
		b.WriteString("which rounds were disturbed cannot be said\n")
	default:
		b.WriteString("no round was disturbed, by what is known\n")
	}
}

func numbered(rounds []int) string {
	if len(rounds) == 1 {
		return fmt.Sprintf("round %d", rounds[0])
	}
	var names []string
	for _, r := range rounds {
		names = append(names, strconv.Itoa(r))
	}
	return "rounds " + strings.Join(names, ", ")
}

func (r explainedRound) cells() []string {
	involuntary := func(d *Disturbance) *int64 { return d.Involuntary }
	voluntary := func(d *Disturbance) *int64 { return d.Voluntary }
	return []string{
		strconv.Itoa(r.round), r.first, significant(r.reference, 4), significant(r.candidate, 4), oneDecimal(r.reduction),
		whole(r.sum(gauges[0].of)), milli(r.sum(gauges[1].of)),
		whole(r.sum(involuntary, Reference)), whole(r.sum(involuntary, Candidate)),
		whole(r.sum(voluntary, Reference)), whole(r.sum(voluntary, Candidate)),
		r.frequencies(), strings.Join(r.disturbed, ", "),
	}
}

// milli writes microseconds as milliseconds.
func milli(us *int64) string {
	if us == nil {
		return "-"
	}
	ms := float64(*us) / 1000
	return oneDecimal(&ms)
}

// frequencies are the lowest and the highest of the round's trials.
func (r explainedRound) frequencies() string {
	var khz []int64
	for _, trials := range r.trials {
		for _, t := range trials {
			if d := t.Disturbance; d != nil && d.LowestKHz != nil {
				khz = append(khz, *d.LowestKHz, *d.HighestKHz)
			}
		}
	}
	if len(khz) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d to %d", slices.Min(khz)/1000, slices.Max(khz)/1000)
}

// sentence has the row's figures.
func (row SummaryRow) sentence() string { return row.sentenceOf(Candidate) }

// sentenceOf is sentence for a row with another arm in the candidate's place.
func (row SummaryRow) sentenceOf(arm string) string {
	order, bootstrap := row.OrderCI.rounded(), row.BootstrapCI.rounded()
	return fmt.Sprintf("reference %s ms, %s %s ms, reduction %s %%, order interval %s %% (level %s), bootstrap interval %s %% (level %s), faster %d/%d",
		significant(row.ReferenceMS, 4), arm, significant(row.CandidateMS, 4), oneDecimal(row.MedianPairedReductionPct),
		order[0], order[1], bootstrap[0], bootstrap[1], row.FasterRounds, row.Rounds)
}

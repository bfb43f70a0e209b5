package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// progress shows how far a run is: a bar on a terminal, a line a round elsewhere.
// A reader that has gone does not end the run.
type progress struct {
	w     io.Writer
	tty   bool
	round int
	shown bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	return &progress{w: w, tty: ok && term.IsTerminal(int(f.Fd())), round: -1}
}

const barWidth = 40

// Say tells what goes on before there is a plan.
func (p *progress) Say(line string) { _, _ = fmt.Fprintln(p.w, line) }

// Trial tells that a trial has ended.
func (p *progress) Trial(done, total int, slot batchrun.Slot) {
	if p.tty {
		filled := barWidth * done / total
		_, _ = fmt.Fprintf(p.w, "\r[%s%s] round %d, %d of %d trials", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), slot.Round, done, total)
		p.shown = true
		return
	}
	if slot.Round != p.round {
		p.round = slot.Round
		_, _ = fmt.Fprintf(p.w, "round %d: %d of %d trials are done\n", slot.Round, done, total)
	}
}

// end leaves the bar's line.
func (p *progress) end() {
	if p.shown {
		_, _ = fmt.Fprintln(p.w)
		p.shown = false
	}
}

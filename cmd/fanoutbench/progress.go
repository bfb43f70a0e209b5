package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
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
	return &progress{w: w, tty: ok && term.IsTerminal(int(f.Fd())), round: -2}
}

const barWidth = 40

func (p *progress) Trial(done, total, round int) {
	if p.tty {
		filled := barWidth * done / total
		_, _ = fmt.Fprintf(p.w, "\r[%s%s] round %d, %d of %d trials, warm-ups included", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), round, done, total)
		p.shown = true
		return
	}
	if round != p.round {
		p.round = round
		_, _ = fmt.Fprintf(p.w, "round %d begins: %d of %d trials, warm-ups included, are verified\n", round, done-1, total)
	}
}

func (p *progress) Settled(rounds, of int) {
	p.end()
	p.shown = false
	_, _ = fmt.Fprintf(p.w, "every primary cell is settled after %d rounds of at most %d\n", rounds, of)
}

// end leaves the bar's line.
func (p *progress) end() {
	if p.shown {
		_, _ = fmt.Fprintln(p.w)
	}
}

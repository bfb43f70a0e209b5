package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/cpuclock"
)

// The kinds of cells.
const (
	kindPrefill = "prefill"
	kindDecode  = "decode"
)

// The types of raw lines; ready lines stand beside them as the processes wrote them.
const (
	typeRun   = "run"
	typeAgree = "agree"
	typeTrial = "trial"
)

// plan is all that was decided before the first trial.
type plan struct {
	Type       string   `json:"type"`
	Seed       uint64   `json:"seed"`
	Rounds     int      `json:"rounds"`
	Threads    int      `json:"threads"`
	Prompt     int      `json:"prompt"` // ids of a prefill
	Steps      int      `json:"steps"`  // of a decode
	Vocabulary int64    `json:"vocabulary"`
	NoiseLimit float64  `json:"noise_limit"`
	Models     []string `json:"models"`
}

// agreement is what both arms say of the same few tokens, before the rounds.
type agreement struct {
	Type  string `json:"type"`
	Model string `json:"model"`
	Same  int    `json:"same"` // tokens that are the same before the first that is not
	Of    int    `json:"of"`
	noise
}

// started is a process's ready line, and which model it is of.
type started struct {
	Model string `json:"model"`
	ready
}

// trial is one arm's run of one cell.
type trial struct {
	Type           string  `json:"type"`
	Round          int     `json:"round"`    // -1 is the warm-up
	Position       int     `json:"position"` // in the round
	Model          string  `json:"model"`
	Kind           string  `json:"kind"`
	Arm            string  `json:"arm"`
	Tokens         int     `json:"tokens"` // of the prompt or steps, that Seconds are for
	Seconds        float64 `json:"seconds"`
	CPUSeconds     float64 `json:"cpu_s"`      // of the whole request; 0 for read
	CPUTokens      int     `json:"cpu_tokens"` // that CPUSeconds are for
	OuterSeconds   float64 `json:"outer_s"`    // by the clock of whoever asked
	IdleCPUSeconds float64 `json:"idle_cpu_s"` // of all other arms meanwhile
	Bytes          int64   `json:"bytes"`      // that were read: a step's weights, or a pass
}

// file is a model's file and its arms.
type file struct {
	name, path        string
	ours, peers, read *arm
}

// bench runs rounds.
type bench struct {
	plan
	settings
	settle time.Duration // before each trial
	files  []*file
	out    *json.Encoder
	log    io.Writer
}

// trialTimeout is how long a trial may take before it hangs.
const trialTimeout = 10 * time.Minute

func (b *bench) run(ctx context.Context) error {
	b.Type = typeRun
	for _, f := range b.files {
		b.Models = append(b.Models, f.name)
	}
	if err := b.out.Encode(b.plan); err != nil {
		return err
	}
	defer b.end()
	for _, f := range b.files {
		if err := b.start(ctx, f); err != nil {
			return err
		}
		if err := b.agree(ctx, f); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	r := rand.New(rand.NewPCG(b.Seed, 0))
	for round := -1; round < b.Rounds; round++ {
		if err := b.round(ctx, round, r); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if _, err := fmt.Fprintf(b.log, "round %d of %d done\n", round, b.Rounds-1); err != nil {
			return err
		}
	}
	return nil
}

// start starts a file's arms; read gets as many bytes as our decoder reads a token, in whole cache lines.
func (b *bench) start(ctx context.Context, f *file) error {
	var err error
	if f.ours, f.peers, err = startPair(ctx, b.settings, f.path, b.log); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	line := int64(8 * wordsAStep * b.threads)
	bytes := f.ours.WeightBytes / line * line
	if f.read, err = startArm(ctx, []string{self, "read", "--bytes", strconv.FormatInt(bytes, 10), "--threads", strconv.Itoa(b.threads)}, b.log); err != nil {
		return err
	}
	for _, a := range f.arms() {
		if err := b.out.Encode(started{f.name, a.ready}); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) end() {
	for _, f := range b.files {
		for _, a := range f.arms() {
			a.end()
		}
	}
}

// arms are those that were started.
func (f *file) arms() []*arm {
	var all []*arm
	for _, a := range []*arm{f.ours, f.peers, f.read} {
		if a != nil {
			all = append(all, a)
		}
	}
	return all
}

// agree lets both arms continue the same ids, and ends the run if they do not compute the same.
func (b *bench) agree(ctx context.Context, f *file) error {
	g := generate{Prompt: drawIDs(rand.New(rand.NewPCG(b.Seed, 1)), 16, b.Vocabulary), Tokens: 8, Top: 20}
	ours, err := f.ours.generate(ctx, g)
	if err != nil {
		return err
	}
	peers, err := f.peers.generate(ctx, g)
	if err != nil {
		return err
	}
	c, n, err := agreed(ours, peers, b.NoiseLimit)
	if err != nil {
		return err
	}
	return b.out.Encode(agreement{Type: typeAgree, Model: f.name, Same: c.Same, Of: g.Tokens, noise: n})
}

// agreed compares the lists of candidates up to the first difference, and there too: random weights choose between close candidates.
func agreed(ours, peers generated, limit float64) (comparison, noise, error) {
	c, err := compare(ours, peers)
	if err != nil {
		return c, noise{}, err
	}
	var all []float64
	for i := range min(c.Same+1, len(ours.Top)) {
		for _, o := range ours.Top[i] {
			if p, ok := find(peers.Top[i], o.ID); ok {
				all = append(all, max(o.Logprob-p.Logprob, p.Logprob-o.Logprob))
			}
		}
	}
	n, err := summarize(all)
	if err == nil && n.Largest > limit {
		err = fmt.Errorf("log-probabilities differ by %.3g, expected at most %.3g: the arms do not compute the same", n.Largest, limit)
	}
	return c, n, err
}

func drawIDs(r *rand.Rand, n int, vocabulary int64) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = r.Int64N(vocabulary)
	}
	return ids
}

// cell is a file and a kind.
type cell struct {
	*file
	kind string
}

// order draws the cells' order in a round.
func order(r *rand.Rand, files []*file) []cell {
	var cells []cell
	for _, f := range files {
		cells = append(cells, cell{f, kindPrefill}, cell{f, kindDecode})
	}
	r.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}

// cellArms draws the order of a cell's arms.
func (c cell) cellArms(r *rand.Rand) []*arm {
	arms := []*arm{c.ours, c.peers}
	if c.kind == kindDecode {
		arms = append(arms, c.read)
	}
	r.Shuffle(len(arms), func(i, j int) { arms[i], arms[j] = arms[j], arms[i] })
	return arms
}

func (b *bench) round(ctx context.Context, round int, r *rand.Rand) error {
	position := 0
	for _, c := range order(r, b.files) {
		g := generate{Prompt: drawIDs(r, b.Prompt, b.Vocabulary), Tokens: 1}
		if c.kind == kindDecode {
			g = generate{Prompt: drawIDs(r, 1, b.Vocabulary), Tokens: b.Steps + 1}
		}
		for _, a := range c.cellArms(r) {
			t := trial{Type: typeTrial, Round: round, Position: position, Model: c.name, Kind: c.kind, Arm: a.Arm}
			if err := b.trial(ctx, c, a, g, &t); err != nil {
				return fmt.Errorf("%s %s: %w", c.name, c.kind, err)
			}
			if err := b.out.Encode(t); err != nil {
				return err
			}
			position++
		}
	}
	return nil
}

// trial runs one arm while all others wait.
func (b *bench) trial(ctx context.Context, c cell, a *arm, g generate, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	var idle []int
	for _, f := range b.files {
		for _, other := range f.arms() {
			if other != a {
				idle = append(idle, other.child.PID())
			}
		}
	}
	time.Sleep(b.settle) // threads that have just worked look for more work for a while
	before, err := cpuclock.Sum(idle)
	if err != nil {
		return err
	}
	start := time.Now()
	if a == c.read {
		err = readTrial(ctx, a, b.Steps, t)
	} else {
		err = modelTrial(ctx, c, a, g, t)
	}
	if err != nil {
		return err
	}
	t.OuterSeconds = time.Since(start).Seconds()
	after, err := cpuclock.Sum(idle)
	t.IdleCPUSeconds = (after - before).Seconds()
	if err == nil && (t.Seconds <= 0 || t.Seconds > t.OuterSeconds) {
		err = fmt.Errorf("%s says %v s, expected above 0 and at most the %v s that asking took", a.Arm, t.Seconds, t.OuterSeconds)
	}
	return err
}

// readTrial reads as often as a decode has steps, so that both last about as long.
func readTrial(ctx context.Context, a *arm, times int, t *trial) error {
	p, err := a.pass(ctx, times)
	t.Tokens, t.Seconds, t.Bytes = times, p.Seconds, p.Bytes
	return err
}

func modelTrial(ctx context.Context, c cell, a *arm, g generate, t *trial) error {
	out, err := a.generate(ctx, g)
	if err != nil {
		return err
	}
	if len(out.IDs) != g.Tokens {
		return fmt.Errorf("%s gave %d tokens, expected %d", a.Arm, len(out.IDs), g.Tokens)
	}
	t.CPUSeconds, t.CPUTokens, t.Bytes = out.CPUSeconds, len(g.Prompt)+g.Tokens-1, c.ours.WeightBytes
	if t.Kind == kindPrefill {
		t.Tokens, t.Seconds = len(g.Prompt), out.PrefillSeconds
	} else {
		t.Tokens, t.Seconds = g.Tokens-1, out.DecodeSeconds
	}
	return nil
}

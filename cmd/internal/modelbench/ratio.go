package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fanoutbench/fanoutbench/results/table"
	"github.com/fanoutbench/fanoutbench/stats"
)

// level of the intervals.
const level = 0.95

// run is what the raw lines of a finished run say.
type run struct {
	plan      plan
	started   []started
	agreement []agreement
	trials    []trial
}

// readRun reads raw lines. Lines that do not begin with a brace are a file's head and table.
func readRun(in io.Reader) (run, error) {
	var r run
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if !bytes.HasPrefix(lines.Bytes(), []byte("{")) {
			continue
		}
		if err := r.add(lines.Bytes()); err != nil {
			return r, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return r, err
	}
	return r, r.check()
}

func (r *run) add(line []byte) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case typeRun:
		if r.plan.Type != "" {
			return errors.New("a second line of type run, expected one")
		}
		return strictly(line, &r.plan)
	case typeReady:
		return into(line, &r.started)
	case typeAgree:
		return into(line, &r.agreement)
	case typeTrial:
		return into(line, &r.trials)
	}
	return fmt.Errorf("type %.40q, expected run, ready, agree or trial", kind.Type)
}

func strictly(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

func into[T any](line []byte, all *[]T) error {
	var one T
	if err := strictly(line, &one); err != nil {
		return err
	}
	*all = append(*all, one)
	return nil
}

// check asks for every trial once: a table of a part would be a selection.
func (r *run) check() error {
	if r.plan.Type == "" {
		return errors.New("no line of type run")
	}
	if r.plan.Rounds < 1 || r.plan.Rounds > 1000 || len(r.plan.Models) == 0 {
		return fmt.Errorf("%d rounds of %d models, expected 1 to 1000 and at least one", r.plan.Rounds, len(r.plan.Models))
	}
	if r.peer() == "" {
		return errors.New("no ready line of a peer, expected one of an arm beside fanoutbench and read")
	}
	seen := map[string]int{}
	for _, t := range r.trials {
		if t.Seconds <= 0 || t.Tokens < 1 || t.CPUSeconds < 0 || t.Bytes < 0 || t.OuterSeconds < t.Seconds || t.Arm != armRead && t.CPUTokens < 1 {
			return fmt.Errorf("trial %+v: expected seconds and tokens above 0, and no more seconds than outer_s", t)
		}
		seen[key(t.Model, t.Kind, t.Arm, t.Round)]++
	}
	wanted := 0
	for _, c := range r.cells() {
		for _, arm := range c.arms {
			for round := -1; round < r.plan.Rounds; round++ {
				wanted++
				if n := seen[key(c.model, c.kind, arm, round)]; n != 1 {
					return fmt.Errorf("%s %s, round %d: %d trials of %s, expected 1", c.model, c.kind, round, n, arm)
				}
			}
		}
	}
	if wanted != len(r.trials) {
		return fmt.Errorf("%d trials, expected %d", len(r.trials), wanted)
	}
	return nil
}

func key(model, kind, arm string, round int) string {
	return fmt.Sprintf("%q %q %q %d", model, kind, arm, round)
}

// tableCell is a cell as the lines name it.
type tableCell struct {
	model, kind string
	arms        []string
}

func (r *run) cells() []tableCell {
	var cells []tableCell
	for _, m := range r.plan.Models {
		cells = append(cells, tableCell{m, kindPrefill, []string{armOurs, r.peer()}}, tableCell{m, kindDecode, []string{armOurs, r.peer(), armRead}})
	}
	return cells
}

// peer is the arm that is neither ours nor read.
func (r *run) peer() string {
	i := slices.IndexFunc(r.started, func(s started) bool { return s.Arm != armOurs && s.Arm != armRead })
	if i < 0 {
		return ""
	}
	return r.started[i].Arm
}

// of gives the values of an arm's trials by round, without the warm-up.
func (r *run) of(c tableCell, arm string, value func(trial) float64) []float64 {
	values := make([]float64, r.plan.Rounds)
	for _, t := range r.trials {
		if t.Model == c.model && t.Kind == c.kind && t.Arm == arm && t.Round >= 0 {
			values[t.Round] = value(t)
		}
	}
	return values
}

func rate(t trial) float64 { return float64(t.Tokens) / t.Seconds }

// bandwidth is the bytes a second that a decode or a pass reads.
func bandwidth(t trial) float64 { return float64(t.Bytes) * rate(t) }

func cpuToken(t trial) float64 { return t.CPUSeconds / float64(t.CPUTokens) }

// quotients are of the same round.
func quotients(over, under []float64) []float64 {
	q := make([]float64, len(over))
	for i := range q {
		q[i] = over[i] / under[i]
	}
	return q
}

// interval is the median with its exact interval.
func interval(values []float64) string {
	i, ok := stats.OrderStatistic(values, level)
	if !ok {
		return fmt.Sprintf("%.3f (no interval: too few rounds)", stats.Median(values))
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f] at %.2f %%", stats.Median(values), i.Low, i.High, 100*i.Level)
}

// report writes the tables.
func (r *run) report(out io.Writer) error {
	speed := [][]string{{"cell", "ours tok/s", r.peer() + " tok/s", "ratio", "rounds won", "CPU ms/token", "of " + r.peer()}}
	share := [][]string{{"cell", "read GB/s", "ours, share of it", r.peer() + ", share of it"}}
	for _, c := range r.cells() {
		ours, peers := r.of(c, armOurs, rate), r.of(c, r.peer(), rate)
		ratio := quotients(ours, peers)
		won := 0
		for _, q := range ratio {
			if q > 1 {
				won++
			}
		}
		cpu := func(arm string) string { return fmt.Sprintf("%.1f", 1e3*stats.Median(r.of(c, arm, cpuToken))) }
		name := c.model + " " + c.kind
		speed = append(speed, []string{
			name, fmt.Sprintf("%.2f", stats.Median(ours)), fmt.Sprintf("%.2f", stats.Median(peers)), interval(ratio),
			fmt.Sprintf("%d of %d", won, len(ratio)), cpu(armOurs), cpu(r.peer()),
		})
		if c.kind == kindDecode {
			read := r.of(c, armRead, bandwidth)
			share = append(share, []string{
				name, fmt.Sprintf("%.2f", stats.Median(read)/1e9), interval(quotients(r.of(c, armOurs, bandwidth), read)),
				interval(quotients(r.of(c, r.peer(), bandwidth), read)),
			})
		}
	}
	var b bytes.Buffer
	table.Text(&b, speed, []int{0})
	b.WriteByte('\n')
	table.Text(&b, share, []int{0})
	b.WriteByte('\n')
	for _, a := range r.agreement {
		fmt.Fprintf(&b, "%s: %d of %d tokens the same; log-probabilities differ by %.3g in the median, %.3g at most (of %d)\n",
			a.Model, a.Same, a.Of, a.Median, a.Largest, a.Positions)
	}
	b.WriteString(r.busiest())
	_, err := out.Write(b.Bytes())
	return err
}

// busiest names the trial during which the other arms used most of the machine.
func (r *run) busiest() string {
	worst := slices.MaxFunc(r.trials, func(a, b trial) int {
		return cmp.Compare(a.IdleCPUSeconds/a.OuterSeconds, b.IdleCPUSeconds/b.OuterSeconds)
	})
	return fmt.Sprintf("idle arms used at most %.2f %% of one core during a trial (round %d, %s %s of %s)\n",
		100*worst.IdleCPUSeconds/worst.OuterSeconds, worst.Round, worst.Model, worst.Kind, worst.Arm)
}

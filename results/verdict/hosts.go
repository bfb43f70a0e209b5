package verdict

import (
	"fmt"
	"slices"

	"github.com/fanoutbench/fanoutbench/stats"
)

// HostDraws is how often rounds are dealt out to the hosts anew for HostEffect.P.
const HostDraws = 2000

// HostEffect is what one cell looks like on each host.
type HostEffect struct {
	Estimates []*float64 // medians of the log ratios, by host
	P         *float64   // of the hosts' ranks (stats.BlockEffect); descriptive
}

// Join makes one family of those of several hosts: the same cells, the rounds one
// host after the other.
func Join(hosts []Family) (Family, error) {
	if len(hosts) == 0 {
		return Family{}, fmt.Errorf("verdict: no hosts, want at least one")
	}
	first := hosts[0]
	joined := Family{Margin: first.Margin, Anytime: first.Anytime, Seed: first.Seed}
	for _, c := range first.Cells {
		joined.Cells = append(joined.Cells, Cell{Name: c.Name, NonInferiority: c.NonInferiority})
	}
	var controls []Family
	for h, f := range hosts {
		if len(f.Cells) != len(first.Cells) || f.Margin != first.Margin || f.Anytime != first.Anytime || (f.Control == nil) != (first.Control == nil) {
			return joined, fmt.Errorf("verdict: host %d has another family than host 0", h)
		}
		if err := f.check(); err != nil {
			return joined, fmt.Errorf("host %d: %w", h, err)
		}
		for i, c := range f.Cells {
			if c.Name != first.Cells[i].Name || c.NonInferiority != first.Cells[i].NonInferiority {
				return joined, fmt.Errorf("verdict: host %d has cell %s, host 0 %s", h, c.Name, first.Cells[i].Name)
			}
			to := &joined.Cells[i]
			to.LogRatios = append(to.LogRatios, c.LogRatios...)
			to.CandidateFirst = append(to.CandidateFirst, c.CandidateFirst...)
		}
		joined.Hosts = append(joined.Hosts, f.rounds())
		if f.Control != nil {
			controls = append(controls, *f.Control)
		}
	}
	if len(controls) == 0 {
		return joined, nil
	}
	control, err := Join(controls)
	joined.Control = &control
	return joined, err
}

// HostEffects describes every cell of a family by host.
func HostEffects(f Family) []HostEffect {
	effects := make([]HostEffect, len(f.Cells))
	for i := range f.Cells {
		hosts := f.byHost(i)
		for _, x := range hosts {
			effects[i].Estimates = append(effects[i].Estimates, some(stats.Median(x), true))
		}
		if t, err := stats.BlockEffect(hosts, stats.FlipSample{Draws: HostDraws, Seed: f.Seed}); err == nil {
			effects[i].P = &t.P // without one where a round lacks the cell
		}
	}
	return effects
}

// byHost are a cell's log ratios by host.
func (f Family) byHost(cell int) [][]float64 {
	x := f.Cells[cell].LogRatios
	if len(f.Hosts) == 0 {
		return [][]float64{x}
	}
	hosts, from := make([][]float64, len(f.Hosts)), 0
	for h, n := range f.Hosts {
		hosts[h] = slices.Clip(x[from : from+n])
		from += n
	}
	return hosts
}

func (f Family) checkHosts() error {
	if len(f.Hosts) == 0 {
		return nil
	}
	sum := 0
	for h, n := range f.Hosts {
		if n < 1 {
			return fmt.Errorf("verdict: host %d has %d rounds, want at least one", h, n)
		}
		sum += n
	}
	if sum != f.rounds() {
		return fmt.Errorf("verdict: the hosts have %d rounds, the cells %d", sum, f.rounds())
	}
	return nil
}

// signs has the e-value of a cell, the mean over hosts, and its interval.
func (f Family) signs(i int) (e float64, interval stats.Interval, ok bool, err error) {
	if len(f.Hosts) < 2 {
		e, err = stats.SignE(f.Cells[i].LogRatios, stats.Either)
		interval, ok = stats.TimeUniform(f.Cells[i].LogRatios, Level, len(f.Cells))
		return e, interval, ok, err
	}
	hosts := f.byHost(i)
	values := make([]float64, len(hosts))
	for h, x := range hosts {
		if values[h], err = stats.SignE(x, stats.Either); err != nil {
			return 0, interval, false, err
		}
	}
	if e, err = stats.MeanE(values); err != nil {
		return 0, interval, false, err
	}
	interval, ok = stats.TimeUniformMean(hosts, Level, len(f.Cells))
	return e, interval, ok, nil
}

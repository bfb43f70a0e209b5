package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/protocol"
	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// LookRounds is the number of rounds of one look of a calibration, as many as a
// run has by default.
const LookRounds = 9

// CalibrationInput is a verified run that was made for a calibration: with a
// family, reference and candidate the same but for the delay of RunDelay.
type CalibrationInput struct {
	Kind     string
	Name     string
	Folder   *Folder
	Multiple float64 // of the smallest effect, of RunDelay
}

// Calibrate says what these runs mean, the first of which is RunSame. A
// calibration fails when the looks at nothing raise more alarms than 5 % (the
// exact interval of their share lies above it), or when a delay of twice the
// smallest effect or more is not found.
func Calibrate(inputs []CalibrationInput, made, expires time.Time) (*Calibration, error) {
	c := &Calibration{Schema: Schema, LookRounds: LookRounds, MadeAt: made, ExpiresAt: expires}
	if len(inputs) == 0 || inputs[0].Kind != RunSame {
		return nil, fmt.Errorf("results: calibrate: want a run of kind %q first", RunSame)
	}
	for _, in := range inputs {
		if err := in.Folder.whole(); err != nil {
			return nil, err
		}
		if len(in.Folder.Plan.Primary) == 0 {
			return nil, &NoFamilyError{in.Folder.Dir}
		}
		if n := in.Folder.Result.Rounds; n < LookRounds {
			return nil, fmt.Errorf("results: calibrate: %s has %d rounds, want at least %d", in.Folder.Dir, n, LookRounds)
		}
		c.Runs = append(c.Runs, CalibrationRun{
			Kind: in.Kind, Name: in.Name, PlanSHA256: in.Folder.PlanSHA256, RawSHA256: in.Folder.RawSHA256,
			Rounds: in.Folder.Result.Rounds, Decision: in.Folder.Result.Analysis.Decision,
		})
	}
	same := inputs[0].Folder
	c.Repetitions = same.Plan.Repetitions
	c.ToolVersion, c.Host = same.Result.ToolVersion, Host(same.Result.Environment)
	c.Fingerprint = Fingerprint(c.Host)
	var err error
	if c.RoundSeconds, err = roundSeconds(same); err != nil {
		return nil, err
	}
	if c.Cells, err = calibrationCells(same); err != nil {
		return nil, err
	}
	if err := c.countAlarms(inputs); err != nil {
		return nil, err
	}
	if err := c.findDelays(inputs); err != nil {
		return nil, err
	}
	c.conclude()
	return c, c.check()
}

// roundSeconds is what a round takes with everything around its trials, from the
// starts of the trials of round 0 and of the last one.
func roundSeconds(f *Folder) (float64, error) {
	first, last := f.Trials[f.Plan.perRound()], f.Trials[len(f.Trials)-f.Plan.perRound()]
	s := last.StartedAt.Sub(first.StartedAt).Seconds() / float64(last.Round-first.Round)
	if !(s > 0) {
		return 0, fmt.Errorf("results: calibrate: in %s round %d began at %v and round %d at %v: the clock was set back", f.Dir, first.Round, first.StartedAt, last.Round, last.StartedAt)
	}
	return *six(&s), nil
}

// calibrationCells describes every metric of every cell of a run in which nothing
// differs.
func calibrationCells(f *Folder) ([]CalibrationCell, error) {
	p, counted := f.Plan, byCell(f.Trials)
	var first []bool
	for round := range p.Rounds {
		first = append(first, p.before(round, Candidate))
	}
	level := 1 - (1-verdict.Level)/float64(len(p.Primary))
	var cells []CalibrationCell
	for _, row := range f.Result.Summary {
		c := CalibrationCell{Count: row.Count, Metadata: row.Metadata, Metric: row.Metric, ReferenceMS: row.ReferenceMS}
		c.Primary = slices.ContainsFunc(p.Primary, func(m Primary) bool {
			return m.Count == c.Count && m.Metadata == c.Metadata && m.Metric == c.Metric
		})
		x := p.logRatios(counted[cell{row.Count, row.Metadata}], Candidate, row.Metric)
		if at := slices.IndexFunc(x, math.IsNaN); at >= 0 && c.Primary {
			return nil, fmt.Errorf("results: calibrate: %s has no ratio of %d %s %s in round %d, and it is a primary cell", f.Dir, c.Count, c.Metadata, c.Metric, at)
		} else if at < 0 {
			c.describe(x, first, level)
		}
		cells = append(cells, c)
	}
	return cells, nil
}

func (c *CalibrationCell) describe(x []float64, first []bool, level float64) {
	spread := stats.RobustSpread(x)
	c.SpreadPct = slowdown(&spread)
	if lag, ok := stats.Autocorrelation(x, verdict.Level); ok {
		c.Lag1 = six(&lag.R)
	}
	if position, ok := stats.PositionEffect(x, first); ok {
		half := position.Shift / 2 // one arm gains what the other loses
		c.PositionPct, c.PositionP = slowdown(&half), six(&position.P)
	}
	if effect, ok := stats.EmpiricalEffect(x, LookRounds, level, verdict.Power); ok {
		c.SmallestEffectPct = slowdown(&effect)
	}
	for look := range slices.Chunk(x, LookRounds) {
		if len(look) == LookRounds {
			c.P = append(c.P, ownP(look))
		}
	}
	if len(c.P) > 0 {
		excess := 0.0
		for i, p := range slices.Sorted(slices.Values(c.P)) {
			excess = max(excess, float64(i+1)/float64(len(c.P))-p)
		}
		c.PExcess = six(&excess)
	}
}

// ownP is the p-value of one cell for itself.
func ownP(x []float64) float64 {
	rounds := make([][]float64, len(x))
	for i, v := range x {
		rounds[i] = []float64{v}
	}
	test, err := stats.MaxT(rounds, stats.Either, stats.FlipSample{Draws: verdict.Draws})
	if err != nil {
		panic(fmt.Sprintf("results: the flips of %d finite values: %v", len(x), err))
	}
	return *six(&test.Cells[0].Adjusted)
}

// countAlarms tests the family in every look of the runs in which nothing differs.
func (c *Calibration) countAlarms(inputs []CalibrationInput) error {
	for _, in := range inputs {
		if in.Kind == RunDelay {
			continue
		}
		family := in.Folder.family()
		rounds := make([][]float64, in.Folder.Result.Rounds)
		for i := range rounds {
			for _, member := range family.Cells {
				rounds[i] = append(rounds[i], member.LogRatios[i])
			}
		}
		for look := range slices.Chunk(rounds, LookRounds) {
			if len(look) < LookRounds {
				continue
			}
			test, err := stats.MaxT(look, stats.Either, stats.FlipSample{Draws: verdict.Draws})
			if err != nil {
				return fmt.Errorf("results: calibrate: %s: %w", in.Folder.Dir, err)
			}
			c.Looks++
			if slices.ContainsFunc(test.Cells, func(cell stats.FlippedCell) bool { return cell.Adjusted <= 1-verdict.Level }) {
				c.FalseAlarms++
			}
		}
	}
	interval, err := stats.BinomialInterval(c.FalseAlarms, c.Looks, verdict.Level)
	if err != nil {
		return fmt.Errorf("results: calibrate: %w", err)
	}
	c.AlarmRate = Interval{Low: *six(&interval.Low), High: *six(&interval.High), Level: six(&interval.Level)}
	return nil
}

// Delay is what makes a candidate slower on purpose: so many microseconds before
// every batch are one smallest effect of a cell.
type Delay struct {
	Target Primary
	US     float64
}

// DelayOf is the delay that is one smallest effect of complete_ms in the primary
// cell for which that takes longest, so that the others show it as well.
func DelayOf(f *Folder) (Delay, error) {
	cells, err := calibrationCells(f)
	if err != nil {
		return Delay{}, err
	}
	var d Delay
	for _, c := range cells {
		if !c.Primary || c.Metric != "complete_ms" || c.SmallestEffectPct == nil || c.ReferenceMS == nil {
			continue
		}
		us := *c.SmallestEffectPct / 100 * *c.ReferenceMS * 1000 / batchesOf(f, c.Count, c.Metadata)
		if us >= d.US {
			d = Delay{Primary{c.Count, c.Metadata, c.Metric, RoleSuperiority}, us}
		}
	}
	if d.Target.Count == 0 {
		return d, fmt.Errorf("results: calibrate: %s has complete_ms in no primary cell, want a cell in which a delay is to be found", f.Dir)
	}
	d.US = max(1, math.Ceil(d.US))
	return d, nil
}

// batchesOf is the number of batches of a cell's stream.
func batchesOf(f *Folder, count int, metadata string) float64 {
	t := byCell(f.Trials)[cell{count, metadata}][0]
	return float64(t.Rows) / float64(t.Count)
}

// findDelays looks for each delay in the cell that it was made for.
func (c *Calibration) findDelays(inputs []CalibrationInput) error {
	d, err := DelayOf(inputs[0].Folder)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		if in.Kind != RunDelay {
			continue
		}
		us, err := strconv.Atoi(in.Folder.Plan.Candidate.Options[protocol.OptionDelay])
		if err != nil {
			return fmt.Errorf("results: calibrate: option %s of the candidate of %s: %w", protocol.OptionDelay, in.Folder.Dir, err)
		}
		f := FoundDelay{
			Run: in.Name, DelayUS: us, Multiple: in.Multiple,
			Count: d.Target.Count, Metadata: d.Target.Metadata, Metric: d.Target.Metric, Decision: DecisionNone,
		}
		for _, a := range in.Folder.Result.Analysis.Primary {
			if a.Count == f.Count && a.Metadata == f.Metadata && a.Metric == f.Metric {
				f.SlowdownPct, f.Decision = a.SlowdownPct, a.Decision
				f.Found = a.P != nil && *a.P <= 1-verdict.Level && a.SlowdownPct != nil && *a.SlowdownPct > 0
			}
		}
		for _, cell := range c.Cells {
			if cell.Count == f.Count && cell.Metadata == f.Metadata && cell.Metric == f.Metric {
				expected := 100 * float64(us) / 1000 * batchesOf(in.Folder, f.Count, f.Metadata) / *cell.ReferenceMS
				f.ExpectedPct = *six(&expected)
			}
		}
		c.Delays = append(c.Delays, f)
	}
	return nil
}

// conclude says whether the machine can be trusted with decisions.
func (c *Calibration) conclude() {
	var wrong []string
	if c.AlarmRate.Low > 1-verdict.Level {
		wrong = append(wrong, fmt.Sprintf("%d of %d looks at nothing raised an alarm, and so many are not to be expected of 5 %%", c.FalseAlarms, c.Looks))
	}
	must := 0
	for _, d := range c.Delays {
		if d.Multiple < 2 {
			continue
		}
		must++
		if !d.Found {
			wrong = append(wrong, fmt.Sprintf("a delay of %d microseconds a batch, %.3g times the smallest effect, was not found in %d %s %s (%s)", d.DelayUS, d.Multiple, d.Count, d.Metadata, d.Metric, d.Decision))
		}
	}
	if must == 0 {
		wrong = append(wrong, "no delay of twice the smallest effect was injected, so nothing says that one would be found")
	}
	c.Passed = len(wrong) == 0
	c.Reason = strings.Join(wrong, "; ")
	if c.Passed {
		c.Reason = fmt.Sprintf("%d of %d looks at nothing raised an alarm; %d of %d injected delays were found, that of twice the smallest effect among them", c.FalseAlarms, c.Looks, countFound(c.Delays), len(c.Delays))
	}
}

func countFound(delays []FoundDelay) (n int) {
	for _, d := range delays {
		if d.Found {
			n++
		}
	}
	return n
}

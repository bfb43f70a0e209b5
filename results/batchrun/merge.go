package batchrun

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// merging is what shards make together.
type merging struct {
	plan     Plan
	trials   []Trial
	requests [][]Request
	files    map[string][]byte // the schedules
	outcome  Outcome
}

// Merge puts the shards of one load together and writes the run folder output. The
// latencies are those of the shards, each from its own intended times; percentiles and
// histograms are made anew of all of them. It refuses runs of different plans, a shard
// that is missing or there twice, and an incomplete one, and names what differs.
func Merge(dirs []string, output string) (Result, error) {
	m, err := mergeFolders(dirs)
	if err != nil {
		return Result{}, fmt.Errorf("batchrun: merge: %w", err)
	}
	r, err := Create(output, m.plan)
	if err != nil {
		return Result{}, err
	}
	for name, b := range m.files {
		if err := form.Replace(filepath.Join(output, filepath.FromSlash(name)), b); err != nil {
			return Result{}, errors.Join(fmt.Errorf("batchrun: merge: %w", err), r.Close())
		}
	}
	for i, t := range m.trials {
		if err := r.Append(t, m.requests[i]); err != nil {
			return Result{}, errors.Join(err, r.Close())
		}
	}
	return r.Finish(m.outcome)
}

func mergeFolders(dirs []string) (*merging, error) {
	var shards []*Folder
	sums := map[*Folder]string{}
	for _, dir := range dirs {
		f, err := Read(dir)
		if err != nil {
			return nil, err
		}
		if err := f.CheckFigures(); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if err := f.checkSchedules(); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		if sums[f], err = results.HashFile(filepath.Join(dir, ResultFile)); err != nil {
			return nil, err
		}
		f.restore()
		shards = append(shards, f)
	}
	if err := together(shards); err != nil {
		return nil, err
	}
	m := &merging{files: map[string][]byte{}}
	if err := m.planOf(shards, sums); err != nil {
		return nil, err
	}
	for i := range shards[0].Trials {
		t, requests := mergedTrial(shards, i)
		m.trials, m.requests = append(m.trials, t), append(m.requests, requests)
	}
	m.outcomeOf(shards)
	return m, nil
}

// together sorts shards by their numbers and wants each once, complete, and all of one
// load on arms that are alike.
func together(shards []*Folder) error {
	if len(shards) == 0 {
		return errors.New("no runs, want the folder of each shard")
	}
	for _, f := range shards {
		switch {
		case f.Plan.Shard == nil:
			return fmt.Errorf("%s is no shard, want runs that were made with --shard", f.Dir)
		case f.Result.Verdict.Failure != "":
			return fmt.Errorf("%s is %s, want complete runs", f.Dir, f.Result.Verdict.Why())
		case f.Result.Clock == nil:
			return fmt.Errorf("%s does not say what clock it had", f.Dir)
		}
	}
	slices.SortStableFunc(shards, func(a, b *Folder) int { return cmp.Compare(*a.Plan.Shard, *b.Plan.Shard) })
	first := shards[0]
	for i, f := range shards {
		if err := sameRecord(f.Plan.whole(), first.Plan.whole()); err != nil {
			return fmt.Errorf("%s and %s have different plans: %w", f.Dir, first.Dir, err)
		}
		if i > 0 && *f.Plan.Shard == *shards[i-1].Plan.Shard {
			return fmt.Errorf("%s and %s are both shard %d, want each once", shards[i-1].Dir, f.Dir, *f.Plan.Shard)
		}
		for _, name := range []string{Reference, Candidate} {
			if err := sameRecord(f.Result.Arms[name].made(), first.Result.Arms[name].made()); err != nil {
				return fmt.Errorf("the %s of %s and of %s differ: %w", name, f.Dir, first.Dir, err)
			}
		}
	}
	return allThere(shards)
}

func allThere(shards []*Folder) error {
	n := shards[0].Plan.Shards
	var missing []string
	next := 0
	for shard := range n {
		if next < len(shards) && *shards[next].Plan.Shard == shard {
			next++
			continue
		}
		missing = append(missing, fmt.Sprint(shard))
	}
	if len(missing) > 0 {
		return fmt.Errorf("of %d shards %d are missing: %s", n, len(missing), form.Shortened(strings.Join(missing, ", ")))
	}
	return nil
}

// whole is what the plans of all shards have alike.
func (p Plan) whole() Plan {
	p.Shard, p.Schedules = nil, slices.Clone(p.Schedules)
	for i := range p.Schedules {
		p.Schedules[i].Requests, p.Schedules[i].SHA256 = 0, ""
	}
	return p
}

// made is what the arms of all shards must have alike. Executables are other files on
// other machines.
func (a Arm) made() Arm {
	a.Command, a.BinarySHA256, a.Server = nil, nil, nil
	return a
}

// planOf makes the merged plan and collects the schedules.
func (m *merging) planOf(shards []*Folder, sums map[*Folder]string) error {
	m.plan = shards[0].Plan.whole()
	m.plan.Schedules = nil
	for i := range shards[0].Plan.Schedules {
		for _, f := range shards {
			part := f.Plan.Schedules[i]
			b, err := form.ReadFile(f.Dir, filepath.FromSlash(part.Name()), MaxSchedule)
			if err != nil {
				return err
			}
			part.Shard = f.Plan.Shard
			m.plan.Schedules = append(m.plan.Schedules, part)
			m.files[part.Name()] = b
		}
	}
	for _, f := range shards {
		m.plan.Parts = append(m.plan.Parts, Part{*f.Plan.Shard, f.PlanSHA256, f.RawSHA256, f.TrialsSHA256, sums[f]})
	}
	return nil
}

// mergedTrial puts trial i of all shards together: the requests by intended time, the
// sender's work added up.
func mergedTrial(shards []*Folder, i int) (Trial, []Request) {
	t := shards[0].Trials[i]
	t.Parts, t.Valid, t.Reasons, t.WallMS, t.Sender, t.Disturbance = nil, true, nil, 0, Sender{Priority: true}, nil
	if t.Judged != nil {
		t.Judged = &Judged{LatenessLimitMS: math.Inf(1), InFlight: make([]float64, len(t.Judged.InFlight))}
	}
	var requests []Request
	for _, f := range shards {
		of := f.Trials[i]
		t.Parts = append(t.Parts, TrialPart{*f.Plan.Shard, of.StartedAt, of.WallMS, of.Requests, of.Valid})
		if of.StartedAt.Before(t.StartedAt) {
			t.StartedAt = of.StartedAt
		}
		t.Valid, t.WallMS, t.Fresh = t.Valid && of.Valid, math.Max(t.WallMS, of.WallMS), t.Fresh && of.Fresh
		for _, reason := range of.Reasons {
			t.Reasons = append(t.Reasons, fmt.Sprintf("shard %d: %s", *f.Plan.Shard, reason))
		}
		if of.Evidence != t.Evidence {
			t.Evidence = ""
		}
		t.Sender = t.Sender.and(of.Sender)
		t.Judged = t.Judged.and(of.Judged)
		for _, r := range f.Requests[i] {
			r.Shard = f.Plan.Shard
			requests = append(requests, r)
		}
	}
	slices.SortStableFunc(requests, func(a, b Request) int { return cmp.Compare(a.IntendedMS, b.IntendedMS) })
	for k := range requests {
		requests[k].Index = k
		if t.Evidence == "" { // some shards have none: figures of a part would pass for those of all
			requests[k].Prefills, requests[k].FirstItemMS, requests[k].LastItemMS, requests[k].LeadingMS = nil, nil, nil, nil
		}
	}
	return t, requests
}

// and adds the work of two senders up; in flight and goroutines are then at most that.
func (s Sender) and(o Sender) Sender {
	descriptors := o.Descriptors
	if s.Descriptors > 0 && s.Descriptors < descriptors {
		descriptors = s.Descriptors
	}
	notes := s.Notes
	if o.Notes != "" && o.Notes != notes {
		notes = strings.TrimPrefix(notes+"; "+o.Notes, "; ")
	}
	return Sender{
		CPUMS: s.CPUMS + o.CPUMS, GCPauses: s.GCPauses + o.GCPauses, GCPauseMS: s.GCPauseMS + o.GCPauseMS, GCWorstMS: math.Max(s.GCWorstMS, o.GCWorstMS),
		MaxInFlight: s.MaxInFlight + o.MaxInFlight, Goroutines: s.Goroutines + o.Goroutines, Connections: s.Connections + o.Connections, Redialled: s.Redialled + o.Redialled, StoodIn: s.StoodIn + o.StoodIn,
		Descriptors: descriptors, Raised: s.Raised || o.Raised, Priority: s.Priority && o.Priority, Processors: s.Processors + o.Processors, Notes: notes,
	}
}

// and adds up what two shards' judgements went by; nil where either has none.
func (j *Judged) and(o *Judged) *Judged {
	if j == nil || o == nil {
		return nil
	}
	sum := &Judged{
		OfferedRPS: j.OfferedRPS + o.OfferedRPS, SentRPS: j.SentRPS + o.SentRPS, AnsweredRPS: j.AnsweredRPS + o.AnsweredRPS,
		LatenessLimitMS: math.Min(j.LatenessLimitMS, o.LatenessLimitMS),
	}
	for i := range min(len(j.InFlight), len(o.InFlight)) {
		sum.InFlight = append(sum.InFlight, j.InFlight[i]+o.InFlight[i])
	}
	return sum
}

// outcomeOf has the arms and the machine of shard 0, and what the others say beside it.
func (m *merging) outcomeOf(shards []*Folder) {
	first := shards[0].Result
	m.outcome = Outcome{Arms: maps.Clone(first.Arms), Environment: first.Environment}
	for _, name := range []string{Reference, Candidate} {
		a := m.outcome.Arms[name]
		a.Server = alike(shards, name)
		m.outcome.Arms[name] = a
		if a.Kind != armURL {
			m.warn("the %s of each shard is a server of its own: these are %d independent systems with a part of the rate each, not one with all of it", name, len(shards))
		}
	}
	for _, f := range shards {
		e, v := f.Result.Environment, f.Result.Verdict
		m.outcome.Shards = append(m.outcome.Shards, Shard{
			Shard: *f.Plan.Shard, Status: v.Status, CPU: e.CPU, CPUs: e.CPUs, Kernel: e.Kernel, Requests: f.Result.Requests, Repeat: f.Result.Repeat, Clock: *f.Result.Clock,
		})
		for _, w := range v.Warnings {
			m.warn("shard %d: %s", *f.Plan.Shard, w)
		}
		for _, name := range []string{Reference, Candidate} {
			if !slices.Equal(f.Result.Arms[name].BinarySHA256, first.Arms[name].BinarySHA256) {
				m.warn("shard %d: the %s is another executable than that of shard 0, of the same sources", *f.Plan.Shard, name)
			}
		}
	}
}

func (m *merging) warn(text string, args ...any) {
	m.outcome.Warnings = append(m.outcome.Warnings, fmt.Sprintf(text, args...))
}

// alike is what the servers of all shards say of themselves alike.
func alike(shards []*Folder, arm string) map[string]string {
	said := maps.Clone(shards[0].Result.Arms[arm].Server)
	for _, f := range shards[1:] {
		maps.DeleteFunc(said, func(k, v string) bool { other, has := f.Result.Arms[arm].Server[k]; return !has || other != v })
	}
	return said
}

// checkMerged puts the shards together again and holds the run against them.
func (f *Folder) checkMerged(dirs []string) error {
	if !f.Plan.merged() {
		return errors.New("the run is not merged, want no folders of shards")
	}
	m, err := mergeFolders(dirs)
	if err != nil {
		return err
	}
	plan, trials, raw, err := m.encoded()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name, got string
		want      []byte
	}{{PlanFile, f.PlanSHA256, plan}, {TrialsFile, f.TrialsSHA256, trials}, {RawFile, f.RawSHA256, raw}} {
		if want := form.Sum(file.want); file.got != want {
			return form.Unwanted("the sha256 of "+file.name, file.got, "%s as the shards give", want)
		}
	}
	shards, _, err := settle[Result](Result{Shards: m.outcome.Shards}, encodeFile)
	if err != nil {
		return err
	}
	return sameText("shards", f.Result.Shards, shards.Shards)
}

// encoded are the files that Merge writes.
func (m *merging) encoded() (plan, trials, raw []byte, err error) {
	if _, plan, err = settle[Plan](m.plan, encodeFile); err != nil {
		return nil, nil, nil, err
	}
	written := writer{}
	for i, t := range m.trials {
		requests := written.compact(m.requests[i])
		t.count(requests)
		_, line, err := settle[Trial](t, encodeLine)
		if err != nil {
			return nil, nil, nil, err
		}
		lines, err := requestLines(requests)
		if err != nil {
			return nil, nil, nil, err
		}
		trials, raw = append(trials, line...), append(raw, lines...)
	}
	return plan, trials, raw, nil
}

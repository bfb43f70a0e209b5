package batchdriver

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/cmd/internal/load"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// loaded is what one trial gave.
type loaded struct {
	slot    batchrun.Slot
	cell    batchrun.Cell
	set     *scoring.Set
	body    []int // of each request
	result  load.Result
	answers map[int]scoring.Answer
	judged  *load.Validity // nil of a single cell
	beside  *results.Disturbance
}

// trial gives one cell to one arm and records what came of it.
func (d *driver) trial(ctx context.Context, slot batchrun.Slot) error {
	t := &loaded{slot: slot, cell: d.plan.Cells[slot.Cell], answers: map[int]scoring.Answer{}}
	var err error
	if t.set, err = d.requests.set(t.cell.Items, d.runName(slot.Round, strconv.Itoa(slot.Cell), slot.Arm)); err != nil {
		return err
	}
	server := d.servers[slot.Arm]
	if err := d.clear(ctx, t, server); err != nil {
		return err
	}
	if err := d.send(ctx, t, server); err != nil {
		return err
	}
	if err := d.servers.err(); err != nil {
		return err
	}
	requests := d.records(t)
	from, err := d.evidence(ctx, t, server, requests)
	if err != nil {
		return err
	}
	record := batchrun.Trial{
		Round: slot.Round, Cell: slot.Cell, Arm: slot.Arm, Position: slot.Position,
		StartedAt: t.result.Start, WallMS: 1000 * t.result.Wall, Fresh: server.Arm.Started() && !server.used,
		Sender: sender(t.result.Self), Disturbance: t.beside, Evidence: from,
	}
	record.Reasons = d.reasons(t)
	record.Valid = len(record.Reasons) == 0
	if t.judged != nil {
		record.Judged = judged(*t.judged)
	}
	return d.run.Append(record, requests)
}

// clear empties what earlier trials have left: of a cold load the cache, and of a log
// the lines that are not this trial's.
func (d *driver) clear(ctx context.Context, t *loaded, server *running) error {
	if server.log != nil {
		if _, _, err := server.log.New(); err != nil {
			return err
		}
	}
	if !d.plan.Cold {
		return nil
	}
	if d.conf.Shards > 1 && !server.Arm.Started() {
		d.note("the cache of the %s was not emptied: other shards may be asking its server; every request has a salt of its own", t.slot.Arm)
		return nil
	}
	err := server.client.Flush(ctx, flushWait)
	if err == nil || server.Arm.Ours() || ctx.Err() != nil {
		return err
	}
	d.note("the cache of the %s could not be emptied before each trial; every request has a salt of its own, which its server may not know: %v", t.slot.Arm, err)
	return nil
}

// flushWait is how long a server may take to become idle.
const flushWait = 10 * time.Second

// send sends the requests of a trial, each with a body of its own.
func (d *driver) send(ctx context.Context, t *loaded, server *running) error {
	n := d.plan.RequestsOf(t.slot.Round, t.slot.Cell)
	all, err := bodies(t.set, n)
	if err != nil {
		return err
	}
	target, check := d.requests.target(t.set, server), keep(t.set, t.answers)
	for i := range n {
		t.body = append(t.body, i%t.set.Len())
	}
	if !t.cell.Open() {
		t.result, err = load.Sequential(ctx, n, target, all, check)
		return err
	}
	if err := d.pace(ctx, t.cell); err != nil {
		return err
	}
	s := d.schedules[[2]int{t.slot.Round, t.slot.Cell}]
	begin := results.ReadDisturbance("/", nil)
	if t.result, err = load.Run(ctx, named(s), target, all, check); err != nil {
		return err
	}
	t.beside = begin.Until(results.ReadDisturbance("/", nil))
	copy(t.body, s.Request)
	v := load.Judge(s, t.result, d.conf.limits())
	t.judged = &v
	return nil
}

// named is the schedule with a body for each request: they differ by their names
// from those that the schedule has in turn.
func named(s load.Schedule) load.Schedule {
	s.Request = make([]int, len(s.At))
	for i := range s.Request {
		s.Request[i] = i
	}
	return s
}

// reasons say why a trial is not valid.
func (d *driver) reasons(t *loaded) []string {
	if t.judged != nil {
		return withTaken(t.judged.Reasons, t.beside)
	}
	failed, first := 0, ""
	for _, s := range t.result.Sent {
		if s.Failed() {
			if failed++; first == "" {
				first = fault(t.set, s).Error()
			}
		}
	}
	if 100*float64(failed) <= d.conf.MaxFailedPct*float64(len(t.result.Sent)) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d of %d requests failed, the first: %s", load.RuleErrors, failed, len(t.result.Sent), first)}
}

// withTaken adds to a reason about lateness or saturation what the host took meanwhile, where it took something: a thread
// whose processor is away can neither send nor answer.
func withTaken(reasons []string, beside *results.Disturbance) []string {
	ms := beside.StealMS()
	if ms == nil || *ms == 0 {
		return reasons
	}
	told := slices.Clone(reasons)
	for i, r := range told {
		if strings.HasPrefix(r, load.RuleLateness+":") || strings.HasPrefix(r, load.RuleSaturation+":") {
			told[i] = fmt.Sprintf("%s; the host took %.0f ms of processor time meanwhile", r, *ms)
		}
	}
	return told
}

// records are the requests as raw.jsonl has them, without what the server knows.
func (d *driver) records(t *loaded) []batchrun.Request {
	list := make([]batchrun.Request, len(t.result.Sent))
	for i, s := range t.result.Sent {
		r := batchrun.Request{
			Round: t.slot.Round, Cell: t.slot.Cell, Arm: t.slot.Arm, Index: i, Body: t.body[i],
			IntendedMS: 1000 * s.Intended, SentMS: ms(s.Sent), FirstByteMS: ms(s.FirstByte), DoneMS: ms(s.Done), Status: s.Status, Error: s.Err,
		}
		if a, good := t.answers[i]; good {
			d.answered(t, &r, s, a)
		}
		list[i] = r
	}
	return list
}

// answered adds what a good answer says.
func (d *driver) answered(t *loaded, r *batchrun.Request, s load.Sent, a scoring.Answer) {
	r.PromptTokens = a.PromptTokens
	r.ChunkMS, r.TokenMS = arrivals(s, a)
	if d.plan.API != scoring.Score {
		return
	}
	r.ScoresSHA256, r.Scores = a.ScoresSHA256(), a.Scores
	key := bodyKey{t.cell.Items, r.Body}
	base, known := d.requests.base[key]
	if !known {
		if t.slot.Arm != batchrun.Reference {
			return // the reference has answered this body not once
		}
		base = a
		d.requests.base[key] = a
	}
	if difference, err := scoring.Compare(base, a); err == nil {
		r.ScoreDifference = &difference.Value
	} else { // of another shape, or not a number: both have been refused before
		d.note("request %d of %v: %v", r.Index, t.slot, err)
	}
}

func ms(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	v := 1000 * *seconds
	return &v
}

// arrivals are when the chunks of a stream came, and each of their tokens: those of
// one chunk came together.
func arrivals(s load.Sent, a scoring.Answer) (chunks, tokens []float64) {
	k := 0
	for _, c := range a.Chunks {
		for k < len(s.ChunkEnds)-1 && s.ChunkEnds[k] < c.End {
			k++
		}
		if k >= len(s.Chunks) {
			break
		}
		at := 1000 * s.Chunks[k]
		chunks = append(chunks, at)
		for range c.Tokens {
			tokens = append(tokens, at)
		}
	}
	return chunks, tokens
}

func sender(s load.Self) batchrun.Sender {
	return batchrun.Sender{
		CPUMS: 1000 * s.CPU, GCPauses: s.GCPauses.Count, GCPauseMS: 1000 * s.GCPauses.Total, GCWorstMS: 1000 * s.GCPauses.Worst,
		MaxInFlight: s.MaxInFlight, Goroutines: s.Goroutines, Connections: s.Connections, Redialled: s.RedialledCount, StoodIn: s.StoodIn,
		Descriptors: s.Descriptors.Limit, Raised: s.Descriptors.Raised, Priority: s.Priority, Processors: s.Processors,
	}
}

func judged(v load.Validity) *batchrun.Judged {
	return &batchrun.Judged{OfferedRPS: v.Offered, SentRPS: v.Sent, AnsweredRPS: v.Answered, LatenessLimitMS: 1000 * v.LatenessLimit, InFlight: v.InFlight[:]}
}

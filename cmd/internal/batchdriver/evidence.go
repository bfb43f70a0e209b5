package batchdriver

import (
	"context"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// witness finds out what can be known of a fresh server's items: one of this module
// has records of them, others a log. A server that runs already may be of this module
// all the same: its records say more than the log that was named, and are asked for first.
func (d *driver) witness(ctx context.Context, round int, name string) error {
	s := d.servers[name]
	path, given := d.conf.ServerLogs[name]
	if s.Arm.Kind == servearm.KindLaunch {
		path, given = d.run.LogPath(name), true
	}
	has := s.Arm.Ours()
	if s.Arm.Kind == servearm.KindURL && d.plan.Warmup > 0 {
		set, err := d.requests.set(d.conf.Load.sizes()[0], d.runName(round, "w", name))
		if err != nil {
			return err
		}
		_, err = s.client.Admissions(ctx, set.RIDs(0))
		has = err == nil
	}
	if has {
		s.evidence = batchrun.EvidenceAdmissions
		return nil
	}
	if !given {
		return nil
	}
	s.evidence = batchrun.EvidenceLog
	var err error
	s.log, err = scoring.OpenLog(path)
	return err
}

// evidence adds to the requests what is known of their items, and says where that
// comes from.
func (d *driver) evidence(ctx context.Context, t *loaded, server *running, requests []batchrun.Request) (string, error) {
	switch server.evidence {
	case batchrun.EvidenceAdmissions:
		return d.admitted(ctx, t, server, requests)
	case batchrun.EvidenceLog:
		return d.logged(t, server, requests)
	}
	return "", nil
}

// logged reads what the server wrote about prefill batches during a trial. Whose items were in
// them it does not say; where requests came one after the other it follows.
func (d *driver) logged(t *loaded, server *running, requests []batchrun.Request) (string, error) {
	batches, faults, err := server.log.New()
	if err != nil {
		return "", err
	}
	if len(faults) > 0 {
		d.note("%d lines of the log of the %s are about prefill batches but in no form that is known, the first: %v", len(faults), t.slot.Arm, faults[0].Err)
	}
	if t.cell.Open() {
		d.note("the log of the %s does not say whose items were in a prefill batch: requests of an open loop have none", t.slot.Arm)
		return "", nil
	}
	if !attribute(batches, requests, t.cell.Items) {
		d.note("the prefill batches in the log of the %s do not add up to the requests of %v", t.slot.Arm, t.slot)
		return "", nil
	}
	return batchrun.EvidenceLog, nil
}

// attribute gives batches to requests that were sent one after the other, and does
// nothing unless the batches of each hold its items, neither more nor fewer.
func attribute(batches []scoring.LogBatch, requests []batchrun.Request, items int) bool {
	spreads := make([][]batchrun.Spread, len(requests))
	next := 0
	for i, r := range requests {
		if r.Error != "" {
			return false
		}
		for left := items; left > 0; next++ {
			if next == len(batches) || batches[next].NewSeqs > left || batches[next].NewSeqs < 1 {
				return false
			}
			spreads[i] = append(spreads[i], batchrun.Spread{Batch: next, Items: batches[next].NewSeqs})
			left -= batches[next].NewSeqs
		}
	}
	if next < len(batches) {
		return false
	}
	for i := range requests {
		requests[i].Prefills = spreads[i]
	}
	return true
}

// admitted asks the server's scheduler for its records.
func (d *driver) admitted(ctx context.Context, t *loaded, server *running, requests []batchrun.Request) (string, error) {
	var rids []string
	for i, r := range requests {
		if r.Error == "" {
			rids = append(rids, t.set.RIDs(i)...)
		}
	}
	if len(rids) == 0 {
		return "", nil
	}
	admissions, err := server.client.Admissions(ctx, rids)
	if err != nil {
		return "", err
	}
	for i := range requests {
		if requests[i].Error != "" {
			continue
		}
		if err := d.placed(t, &requests[i], admissions); err != nil {
			return "", err
		}
	}
	return batchrun.EvidenceAdmissions, nil
}

// placed adds the records of one request's items. Times of another machine's clock
// are left out: they would lie before the sending, or long after the answer.
func (d *driver) placed(t *loaded, r *batchrun.Request, admissions scoring.Admissions) error {
	rids := t.set.RIDs(r.Index)
	spread, err := admissions.Spread(rids)
	if err != nil {
		return err
	}
	if len(rids) == t.cell.Items {
		for _, p := range spread.Parts {
			r.Prefills = append(r.Prefills, batchrun.Spread{Batch: p.Batch, Items: p.Items})
		}
	} else {
		d.note("requests with other than %d items have no record of their prefill batches", t.cell.Items)
	}
	zero := t.result.StartMonotonic
	since := func(at float64) float64 { return 1000*(at-zero) - *r.SentMS }
	first, last, leading := since(spread.First), since(spread.Last), since(admissions.Records[rids[0]].FinishedTime)
	if times := []float64{0, first, leading, 1000 + *r.DoneMS - *r.SentMS}; zero == 0 || !slices.IsSorted(times) {
		d.note("the %s has another clock than this program: when its items arrived is not known", t.slot.Arm)
		return nil
	}
	r.FirstItemMS, r.LastItemMS, r.LeadingMS = &first, &last, &leading
	for i := range r.Prefills {
		at := since(spread.Parts[i].Time)
		r.Prefills[i].AtMS = &at
	}
	return nil
}

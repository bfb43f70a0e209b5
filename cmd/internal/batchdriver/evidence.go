package batchdriver

import (
	"context"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// evidence adds to the requests what the scheduler knows of their items, and says
// where that comes from.
func (d *driver) evidence(ctx context.Context, t *loaded, server *running, requests []batchrun.Request) (string, error) {
	if !server.evidence {
		return "", nil
	}
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
	return nil
}

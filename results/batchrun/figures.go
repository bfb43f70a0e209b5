package batchrun

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fanoutbench/fanoutbench/results/verdict"
	"github.com/fanoutbench/fanoutbench/stats"
)

// derived is all of a result that follows from plan, trials and requests of a
// complete run.
type derived struct {
	figures   []Figures
	rounds    []Figures
	summary   []SummaryRow
	agreement Agreement
	analysis  *Analysis
	invalid   []string
}

func derive(p Plan, trials []Trial, requests [][]Request) (d derived, err error) {
	ranks := rankCache{}
	for cell := range p.Cells {
		byArm := map[string][]measured{}
		for i, t := range trials {
			if t.Cell == cell {
				byArm[t.Arm] = append(byArm[t.Arm], measured{t, requests[i]})
			}
		}
		for _, arm := range []string{Reference, Candidate} {
			d.figures = append(d.figures, figuresOf(p, cell, arm, byArm[arm], ranks))
		}
		for round := range p.Rounds {
			for _, arm := range []string{Reference, Candidate} {
				f := figuresOf(p, cell, arm, byArm[arm][round:round+1], ranks)
				f.Round = &round
				d.rounds = append(d.rounds, f)
			}
		}
	}
	d.summary = summarize(p, d.rounds)
	d.agreement = agreement(p, requests)
	d.invalid = invalidity(p, trials, requests, d.agreement)
	d.analysis, err = analyze(p, d.rounds)
	return d, err
}

// figuresOf are an arm's figures of a cell over some of its trials.
func figuresOf(p Plan, cell int, arm string, trials []measured, ranks rankCache) Figures {
	f := Figures{Cell: cell, Arm: arm}
	var response, service, firstByte, tokens, chunks, leading, first, last []float64
	batches, items := map[int]int{}, map[int]int{}
	wall := 0.0
	for _, t := range trials {
		wall += t.WallMS
		f.Requests += t.Requests
		f.Failed += t.Failed
		for _, r := range t.requests {
			for _, s := range r.Prefills {
				items[s.Items]++
			}
			if len(r.Prefills) > 0 {
				batches[len(r.Prefills)]++
			}
			if r.Error != "" {
				continue
			}
			response = append(response, *r.DoneMS-r.IntendedMS)
			service = append(service, *r.DoneMS-*r.SentMS)
			if r.FirstByteMS != nil {
				firstByte = append(firstByte, *r.FirstByteMS-r.IntendedMS)
			}
			tokens, chunks = append(tokens, gaps(r.TokenMS)...), append(chunks, gaps(r.ChunkMS)...)
			leading, first, last = some(leading, r.LeadingMS), some(first, r.FirstItemMS), some(last, r.LastItemMS)
		}
	}
	f.Response, f.Service = ranks.latency(response), ranks.latency(service)
	f.AllP50MS, f.AllP90MS, f.AllP99MS = withFailures(response, f.Failed, 0.5), withFailures(response, f.Failed, 0.9), withFailures(response, f.Failed, 0.99)
	if p.API != APIScore {
		f.FirstByte, f.TokenGap, f.ChunkGap = ranks.stream(firstByte), ranks.stream(tokens), ranks.stream(chunks)
	}
	f.LeadingMS, f.FirstItemMS, f.LastItemMS = mean(leading), mean(first), mean(last)
	f.Batches, f.BatchItems = bins(batches), bins(items)
	f.rates(p.Cells[cell], len(trials), wall)
	return f
}

func (f *Figures) rates(c Cell, trials int, wall float64) {
	if c.Open() && trials > 0 {
		rate := float64(f.Requests) / (c.Seconds * float64(trials))
		f.OfferedRPS = &rate
	}
	if wall > 0 {
		rate := float64(f.Requests-f.Failed) / (wall / 1000)
		f.AchievedRPS = &rate
	}
}

// rankCache keeps what depends on the number of values alone.
type rankCache map[rankKey]interval

type rankKey struct {
	n int
	q float64
}

type interval struct {
	rank, low, high int
	covered         float64
	ok              bool
}

func (c rankCache) of(n int, q float64) interval {
	key := rankKey{n, q}
	i, ok := c[key]
	if !ok {
		i.rank, _ = stats.NearestRank(n, q) // 0 without values, which latency does not ask for
		i.low, i.high, i.covered, i.ok = stats.PercentileRanks(n, q, verdict.Level)
		c[key] = i
	}
	return i
}

// latency is the distribution of the values, whose order is changed.
func (c rankCache) latency(x []float64) Latency {
	l := Latency{}
	if len(x) == 0 {
		return l
	}
	slices.Sort(x)
	l.AvgMS, l.MaxMS = mean(x), &x[len(x)-1]
	for i, p := range []*Percentile{&l.P50, &l.P90, &l.P99} {
		r := c.of(len(x), Quantiles[i])
		p.MS = &x[r.rank-1]
		if r.ok {
			p.Low, p.High, p.Level = &x[r.low-1], &x[r.high-1], &r.covered
		}
	}
	return l
}

// stream is the latency of a part that a stream may lack.
func (c rankCache) stream(x []float64) *Latency {
	if len(x) == 0 {
		return nil
	}
	l := c.latency(x)
	return &l
}

// withFailures is the percentile with failures at infinity, nil where it is
// infinite. The values are sorted.
func withFailures(sorted []float64, failed int, q float64) *float64 {
	rank, ok := stats.NearestRank(len(sorted)+failed, q)
	if !ok || rank > len(sorted) {
		return nil
	}
	return &sorted[rank-1]
}

func gaps(at []float64) []float64 {
	var between []float64
	for i := 1; i < len(at); i++ {
		between = append(between, at[i]-at[i-1])
	}
	return between
}

func some(x []float64, v *float64) []float64 {
	if v == nil {
		return x
	}
	return append(x, *v)
}

func mean(x []float64) *float64 {
	if len(x) == 0 {
		return nil
	}
	m := stats.Mean(x)
	return &m
}

// bins is an empty list where there are none, as it is written.
func bins(counts map[int]int) []Bin {
	out := []Bin{}
	for value, count := range maps.All(counts) {
		out = append(out, Bin{value, count})
	}
	slices.SortFunc(out, func(a, b Bin) int { return cmp.Compare(a.Value, b.Value) })
	return out
}

// Metric is the value of one of Metrics, nil where there is none.
func (f Figures) Metric(name string) *float64 {
	switch name {
	case "avg_ms":
		return f.Response.AvgMS
	case "p50_ms":
		return f.Response.P50.MS
	case "p90_ms":
		return f.Response.P90.MS
	case "p99_ms":
		return f.Response.P99.MS
	case "leading_ms":
		return f.LeadingMS
	}
	return nil
}

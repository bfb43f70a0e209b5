package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
)

// collector reads all parts' counters whenever it is asked.
type collector struct {
	folder string
	model  string
	now    func() float64 // counters.Now
}

// Describe tells nothing: what there is depends on the parts that run.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends every metric of every part, or the first fault that it meets.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	if err := c.collect(out); err != nil {
		out <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
}

func (c *collector) collect(out chan<- prometheus.Metric) error {
	parts, err := counters.ReadFolder(c.folder)
	if err != nil {
		return err
	}
	s := scrape{now: c.now(), names: families{}, sums: map[string]*counters.Value{}, out: out}
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		values := parts[part]
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if err := s.take(part, values[name]); err != nil {
				return fmt.Errorf("metrics of %s: %w", c.folder, err)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.sums)) {
		f := s.names[sglangPrefix+name]
		if err := s.send(f, *s.sums[name], []label{{"model_name", c.model}}); err != nil {
			return err
		}
	}
	return s.sendLedger(parts)
}

// scrape is one reading on its way out.
type scrape struct {
	now   float64
	names families
	sums  map[string]*counters.Value // SGLang's, by the part's name for it
	out   chan<- prometheus.Metric
}

// take sends a part's metric, or adds it to the sum of all parts.
func (s *scrape) take(part string, v counters.Value) error {
	if _, ok := sglang[v.Spec.Name]; ok {
		return s.add(part, v)
	}
	name, labels := ownName(part, v.Spec)
	f, err := s.names.declare(name, part, ownHelp(v.Spec), v.Spec.Kind)
	if err != nil {
		return err
	}
	if v.Spec.Kind == counters.KindBeat {
		if v.Gauge == 0 {
			return nil // it has never beaten
		}
		v.Gauge = max(0, s.now-v.Gauge)
		labels = append(labels, label{"state", string(v.State)})
	}
	return s.send(f, v, labels)
}

func (s *scrape) add(part string, v counters.Value) error {
	name := v.Spec.Name
	known := sglang[name]
	if v.Spec.Kind != known.kind {
		return fmt.Errorf("%s of %s is a %s, SGLang's is a %s", name, part, v.Spec.Kind, known.kind)
	}
	f, err := s.names.declare(sglangPrefix+name, part, known.help, known.kind)
	if err != nil {
		return err
	}
	sum := s.sums[name]
	if sum == nil {
		s.sums[name] = &v
		return nil
	}
	if known.ratio {
		return fmt.Errorf("%s and %s both give %s, a ratio, which cannot be added", f.from, part, name)
	}
	if !slices.Equal(sum.Spec.Buckets, v.Spec.Buckets) {
		return fmt.Errorf("%s has the buckets %v of %s and %v of %s", name, sum.Spec.Buckets, f.from, v.Spec.Buckets, part)
	}
	sum.Count += v.Count
	sum.Gauge += v.Gauge
	sum.Sum += v.Sum
	for i, n := range v.Bucket {
		sum.Bucket[i] += n
	}
	return nil
}

// send makes a sample of a value.
func (s *scrape) send(f family, v counters.Value, labels []label) error {
	var names, values []string
	for _, l := range labels {
		names, values = append(names, l.name), append(values, l.value)
	}
	desc := prometheus.NewDesc(f.name, f.help, names, nil)
	var m prometheus.Metric
	var err error
	switch f.kind {
	case counters.KindCounter:
		m, err = prometheus.NewConstMetric(desc, prometheus.CounterValue, float64(v.Count), values...)
	case counters.KindHistogram:
		m, err = prometheus.NewConstHistogram(desc, v.Count, v.Sum, cumulative(v), values...)
	default:
		m, err = prometheus.NewConstMetric(desc, prometheus.GaugeValue, v.Gauge, values...)
	}
	if err != nil {
		return fmt.Errorf("%s of %q: %w", f.name, values, err)
	}
	s.out <- m
	return nil
}

// cumulative counts what is not above each bound.
func cumulative(v counters.Value) map[float64]uint64 {
	below := make(map[float64]uint64, len(v.Spec.Buckets))
	var n uint64
	for i, bound := range v.Spec.Buckets {
		n += v.Bucket[i]
		below[bound] = n
	}
	return below
}

// sendLedger sends what only all parts together say.
func (s *scrape) sendLedger(parts map[string]map[string]counters.Value) error {
	l, err := counters.LedgerOf(parts)
	if err != nil {
		return err
	}
	f, err := s.names.declare(ownPrefix+"rows_in_flight", "the ledger", "Rows built that are neither delivered nor dropped.", counters.KindGauge)
	if err != nil {
		return err
	}
	if f.from != "the ledger" {
		return errors.New(f.from + " counts rows_in_flight, which the ledger of all parts says")
	}
	return s.send(f, counters.Value{Gauge: float64(l.InFlight())}, nil)
}

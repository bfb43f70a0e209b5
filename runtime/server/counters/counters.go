package counters

import (
	"fmt"
	"slices"
	"sync"
)

// Kind of a metric.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindBeat      Kind = "beat" // a loop's sign of life
)

// Spec describes one metric of a part.
type Spec struct {
	Name    string    `json:"name"` // snake_case
	Help    string    `json:"help"`
	Kind    Kind      `json:"kind"`
	Buckets []float64 `json:"buckets,omitempty"` // upper bounds of a histogram, ascending, without +Inf
}

// words is how many the metric takes in the file.
func (s Spec) words() int {
	if s.Kind == KindHistogram {
		return len(s.Buckets) + 2 // the one beyond all bounds, and the sum
	}
	return 1
}

// Set is a part's counters. Its methods may be called by many goroutines.
type Set struct {
	path    string
	file    *mapping
	metrics map[string]slot

	closing chan struct{}
	close   sync.Once
	beating sync.WaitGroup
}

// slot is where a metric lies.
type slot struct {
	spec  Spec
	words []word
}

// Create makes the file, which must not exist. Another process sees all of it or
// nothing. The folder must be the server's own: who cuts the file short while it
// is mapped kills every process that counts in it.
func Create(path string, specs []Spec) (*Set, error) {
	if err := check(specs); err != nil {
		return nil, fmt.Errorf("counters %s: %w", path, err)
	}
	header := encode(specs)
	file, err := createFile(path, header, total(specs))
	if err != nil {
		return nil, fmt.Errorf("counters %s: %w", path, err)
	}
	s := &Set{path: path, file: file, metrics: slots(specs, file.words), closing: make(chan struct{})}
	if slices.ContainsFunc(specs, func(one Spec) bool { return one.Name == Process.Name }) {
		s.beatProcess()
	}
	return s, nil
}

// slots deals the words out.
func slots(specs []Spec, words []word) map[string]slot {
	all := make(map[string]slot, len(specs))
	for _, s := range specs {
		n := s.words()
		all[s.Name] = slot{s, words[:n:n]}
		words = words[n:]
	}
	return all
}

func total(specs []Spec) int {
	n := 0
	for _, s := range specs {
		n += s.words()
	}
	return n
}

// Counter returns a counter. Here as with the other kinds, a name that was not
// declared, or as another kind, is a fault of the program and panics.
func (s *Set) Counter(name string) *Counter {
	return &Counter{&s.slot(name, KindCounter).words[0], s.file}
}

// Gauge returns a gauge.
func (s *Set) Gauge(name string) *Gauge {
	return &Gauge{&s.slot(name, KindGauge).words[0], s.file}
}

// Histogram returns a histogram.
func (s *Set) Histogram(name string) *Histogram {
	m := s.slot(name, KindHistogram)
	return &Histogram{m.spec.Buckets, m.words, s.file}
}

// Beat returns the sign of life of one of the part's loops.
func (s *Set) Beat(name string) *Beat {
	return &Beat{&s.slot(name, KindBeat).words[0], s.file}
}

func (s *Set) slot(name string, kind Kind) slot {
	m, ok := s.metrics[name]
	if !ok {
		panic(fmt.Sprintf("counters %s: no metric %q was declared", s.path, name))
	}
	if m.spec.Kind != kind {
		panic(fmt.Sprintf("counters %s: %s was declared as a %s, not as a %s", s.path, name, m.spec.Kind, kind))
	}
	return m
}

// Close says that the part has ended in order: its beats stop counting as stuck.
// The file stays, and so does the mapping while any metric is in use: a goroutine
// that counts after Close counts still, and does not crash the process.
func (s *Set) Close() error {
	s.close.Do(func() { close(s.closing) })
	s.beating.Wait()
	for name, m := range s.metrics {
		if m.spec.Kind == KindBeat {
			s.Beat(name).end()
		}
	}
	return nil
}

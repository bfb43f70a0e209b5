package counters

// Kind of a slot.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
)

// Spec describes one metric of a part.
type Spec struct {
	Name    string // snake_case
	Help    string
	Kind    Kind
	Buckets []float64 // upper bounds of a histogram, ascending, without +Inf
}

// Set is a part's counters. Its methods may be called by many goroutines.
type Set struct{}

// Create makes the file, which must not exist.
func Create(path string, specs []Spec) (*Set, error) { panic("not built yet") }

// Counter, Gauge and Histogram return a metric; an unknown name, or one of
// another kind, is a fault of the program and panics.
func (s *Set) Counter(name string) *Counter     { panic("not built yet") }
func (s *Set) Gauge(name string) *Gauge         { panic("not built yet") }
func (s *Set) Histogram(name string) *Histogram { panic("not built yet") }

// Close unmaps the file and leaves it.
func (s *Set) Close() error { panic("not built yet") }

type Counter struct{}

func (c *Counter) Add(n uint64)  { panic("not built yet") }
func (c *Counter) Value() uint64 { panic("not built yet") }

type Gauge struct{}

func (g *Gauge) Set(v float64)  { panic("not built yet") }
func (g *Gauge) Value() float64 { panic("not built yet") }

type Histogram struct{}

func (h *Histogram) Observe(v float64) { panic("not built yet") }

// Value of a metric that was read.
type Value struct {
	Spec   Spec
	Count  uint64 // of a counter its value, of a histogram its observations
	Gauge  float64
	Sum    float64  // of a histogram
	Bucket []uint64 // of a histogram, not cumulative, the last one beyond all bounds
}

// Read reads the counters of a part that may live or be dead.
func Read(path string) (map[string]Value, error) { panic("not built yet") }

// Ledger is the sum over the parts of a server.
type Ledger struct {
	Built                       uint64
	Delivered                   uint64
	Dropped                     map[string]uint64 // by reason: router, detokenizer, client_left, unknown
	Missing, Doubled, Reordered uint64
}

// InFlight is what is neither delivered nor dropped; negative: more came than was built.
func (l Ledger) InFlight() int64 { panic("not built yet") }

// ReadLedger adds up the counters of all parts in a server's folder.
func ReadLedger(folder string) (Ledger, error) { panic("not built yet") }

package load

import (
	"net/http"
	"time"
)

// Target is where the requests go.
type Target struct {
	URL     string      // http://host:port
	Path    string      // /v1/score
	Header  http.Header // beside Host, Content-Type and Content-Length, which the sender sets
	Timeout time.Duration
	Stream  bool // note when each chunk of the answer came
}

// Sent is what became of one request. Times are in seconds from the start of the schedule; what did
// not happen is nil.
type Sent struct {
	Index    int     // in the schedule
	Request  int     // the body
	Intended float64 // when it was due
	// Sent is when its first byte was handed to the kernel; nil if none ever was.
	Sent      *float64
	FirstByte *float64 // of the answer
	Done      *float64 // the whole answer was there; nil after a failure on the way
	Status    int      // 0 if no status line came
	Err       string   // why it failed; empty for a request that was answered as it should be
	Body      []byte   // the answer; nil when nobody asked for it
	// Chunks has, of a stream, when each chunk was complete, and ChunkEnds where in Body it ended: chunks that came
	// in one read have one time.
	Chunks    []float64
	ChunkEnds []int
	// Redialled says that the server had closed the connection that the request was first given to, before a byte of the
	// request was written.
	Redialled bool
}

// Failed says whether the request was not answered as it should be.
func (s Sent) Failed() bool { return s.Err != "" }

// Latency is from the intended time until the whole answer was there, which is what a user waits;
// ok is false for a request without an answer, which counts as infinitely slow.
func (s Sent) Latency() (seconds float64, ok bool) { return between(&s.Intended, s.Done) }

// FirstByteLatency is from the intended time to the first byte of the answer.
func (s Sent) FirstByteLatency() (seconds float64, ok bool) {
	return between(&s.Intended, s.FirstByte)
}

// Service is from the actual send until the whole answer was there.
func (s Sent) Service() (seconds float64, ok bool) { return between(s.Sent, s.Done) }

// Lateness is how long after its intended time the request was sent.
func (s Sent) Lateness() (seconds float64, ok bool) { return between(&s.Intended, s.Sent) }

func between(from, to *float64) (float64, bool) {
	if from == nil || to == nil {
		return 0, false
	}
	return *to - *from, true
}

// Result is what a run gave.
type Result struct {
	Sent []Sent // in the order of the schedule, none left out
	Self Self
	Wall float64 // seconds from the start until the last request had ended
	// Start is the zero of all times.
	Start time.Time
	// StartMonotonic is the same in seconds of CLOCK_MONOTONIC, which all processes of one Linux machine share; 0 elsewhere.
	StartMonotonic float64
}

// Self is what the sender used and how well it kept the schedule.
type Self struct {
	Lateness       Spread
	CPU            float64 // seconds of all threads, from the start to the end
	GCPauses       Pauses
	MaxInFlight    int
	Connections    int // opened, those opened ahead included
	Descriptors    Descriptors
	StoodIn        int  // requests that the second dispatcher sent
	Goroutines     int  // at most, as seen at each send
	Priority       bool // the dispatching thread ran before others
	Processors     int  // GOMAXPROCS during the run
	AnswerBytes    int64
	RequestBytes   int64
	RedialledCount int
}

// Spread is a distribution by nearest rank, in seconds; zero when N is 0.
type Spread struct {
	N                        int
	P50, P90, P99, P999, Max float64
}

// Pauses are the stops of the whole sender for garbage collection.
type Pauses struct {
	Count int
	Total float64 // seconds
	Worst float64 // seconds, rounded up to a bucket of the runtime's histogram
}

// Descriptors is the limit on open files, of which every connection is one.
type Descriptors struct {
	Before uint64 // the soft limit found
	Limit  uint64 // in force during the run: the hard limit
	Raised bool
}

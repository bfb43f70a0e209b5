package manager

import (
	"context"
	"time"

	"github.com/fanoutbench/fanoutbench/runtime/wire/request"
)

// Item is one prompt.
type Item struct {
	RID             string // empty: one is made (a UUID)
	Text            string
	InputIDs        []int64 // not nil: Text is not looked at
	Params          request.SamplingParams
	ReturnLogprob   bool
	LogprobStartLen int // -1: as package scheduler has it
	TopLogprobsNum  int
	TokenIDsLogprob []int64
	Stream          bool
	ExtraKey        string
	CacheSalt       string
	NoLogs          bool
}

// Update is what came new for one index since its last Update.
type Update struct {
	Index            int // item · N + copy
	RID              string
	Text             string     // new text
	OutputIDs        []int64    // new ids
	InputLogprobs    []Position // with the first update that has any
	OutputLogprobs   []Position // new; as many as OutputIDs, if asked for
	PromptTokens     int
	CompletionTokens int
	CachedTokens     int
	Retractions      int
	Rows             int           // how many rows were merged into this Update
	Finish           *Finish       // nil: more is to come
	Latency          time.Duration // since Submit, at the finish
}

// Finish says why an index ended: "stop", "length" or "abort".
type Finish struct {
	Type         string
	MatchedText  string // stop: by a stop string
	MatchedToken *int64 // stop: by a token
	Length       int
	Message      string // abort
	StatusCode   int    // abort; 0: the client or an operator asked for it
	ErrType      string
}

// Position has the log-probabilities at one token.
type Position struct {
	Token TokenLogprob
	Null  bool // the first input token has none
	Top   []TokenLogprob
	IDs   []TokenLogprob
}

// TokenLogprob is an id and its log-probability.
type TokenLogprob struct {
	ID  int64
	Val float64
}

// Error is a request that was refused: an HTTP status and a message for the client.
type Error struct {
	Status  int
	Type    string // BadRequestError, ...
	Message string
}

func (e *Error) Error() string { return e.Message }

// Service is what the HTTP handlers need of a Manager.
type Service interface {
	// Submit sends items, n copies of each. It returns an *Error if any of them
	// cannot be served: nothing of the request runs then, or its abort is sent.
	Submit(ctx context.Context, items []Item, n int) (Call, error)
	// Abort asks for the end of a request of any worker, or of all.
	Abort(ctx context.Context, rid string, all bool, message string) error
	// FlushCache empties the radix cache; false: requests run or wait.
	FlushCache(ctx context.Context, timeout time.Duration) (bool, string, error)
	// InternalState is the scheduler's, a JSON object.
	InternalState(ctx context.Context) ([]byte, error)
	// Admissions has the records of requests and of their prefill batches, as JSON.
	Admissions(ctx context.Context, rids []string) ([]byte, error)
}

// Call is a submitted request. One goroutine uses it.
type Call interface {
	// Next waits for news of any index, those with a finish included. io.EOF: every
	// index has finished. An error of ctx does not end the call.
	Next(ctx context.Context) (Update, error)
	// Close asks for the abort of whatever has not finished.
	Close()
}

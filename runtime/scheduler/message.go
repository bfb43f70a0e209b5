package scheduler

import "github.com/fanoutbench/fanoutbench/runtime/model"

// TokenizedGenerateReqInput is one request, with the fields of SGLang's message
// that have a meaning here.
type TokenizedGenerateReqInput struct {
	RID             string
	HTTPWorkerIPC   string // where its rows go
	InputIDs        []int64
	SamplingParams  SamplingParams
	ReturnLogprob   bool
	LogprobStartLen int // -1: see the package documentation
	TopLogprobsNum  int
	TokenIDsLogprob []int64
	Stream          bool
	ExtraKey        string // requests with another one share no prefix
	CacheSalt       string // nor do those
}

// BatchTokenizedGenerateReqInput is many requests in one message. Each item's
// rows go to the item's own HTTPWorkerIPC. RIDs and HTTPWorkerIPCs may be nil.
type BatchTokenizedGenerateReqInput struct {
	RIDs           []string
	HTTPWorkerIPCs []string
	Batch          []TokenizedGenerateReqInput
}

// AbortReq asks for a request's end, and as a reply (in Output) tells an HTTP
// worker that a request was not taken.
type AbortReq struct {
	RID            string
	HTTPWorkerIPC  string
	AbortAll       bool
	FinishedReason *FinishReason
	AbortMessage   string
}

// SamplingParams are the parts of SGLang's that the scheduler reads, and those
// it hands on to the sampler.
type SamplingParams struct {
	model.Sampling
	MaxNewTokens               int // 0: prefill only; cut to what fits the context and the memory
	Stop                       []string
	IgnoreEOS                  bool
	SkipSpecialTokens          bool
	SpacesBetweenSpecialTokens bool
	NoStopTrim                 bool
	StreamInterval             int // 0: the server's
}

// The types of finished reasons.
const (
	FinishStop   = "stop"
	FinishLength = "length"
	FinishAbort  = "abort"
)

// FinishReason says why a request ended.
type FinishReason struct {
	Type        string `json:"type"`
	Matched     int64  `json:"matched"`      // stop: the token
	MatchedText string `json:"matched_text"` // stop: the stop string; then there is no token
	Length      int    `json:"length"`       // length: max_new_tokens
	Message     string `json:"message"`      // abort: what for
	StatusCode  int    `json:"status_code"`  // abort: 0 where nothing went wrong
	ErrType     string `json:"err_type"`
}

// TimeStats says when a request came to where, in the caller's seconds; 0 where
// it has not come yet, or never did.
type TimeStats struct {
	WaitQueueEntry  float64 // received
	ForwardEntry    float64 // in a batch for the first time
	PrefillFinished float64 // its prompt was computed for the first time
}

// BatchTokenIDOutput has the rows of a step, a row's values at the same place in
// every column. HTTPWorkerIPCs are those of the requests. The two columns of
// logprobs stand for SGLang's twelve; each is nil where no row's request wants
// logprobs, and has an empty entry for a row that has none to send.
type BatchTokenIDOutput struct {
	RIDs                       []string
	HTTPWorkerIPCs             []string
	FinishedReasons            []*FinishReason // nil: not finished
	DecodedTexts               []string        // empty: text is the detokenizers' matter
	DecodeIDs                  [][]int64       // ids to decode since the last row
	ReadOffsets                []int
	OutputIDs                  [][]int64 // generated ids since the last row
	SkipSpecialTokens          []bool
	SpacesBetweenSpecialTokens []bool
	NoStopTrim                 []bool
	PromptTokens               []int
	ReasoningTokens            []int // 0
	CompletionTokens           []int // those sent, with this row
	CachedTokens               []int
	RetractionCounts           []int
	Row                        []int // the row's number within its request, from 0
	TimeStats                  []TimeStats
	InputLogprobs              [][]model.Position
	OutputLogprobs             [][]model.Position
}

// Len is the number of rows.
func (b *BatchTokenIDOutput) Len() int { return len(b.RIDs) }

// Output is what Take hands over.
type Output struct {
	Rows   *BatchTokenIDOutput // nil: none
	Aborts []AbortReq          // replies to HTTP workers
	Log    []string
}

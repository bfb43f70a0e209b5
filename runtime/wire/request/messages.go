package request

// Message is a pointer to one of the structs below.
type Message interface{ Class() string }

// TokenizedGenerateReqInput is one request to the scheduler.
type TokenizedGenerateReqInput struct {
	RID             string
	HTTPWorkerIPC   string // where its rows go
	InputText       string // for logs only; empty: null
	InputIDs        []int64
	SamplingParams  SamplingParams
	ReturnLogprob   bool
	LogprobStartLen int
	TopLogprobsNum  int
	TokenIDsLogprob []int64 // nil: null
	Stream          bool
	ExtraKey        string // requests with another one share no prefix; empty: null
	CacheSalt       string // nor do those
	NoLogs          bool
}

// BatchTokenizedGenerateReqInput is many requests in one message; the rows of an
// item go to the item's own http_worker_ipc.
type BatchTokenizedGenerateReqInput struct {
	RIDs           []string // nil: null
	HTTPWorkerIPCs []string // nil: null
	Batch          []TokenizedGenerateReqInput
}

// SamplingParams has SGLang's names. NewSamplingParams has its defaults.
type SamplingParams struct {
	MaxNewTokens               int
	Stop                       []string
	StopTokenIDs               []int64
	Temperature                float64
	TopP                       float64
	TopK                       int // -1: the whole vocabulary
	MinP                       float64
	FrequencyPenalty           float64
	PresencePenalty            float64
	RepetitionPenalty          float64
	MinNewTokens               int
	IgnoreEOS                  bool
	SkipSpecialTokens          bool
	SpacesBetweenSpecialTokens bool
	NoStopTrim                 bool
	StreamInterval             int // 0: the server's; null on the wire
	LogitBias                  map[int64]float64
	SamplingSeed               *int64
}

// NewSamplingParams has SGLang's defaults: 128 new tokens, temperature 1.
func NewSamplingParams() SamplingParams {
	return SamplingParams{
		MaxNewTokens: 128, Temperature: 1, TopP: 1, TopK: -1, RepetitionPenalty: 1,
		SkipSpecialTokens: true, SpacesBetweenSpecialTokens: true,
	}
}

// FinishReason is a finished_reason of type abort, as an AbortReq carries it.
type FinishReason struct {
	Type       string // "abort"
	Message    string
	StatusCode int // HTTP status; 0: null
	ErrType    string
}

// AbortReq asks for a request's end, and as an answer tells an HTTP worker that a
// request was not taken.
type AbortReq struct {
	RID            string
	HTTPWorkerIPC  string
	AbortAll       bool
	FinishedReason *FinishReason
	AbortMessage   string
}

// FlushCacheReqInput asks for an empty radix cache.
type FlushCacheReqInput struct {
	RID           string
	HTTPWorkerIPC string
	TimeoutS      float64 // wait so long for the scheduler to be idle; 0: null
}

// FlushCacheReqOutput is the answer.
type FlushCacheReqOutput struct {
	RID           string
	HTTPWorkerIPC string
	Success       bool
	Message       string
}

// GetInternalStateReq asks for the scheduler's state.
type GetInternalStateReq struct {
	RID           string
	HTTPWorkerIPC string
}

// GetInternalStateReqOutput is the answer, a JSON object.
type GetInternalStateReqOutput struct {
	RID           string
	HTTPWorkerIPC string
	InternalState []byte
}

// GetAdmissionsReq asks for the records of these requests, and of the prefill
// batches they were in.
type GetAdmissionsReq struct {
	RID           string
	HTTPWorkerIPC string
	RIDs          []string
}

// GetAdmissionsReqOutput is the answer, a JSON object.
type GetAdmissionsReqOutput struct {
	RID           string
	HTTPWorkerIPC string
	Admissions    []byte
}

// TokenizerWorkerRegistrationReq makes an HTTP worker known to the router, which
// connects to WorkerIPCName.
type TokenizerWorkerRegistrationReq struct {
	RID           string
	HTTPWorkerIPC string
	WorkerIPCName string
}

// Class is the name on the wire.
func (*TokenizedGenerateReqInput) Class() string { return "TokenizedGenerateReqInput" }

// Class is the name on the wire.
func (*BatchTokenizedGenerateReqInput) Class() string { return "BatchTokenizedGenerateReqInput" }

// Class is the name on the wire.
func (*AbortReq) Class() string { return "AbortReq" }

// Class is the name on the wire.
func (*FlushCacheReqInput) Class() string { return "FlushCacheReqInput" }

// Class is the name on the wire.
func (*FlushCacheReqOutput) Class() string { return "FlushCacheReqOutput" }

// Class is the name on the wire.
func (*GetInternalStateReq) Class() string { return "GetInternalStateReq" }

// Class is the name on the wire.
func (*GetInternalStateReqOutput) Class() string { return "GetInternalStateReqOutput" }

// Class is the name on the wire.
func (*GetAdmissionsReq) Class() string { return "GetAdmissionsReq" }

// Class is the name on the wire.
func (*GetAdmissionsReqOutput) Class() string { return "GetAdmissionsReqOutput" }

// Class is the name on the wire.
func (*TokenizerWorkerRegistrationReq) Class() string { return "TokenizerWorkerRegistrationReq" }

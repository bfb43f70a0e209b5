// Package args has the settings of a server, by SGLang's names (its flags with
// underscores), and says which cannot be. Parsing a command line is the
// program's matter; here are the values, their defaults and the checks, which
// every process of the server shares: the supervisor hands [Args] to its
// children as JSON.
package args

// Q8 is the one quantization: GGML's format of that name.
const Q8 = "q8_0"

// Args of a server. The JSON names are those of /server_info.
type Args struct {
	// Model.
	ModelPath       string `json:"model_path"`        // a folder or a .gguf; empty: the seeded model that the program makes
	TokenizerPath   string `json:"tokenizer_path"`    // a folder, tokenizer.json or .gguf; empty: ModelPath
	ChatTemplate    string `json:"chat_template"`     // a file; empty: the model's own
	ServedModelName string `json:"served_model_name"` // empty: ModelPath, or the device's default name
	Device          string `json:"device"`            // cpu, cuda where it is built, sim, auto
	DType           string `json:"dtype"`             // auto (as in the files), bfloat16, float16, float32
	Quantization    string `json:"quantization"`      // Q8, which the weights become when they are read; empty: none
	ContextLength   int    `json:"context_length"`    // 0: the model's
	RandomSeed      uint64 `json:"random_seed"`

	// HTTP.
	Host               string `json:"host"`
	Port               int    `json:"port"` // 0: any free one
	APIKey             string `json:"-"`    // handed on apart, never shown
	TokenizerWorkerNum int    `json:"tokenizer_worker_num"`
	MaxBodyBytes       int64  `json:"max_body_bytes"`

	// Scheduler.
	MaxPrefillTokens   int     `json:"max_prefill_tokens"`
	ChunkedPrefillSize int     `json:"chunked_prefill_size"` // -1: no chunking
	EnableMixedChunk   bool    `json:"enable_mixed_chunk"`
	MaxRunningRequests int     `json:"max_running_requests"`
	MaxQueuedRequests  int     `json:"max_queued_requests"` // 0: no limit
	MaxTotalTokens     int     `json:"max_total_tokens"`    // 0: from MemFractionStatic
	MemFractionStatic  float64 `json:"mem_fraction_static"` // of the memory this process may use, for the KV cache; of a GPU's that is free, for weights and cache
	PageSize           int     `json:"page_size"`
	SchedulePolicy     string  `json:"schedule_policy"` // fcfs, lpm
	DisableRadixCache  bool    `json:"disable_radix_cache"`
	StreamInterval     int     `json:"stream_interval"`
	DecodeLogInterval  int     `json:"decode_log_interval"`
	AdmissionRecords   int     `json:"admission_records"` // requests and prefill batches that /admissions remembers

	// Input path.
	EnableTokenizerBatchEncode bool `json:"enable_tokenizer_batch_encode"`
	BatchSendMaxTokens         int  `json:"batch_send_max_tokens"` // 0: no limit
	BatchSendMaxReqs           int  `json:"batch_send_max_reqs"`   // 0: no limit
	DisableBatchSend           bool `json:"disable_batch_send"`    // item by item, whatever SGLang's rule says

	// Output path.
	DetokenizerWorkerNum int    `json:"detokenizer_worker_num"`
	FanoutStrategy       string `json:"fanout_strategy"`              // of package fanout, but floor
	DetokenizeMethod     string `json:"detokenize_method"`            // offset, bytes
	ZMQ                  string `json:"zmq"`                          // engine of package transport
	IncrementalStreaming bool   `json:"incremental_streaming_output"` // /generate streams new text, not all so far

	// Simulated device; seconds, and shares of tokens.
	SimMachine        string  `json:"sim_machine"` // of package sim, whose step times then are in force; empty: none
	SimStepBase       float64 `json:"sim_step_base"`
	SimStepPerToken   float64 `json:"sim_step_per_token"`
	SimStepPerContext float64 `json:"sim_step_per_context"`
	SimMultiByte      float64 `json:"sim_multi_byte"`
	SimEmpty          float64 `json:"sim_empty"`
	SimSpecial        float64 `json:"sim_special"`
	SimStop           float64 `json:"sim_stop"`

	// Service.
	InProcess        bool    `json:"in_process"`
	SkipServerWarmup bool    `json:"skip_server_warmup"` // no request of the server's own at its start
	EnableMetrics    bool    `json:"enable_metrics"`
	LogLevel         string  `json:"log_level"`        // debug, info, warning, error
	StartTimeout     float64 `json:"start_timeout"`    // seconds until every part must have registered
	ShutdownTimeout  float64 `json:"shutdown_timeout"` // seconds that running requests have after SIGTERM
	HealthTimeout    float64 `json:"health_timeout"`   // seconds for /health_generate
}

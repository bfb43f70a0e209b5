package scheduler

import (
	"fmt"

	"github.com/fanoutbench/fanoutbench/runtime/model"
)

// Policy is the order in which waiting requests are tried.
type Policy string

// The values of --schedule-policy.
const (
	FCFS Policy = "fcfs" // first come, first served
	LPM  Policy = "lpm"  // longest prefix match
)

// Config of a Scheduler. The first group has SGLang's flags.
type Config struct {
	MaxTotalTokens     int // slots; rounded down to pages
	MaxRunningRequests int
	MaxQueuedRequests  int // 0: no limit
	MaxPrefillTokens   int
	ChunkedPrefillSize int // 0 or less: no chunking
	SchedulePolicy     Policy
	DisableRadixCache  bool
	EnableMixedChunk   bool
	StreamInterval     int     // 0 is 1
	PageSize           int     // 0 is 1
	DecodeLogInterval  int     // 0 is 40
	Conservativeness   float64 // 0 is 1

	// Decoder makes the text in which stop strings are found. Without one a request
	// with stop strings is refused.
	Decoder Decoder
	// Check says why a request cannot be, beside what the scheduler itself finds: a
	// row with status 400 has the error. Nil finds nothing.
	Check func(*TokenizedGenerateReqInput) error

	AbortMemory float64 // seconds that an abort of an unknown rid is remembered; 0 is 5
	Records     int     // requests and prefill batches whose records are kept; 0 is 4096
}

// SGLang's constants.
const (
	clipMaxNewTokens     = 4096
	initNewTokenRatio    = 0.7
	minNewTokenFactor    = 0.14
	newTokenDecaySteps   = 600
	retractDecodeSteps   = 20
	lpmQueueLimit        = 128
	inBatchCheck         = 32 // a match up to this is looked for among the waiting
	inBatchDeprioritize  = 32 // one of this or more goes last
	forcedOutputInterval = 50 // tokens between rows of a request that does not stream
	promptTail           = 5  // ids of the prompt's end in the first row
)

// complete puts the defaults in and names what cannot be.
func (c Config) complete(l model.Limits) (Config, error) {
	for _, d := range []struct {
		field *int
		value int
	}{{&c.StreamInterval, 1}, {&c.PageSize, 1}, {&c.DecodeLogInterval, 40}, {&c.Records, 4096}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Conservativeness == 0 {
		c.Conservativeness = 1
	}
	if c.AbortMemory == 0 {
		c.AbortMemory = 5
	}
	if c.SchedulePolicy == "" {
		c.SchedulePolicy = FCFS
	}
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"max_total_tokens", c.MaxTotalTokens, 2},
		{"max_running_requests", c.MaxRunningRequests, 1},
		{"max_queued_requests", c.MaxQueuedRequests, 0},
		{"max_prefill_tokens", c.MaxPrefillTokens, 1},
		{"stream_interval", c.StreamInterval, 1},
		{"page_size", c.PageSize, 1},
		{"decode_log_interval", c.DecodeLogInterval, 1},
		{"records", c.Records, 1},
		{"the model's vocab_size", l.VocabSize, 1},
		{"the model's context_length", l.ContextLength, 2},
	} {
		if f.value < f.min {
			return c, fmt.Errorf("scheduler: %s is %d, expected at least %d", f.name, f.value, f.min)
		}
	}
	switch {
	case c.SchedulePolicy != FCFS && c.SchedulePolicy != LPM:
		return c, fmt.Errorf("scheduler: schedule_policy is %q, expected %q or %q", c.SchedulePolicy, FCFS, LPM)
	case c.ChunkedPrefillSize > 0 && c.ChunkedPrefillSize%c.PageSize != 0:
		return c, fmt.Errorf("scheduler: chunked_prefill_size is %d, expected a multiple of page_size %d", c.ChunkedPrefillSize, c.PageSize)
	case !(c.Conservativeness > 0):
		return c, fmt.Errorf("scheduler: schedule_conservativeness is %g, expected more than 0", c.Conservativeness)
	case !(c.AbortMemory > 0):
		return c, fmt.Errorf("scheduler: the memory of aborts is %g s, expected more than 0", c.AbortMemory)
	}
	return c, nil
}

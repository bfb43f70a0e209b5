package metrics

import (
	"fmt"
	"strings"

	"github.com/fanoutbench/fanoutbench/runtime/server/counters"
)

// Prefixes of what goes out.
const (
	sglangPrefix = "sglang:"
	ownPrefix    = "fanoutbench:"
)

// sglang has the metrics that are SGLang's by name. Those of several parts are
// added up; a ratio only one part can give.
var sglang = map[string]struct {
	kind  counters.Kind
	ratio bool
	help  string
}{
	"num_running_reqs":     {counters.KindGauge, false, "Requests in the running batch."},
	"num_queue_reqs":       {counters.KindGauge, false, "Requests in the waiting queue."},
	"num_used_tokens":      {counters.KindGauge, false, "Tokens in the KV cache that requests hold."},
	"max_total_num_tokens": {counters.KindGauge, false, "Tokens for which the KV cache has room."},
	"gen_throughput":       {counters.KindGauge, false, "Tokens generated in a second."},
	"num_retracted_reqs":   {counters.KindGauge, false, "Requests retracted in the decodes that the last log line about them covers."},
	"token_usage":          {counters.KindGauge, true, "Share of the KV cache in use."},
	"cache_hit_rate":       {counters.KindGauge, true, "Share of prompt tokens found in the cache."},
	"utilization":          {counters.KindGauge, true, "Share of the allowed requests that run."},

	"prompt_tokens_total":          {counters.KindCounter, false, "Prompt tokens of finished requests."},
	"generation_tokens_total":      {counters.KindCounter, false, "Tokens generated for requests."},
	"cached_tokens_total":          {counters.KindCounter, false, "Prompt tokens found in the cache."},
	"num_requests_total":           {counters.KindCounter, false, "Requests that ended."},
	"num_aborted_requests_total":   {counters.KindCounter, false, "Requests that were aborted."},
	"num_retracted_requests_total": {counters.KindCounter, false, "Retractions of requests."},

	"time_to_first_token_seconds": {counters.KindHistogram, false, "Time from a request to its first token."},
	"inter_token_latency_seconds": {counters.KindHistogram, false, "Time between two tokens of a request."},
	"e2e_request_latency_seconds": {counters.KindHistogram, false, "Time from a request to its last token."},
	"queue_time_seconds":          {counters.KindHistogram, false, "Time of a request in the waiting queue."},
}

// dropped is what the names of dropped rows begin with; the reason follows.
const dropped = "rows_dropped_"

// family is what goes out under one name.
type family struct {
	name string
	help string
	kind counters.Kind
	from string // the part that declared it first
}

// label of a sample.
type label struct{ name, value string }

// ownName says under which name and with which labels a part's metric goes out.
func ownName(part string, s counters.Spec) (string, []label) {
	labels := []label{{"part", part}}
	switch s.Kind {
	case counters.KindCounter:
		if reason, ok := strings.CutPrefix(s.Name, dropped); ok {
			return ownPrefix + "rows_dropped_total", append(labels, label{"reason", reason})
		}
		return ownPrefix + strings.TrimSuffix(s.Name, "_total") + "_total", labels
	case counters.KindBeat:
		return ownPrefix + "heartbeat_age_seconds", append(labels, label{"loop", s.Name})
	}
	return ownPrefix + s.Name, labels
}

// ownHelp is that of the first part, but where a name stands for several metrics.
func ownHelp(s counters.Spec) string {
	switch {
	case s.Kind == counters.KindBeat:
		return "Time since a loop's last sign of life, and what it did then."
	case s.Kind == counters.KindCounter && strings.HasPrefix(s.Name, dropped):
		return "Rows that were dropped, by reason."
	}
	return s.Help
}

// families remembers what each name stands for, within one scrape.
type families map[string]family

// declare returns the family of a name, which every part must mean alike.
func (f families) declare(name, part, help string, kind counters.Kind) (family, error) {
	had, ok := f[name]
	if !ok {
		had = family{name, help, kind, part}
		f[name] = had
	}
	if had.kind != kind {
		return had, fmt.Errorf("%s is a %s of %s and a %s of %s", name, had.kind, had.from, kind, part)
	}
	return had, nil
}

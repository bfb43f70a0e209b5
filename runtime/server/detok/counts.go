package detok

import "github.com/fanoutbench/fanoutbench/runtime/server/counters"

// The ledger's counters of dropped rows.
const (
	rowsDroppedDetokenizer = "rows_dropped_detokenizer"
	rowsDroppedRouter      = "rows_dropped_router"
)

// both are the counters of either kind. rows_unreachable and rows_refused say why
// rows were dropped; rows of malformed frames are in neither.
var both = []counters.Spec{
	counter("batches", "Frames of rows that came in, unreadable ones included."),
	counter("rows", "Rows that came in."),
	counter("messages", "Messages sent on."),
	counter("bytes", "Bytes of the messages sent on."),
	counter("opaque_decodes", "Opaque columns opened."),
	counter("rows_unreachable", "Dropped rows: where they go to cannot be reached."),
	counter("rows_refused", "Dropped rows: they cannot be handled for what they hold."),
	counter("rows_aborted", "Rows that cannot be detokenized: an abort was sent in their place."),
	counter("frames_malformed", "Frames that were dropped as a whole."),
	counter("freeze_gc_requests", "Requests to freeze the garbage collector, which Go does not do."),
	counter("peers_dropped", "Senders that broke the transport's rules."),
	{Name: "loop", Help: "The loop that handles batches.", Kind: counters.KindBeat},
	counters.Process,
}

var detokenizerSpecs = append([]counters.Spec{
	counter(rowsDroppedDetokenizer, "Rows that no HTTP worker gets."),
	{Name: "states", Help: "Requests whose text is being made.", Kind: counters.KindGauge},
	counter("evicted_states", "Requests that were given up to make room for others."),
}, both...)

var routerSpecs = append([]counters.Spec{
	counter(rowsDroppedRouter, "Rows that no detokenizer gets."),
}, both...)

func counter(name, help string) counters.Spec {
	return counters.Spec{Name: name, Help: help, Kind: counters.KindCounter}
}

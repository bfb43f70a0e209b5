package relay

import "github.com/fanoutbench/fanoutbench/runtime/server/counters"

// specs are the router's counters.
var specs = []counters.Spec{
	counter("requests_forwarded", "Frames of HTTP workers written to the scheduler."),
	counter("request_bytes_forwarded", "Bytes of HTTP workers' frames written to the scheduler."),
	counter("answers_forwarded", "Answers of the scheduler written to HTTP workers; one for each worker that it went to."),
	counter("answers_dropped_unknown", "Answers for an HTTP worker that has not registered, or for none."),
	counter("answers_dropped_unreachable", "Answers for an HTTP worker whose connection broke."),
	counter("registrations", "Registrations of HTTP workers that were acknowledged."),
	counter("registrations_failed", "Registrations of HTTP workers that could not be reached."),
	counter("frames_malformed", "Registrations and answers that could not be read."),
	counter("peers_dropped", "Senders that broke the transport's rules."),
	{Name: "requests", Help: "The pump from the HTTP workers to the scheduler.", Kind: counters.KindBeat},
	{Name: "answers", Help: "The pump from the scheduler to the HTTP workers.", Kind: counters.KindBeat},
	counters.Process,
}

func counter(name, help string) counters.Spec {
	return counters.Spec{Name: name, Help: help, Kind: counters.KindCounter}
}

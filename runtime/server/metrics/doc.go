// Package metrics serves /metrics: the counters of all parts of a server, read
// from their files in its folder at each scrape, whichever worker is asked. What
// is shown is exact at the time of the scrape; nothing is kept between two.
//
// # Names
//
// A part names its metrics plainly (see package counters). Those of SGLang's names
// are added up over the parts and go out with SGLang's prefix and its label,
// sglang:num_requests_total{model_name="..."}: whoever has a dashboard for SGLang
// has one for this server. The table is in names.go. A family is there when a
// part counts it.
//
// Everything else is ours and goes out for each part by itself, so that nothing
// that a part counts is hidden:
//
//	counter x             fanoutbench:x_total{part="worker-0"}, of x_total the same
//	gauge x               fanoutbench:x{part="scheduler"}
//	histogram x           fanoutbench:x{part="detokenizer-1"}
//	rows_dropped_REASON   fanoutbench:rows_dropped_total{part="worker-0",reason="REASON"}
//	beat x                fanoutbench:heartbeat_age_seconds{part="router",loop="x",state="busy"}; none before the first
//
// The ledger of all parts gives fanoutbench:rows_in_flight. In each scrape
//
//	rows_built_total = rows_delivered_total + rows_dropped_total + rows_in_flight
//
// exactly, and rows_in_flight is never negative while no row is counted twice,
// under load too: rows built are read after all that can become of them (see
// package counters, "The ledger"). Samples are float64, so this is exact below
// 2^53 rows.
//
// The worker that answers shows its own process and Go runtime (process_..., go_...)
// with its name in the label part. The workers share a port, so one scrape shows
// one of them, and the next may show another.
//
// # Errors
//
// A file that cannot be read, two parts that declare one name as two things, and
// a ratio that two parts give fail the scrape with 500 and what is wrong: a
// number that misses a part would look like a good one. The names of the parts
// come from files, but only the server writes in its folder.
//
// # Designs dropped
//
// A worker that counts for itself and is scraped by itself: with a shared port a
// scrape meets a worker by chance. Joining scrapes that run at once (CoalesceGather):
// the second would be given numbers older than its question.
package metrics

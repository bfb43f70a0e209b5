// Package batchrun writes, reads, checks and reports the run folders of batchsend:
// what a paired load test decided beforehand, what became of every request, and the
// figures that follow. It keeps to the ways of package results, which has them for
// fanoutbench; what is said there of one form, paths, writing and errors holds here.
//
// # A run folder
//
//	plan.json     Plan: everything decided before the first trial; indented
//	schedules/    round-R-cell-C.json: when an open loop's requests are to be sent;
//	              written by the caller, hashed in the plan
//	raw.jsonl     Request: one line each, those of a trial together
//	trials.jsonl  Trial: one line each, written after its requests
//	result.json   Result: arms, figures, machine, verdict; indented
//	summary.csv   a line for each cell and arm; begins with the published columns
//	hist/         cell-C-ARM.hlog: the response times as HdrHistogram logs, an interval
//	              with the tag round-R for each round; other tools read and merge them
//	logs/         what the arms' servers wrote
//
// A sweep has runs below it, see sweep.json in Sweep; shards of one load, sent from
// several machines, are put together by Merge, see Plan.Parts.
//
// Create makes the folder, Append adds a trial with its requests, Finish reads all
// of it back and writes the result. A folder without result.json is a run whose
// driver died.
//
// # Order of trials
//
// Plan.Trials is the order: rounds, in a round the cells as listed, for each the
// two arms, of which Plan.First names the one that goes first. Both arms replay the
// same schedule, so that their latencies are pairs. Requests sent to warm up are in
// no record.
//
// # Times
//
// Milliseconds from the trial's start. The response time is from the intended time
// to the answer's last byte, so that a sender that was held up by a slow server does
// not hide it; the service time is from the sending; lateness is the difference. In a
// single cell a request is intended when it is sent. What is known of items comes
// from the server and is from the sending on: it holds only where both clocks are one
// machine's CLOCK_MONOTONIC.
//
// # Figures
//
// Percentiles are by nearest rank over the answered requests, with the exact
// interval for independent values (package stats, Percentiles); where none exists
// the records have null and reports say n too small. Failed requests stay in: every
// figure has their number, and all_p50_ms and so on count each as infinite.
//
// The round is the unit of a comparison. Each of Metrics has one value a round and
// arm; a round in which both arms have one has a paired reduction,
// 100 (1 - candidate/reference).
//
// # Valid, verified, decided
//
// A run is invalid, with reasons, when the sender of some trial judged its own
// sending so, when of an arm's requests at a rate, over all rounds, more than one in a hundred
// was later than its trial's limit (in a merged run, of any shard's), when requests were not sent, when more failed than the plan allows, or
// when answers of the arms to the same request lie further apart than the plan
// tolerates. Its figures are shown, because a load that nobody could hold is a
// finding too, but decide nothing. A run that ended early is incomplete and has no
// figures. Any other is verified.
//
// A verified run with a family is decided by package verdict from the rounds' log
// ratios, as fanoutbench's runs of a fixed number of rounds are: the decision is
// identical where both arms executed the same files with the same options, and none
// where an arm's figures are descriptive.
//
// # Verify
//
// Verify computes every figure, the validity and the decision anew, and fails
// closed. Of the sender's own judgement it can check only what the requests show:
// lateness, unsent and failed requests.
//
// # Tried and dropped
//
//   - Percentiles from the histograms of hist/: they have three digits and cannot be
//     compared with raw.jsonl exactly.
//   - Scores of every request in raw.jsonl: a hundred items make kilobytes a line. A hash
//     says whether answers are equal, score_difference how far they are apart, and the
//     first answer of each arm in each cell has its scores beside the hash.
//   - Times as whole floats, and a hash in every line: raw.jsonl was twice as long, for
//     digits below what a clock resolves and for the same hash.
//   - A merged run that only names its shards: its figures could not be computed anew
//     without folders that are elsewhere.
//   - One file with trials and requests: a reader of latencies would have to tell two
//     kinds of lines apart.
package batchrun

// Package oracle judges what an arm delivered. The driver made the stream, so
// the oracle knows every row, and it works the text out from the vocabulary's
// pieces alone: it shares no code with the tokenizers, detokenizers and fanout
// strategies it judges.
//
// It checks, for each trial: every row known, on the consumer it was sent to,
// none missing, none twice; the order of rows at every consumer; every field
// that both arms' messages have, as JSON values (times of time_stats within
// 5e-6 s, everything else exact); every other field at its default;
// http_worker_ipcs, which grouped messages set and single rows leave null, null
// or the consumer's endpoint; and the text: per rid the concatenation exactly,
// each step's concatenation a prefix of it.
//
// The first thing that is wrong is returned as a *Difference. Whole-row faults
// (unknown, misrouted, missing, doubled, out of order) are looked for before
// fields, because a row too few makes every later row of its rid look wrong.
package oracle

// Package oracle judges what an arm delivered. The driver made the stream, so
// the oracle knows every row, and it works the text out from the vocabulary's
// pieces alone: it shares no code with the tokenizers, detokenizers and fanout
// strategies it judges.
//
// It checks, for each trial: every row known, on the consumer it was sent to,
// none missing, none twice; the order of rows at every consumer, if one
// detokenizer sends them all, else of each rid's rows alone, which shows in their
// fields and text; every field that was sent and that the arm's message has, as
// JSON values (times of time_stats within 5e-6 s, everything else exact); every
// other field of the message at its default;
// http_worker_ipcs, which grouped messages set and single rows leave null, null
// or the consumer's endpoint; and the text: per rid the concatenation exactly,
// each step's concatenation a prefix of it. A router's message has no text, and
// is judged by its fields. How many rows a message held, and how
// a request's text was cut into steps, is the arm's own affair.
//
// The first thing that is wrong is returned as a *Difference. Whole-row faults
// (unknown, misrouted, missing, doubled, out of order) are looked for before
// fields, because a row too few makes every later row of its rid look wrong. Of
// rows that are missing the one that was sent first is named.
//
// # Text
//
// The text of a rid is the text that its first row brings, and behind it what all
// its ids decode to at once, without as many characters as the prompt's ids alone
// decode to. That is what the incremental method amounts to, whose rule is by
// characters too (new = read[len(surr):]); so a blank between prompt and first
// word stays, and half a character at the prompt's end counts as one. Words are
// joined by single blanks, bytes by nothing; special tokens are left out when
// skip_special_tokens says so; an id that the vocabulary lacks counts as 0, and
// as nothing without an id 0. A part of the bytes that is no UTF-8 becomes one
// U+FFFD for each longest piece that could have begun a character, as Python and
// Unicode have it; Go's own conversions count otherwise.
//
// A finish reason of type "stop" trims that text. A stop string (a text in
// "matched") cuts it where the stop string first occurs, or with no_stop_trim
// behind that; one that does not occur cuts nothing. A stop token (an integer)
// is the last id, which is not decoded, or with no_stop_trim is.
//
// New returns an error where this cannot decide: a request that does not finish
// with its last row, one that finishes earlier, a finish reason of another type
// than "length", "abort" and "stop", or with something else in "matched";
// skip_special_tokens that differs between the rows of a rid; a rid on two
// consumers; a stop token that is not the last row's last id; a stop string that
// cuts off text which rows before the last one bring, since an arm may rightly
// have sent that: a scheduler holds such rows back. Half a character at the end
// of those rows is kept back by every arm, and may be cut.
package oracle

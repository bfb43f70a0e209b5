// Package scheduler decides which requests a model computes in each step, and
// makes of its tokens the rows that go to the detokenizers: continuous batching
// with a radix cache, as a pure state machine. It holds no clock, no I/O and no
// goroutine; the time is a number of seconds that the caller gives. One
// goroutine at a time may use it.
//
// # A step
//
//	s.Receive(now, message)      any number of times: what has arrived
//	batch := s.Schedule(now)     nil: nothing to compute
//	... the model computes batch, a sampler chooses tokens ...
//	s.Finish(now, choices)       or s.Fail(now, message), when the model failed
//	out := s.Take()              rows, replies and log lines since the last Take
//
// Receive may be called at any time, also while a batch is computed; Take too.
// What Receive refuses and aborts is in the next Take, without a step.
//
// # A request's life
//
//	refused          Receive: a row with an abort, or a reply (duplicate rid)
//	waiting          in the queue; after a retraction again
//	extending        in the batch that is computed, with its prompt or a chunk of it
//	chunked          between two chunks of its prompt; one request at most
//	running          its prompt is computed; each decode step gives it a token
//	finished         its last row, with a finished reason, is out; its slots are free
//
// Every request that Receive does not answer with a reply has exactly one row
// with a finished reason, and it is its last.
//
// # Prefill before decode
//
// Schedule makes a prefill batch when there is anything to admit, otherwise a
// decode batch of all running requests (SGLang: get_next_batch_to_run). After a
// request was refused for memory, or for max_running_requests, nothing is tried
// until one leaves the running ones, so that a full server does not match
// prefixes in every step. With EnableMixedChunk the running requests' decode
// tokens ride along in a prefill batch, and count against its budgets.
//
// # Admission
//
// Source: SGLang's PrefillAdder (managers/schedule_policy.py), in an older form:
// in later ones rule 3 holds only where chunking is off, and rule 2 adds a page
// to each request. In a batch's making three budgets go down:
//
//	rem_input   max_prefill_tokens − mixed decode tokens
//	rem_chunk   chunked_prefill_size − mixed decode tokens; none where the size is 0
//	rem_total   available + evictable slots − mixed decode tokens
//	            − Σ running min(max_new_tokens − generated, 4096) · new_token_ratio
//	            − what was admitted to this batch, with its new tokens
//
// For a request, extend is its number of tokens without the matched prefix, and
// paged(n) is n rounded up to pages:
//
//	rule 1  ignore_eos with the radix cache off: the conservative variant, below
//	rule 2  extend + min(max_new_tokens − generated, 4096) ≥ rem_total: no-token
//	rule 3  paged(extend) ≥ rem_input and the batch is not empty: max-prefill-tokens
//	rule 4  lock the matched prefix, which may take it from the evictable slots,
//	        and try rules 2 and 3 again
//	rule 5  no chunking, or paged(extend) ≤ rem_chunk: admit whole and reserve the
//	        new tokens. Otherwise cut to rem_chunk rounded down to pages: 0 is
//	        chunked-prefill-size; else admit that chunk, reserve no new tokens
//	rule 6  afterwards rem_total ≤ 0: no-token; rem_input ≤ 0: max-prefill-tokens;
//	        rem_chunk ≤ 0: chunked-prefill-size; else the next request
//
// Rule 3 has ≥: what fills the budget exactly is refused unless it is first. A
// first request larger than max_prefill_tokens is admitted alone. The chunked
// request goes first, with min(extend, rem_chunk, rem_total). The first request
// refused ends the batch, as does max_running_requests.
//
// The conservative variant (SGLang: add_one_req_ignore_eos) takes all requests,
// running, admitted and the new one, to run to their max_new_tokens (times
// new_token_ratio without ignore_eos), and follows the free slots along until
// each ends: they must stay above one a request.
//
// Ours: where the model would have nothing to do, the first waiting request is
// admitted though rule 1 or 2 says no. The limits of Receive make sure that one
// request alone fits; by the conservative variant one that fills the memory
// would wait for ever.
//
// Source: SGLang's NEW_TOKEN_RATIO settings. new_token_ratio begins at 0.7 · ScheduleConservativeness (at most 1), goes down
// to 0.14 of that in 600 decode steps, and is set by a retraction to
// (generated + 20 a request) / (max_new_tokens + 1), sums over the remaining
// ones, at most 1. Without running requests it begins anew.
//
// # Prefixes
//
// A prefix of at most all tokens but one is matched, and with return_logprob at
// most logprob_start_len, so that those positions are computed. The slots of a
// prompt (and of each chunk) join the tree when they are computed, all of a
// request's when it finishes; a retracted request's later ones do not.
//
// logprob_start_len −1 is the last input token, and the end of the prompt where
// max_new_tokens is 0 (prefill only, as /v1/score sends it).
//
// # Order
//
// fcfs is the order of arrival. lpm orders by the length of the matched prefix,
// the longest first; over 128 waiting requests it is left as it is. In-batch
// prefix caching: a request whose match is at most 32 tokens is matched against
// the waiting ones before it as well, and where at least 32 tokens are the same
// it goes behind all others. This is an order only, as in SGLang: a batch with
// room takes the holder and those behind it together. Without the cache lpm is
// fcfs.
//
// A retracted request goes back to its place by arrival (ours; SGLang appends it).
//
// # Retraction
//
// Source: SGLang's ScheduleBatch.retract_decode, which also evicts 20 tokens a
// request ahead; here only what is needed goes.
//
// Where a decode step does not find a slot for each running request, though
// everything that may be evicted was, requests are put back: the one with the
// fewest generated tokens first, among those the longest prompt, among those the
// latest arrival (ours). At least one stays; for it the chunked request is put
// back if need be (ours). They keep their tokens and what was sent of them.
//
// # Finish
//
// In this order: an abort that is pending; a stop string in the text: stop;
// max_new_tokens reached: length; the token in stop_token_ids, or without
// ignore_eos one of the model's EOS: stop. (SGLang looks for stop strings last, so
// that the last token's is sent as text.) With max_new_tokens 0 the token chosen is dropped: length 0, no completion.
// A token outside the vocabulary is an abort with status 500 that names it
// (ours; SGLang puts a stop token in its place), as is a Choice with an error.
//
// An abort takes effect at once, or with the end of the batch that the request
// is computed in. Its rid must be the whole rid (SGLang takes a beginning, so an
// empty one means all); an empty one is an error. An abort of a rid that is
// unknown and did not just finish is remembered for AbortMemory seconds, in case
// it overtook its request; of more than 1024 the oldest is forgotten.
//
// # Stop strings
//
// They need text: without Config.Decoder a request with any is refused with
// status 400, as is an empty one, and one with U+FFFD, which stands for bytes
// that are no text. The text is what the request's detokenizer makes: of the
// generated tokens, without special ones where it skips those (SGLang looks at
// them all the same), and without what completes the prompt's last character. It
// is judged without an unfinished character at its end, so every text that is
// judged begins the next one.
//
// The match is the stop string that ends first, so that it does not depend on how
// the text is cut into tokens; of several that end together the longest. The row
// that finishes has all tokens, and the detokenizer trims its text.
//
// Before, rows hold back tokens: where the longest end of the text that begins a
// stop string begins at p, a row has the tokens up to the last one with which
// the text is not longer than p. So no byte of a match is sent, and nothing is held but what may
// still be one. completion_tokens and log-probabilities are those of the tokens
// sent. A row that would have no token is left out; what it held goes with a
// later row, at the latest with the one that finishes. With no_stop_trim the stop
// string is text like any other, and nothing is held.
//
// A token's work is its own text, times the number of stop strings: each is
// followed byte by byte, and text is decoded in a window of few ids, which moves
// as package detokenizer's does.
//
// # Rows
//
// Source: SGLang's stream_output (managers/scheduler_output_processor_mixin.py).
// A request has a row in a step when it finishes; when it streams, at every
// token, or with a stream interval k over 1 at the tokens 1, k+1, 2k+1; when it
// does not stream, at every 50th token. decode_ids begin in the first row with
// up to 5 ids of the prompt's end, read_offsets says how many, in every row.
// Input logprobs are sent once, output logprobs as they come. What was sent is
// not sent again after a retraction. Row numbers a request's rows from 0, so that
// whoever receives them can tell a missing one; TimeStats has the times so far.
//
// # Log
//
// Lines in SGLang's form for each prefill batch and every 40th decode batch; one
// more of ours says why a prefill batch closed. The caller puts the time before.
// #token, token usage and #running-req are as before the batch, a prefill batch's
// matched prefixes counted as used; #cached-token is their length, #new-token the
// paged extends.
//
// # Errors
//
// New names the field of a Config that cannot be. Receive returns an error for a
// message that is none, or contradicts itself, and has done nothing then; a
// request that cannot be served has a row with the reason. Finish returns an
// error for choices that do not fit the batch. Schedule with a batch out, and
// Finish without one, are faults of the caller and panic.
package scheduler

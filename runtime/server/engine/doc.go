// Package engine is the scheduler part of a server: the loop around package
// scheduler and a model, with their sockets.
//
// # The loop
//
//	1  receive everything that has arrived; wait for it where there was nothing to compute
//	2  Schedule
//	3  send the rows, replies and log lines that came of the two
//	4  Forward, then Finish, or Fail where the model failed
//	5  send the rows of the batch
//	6  answer flushes that became possible or are overdue
//
// So a message that arrives as one is in one prefill batch as far as the budgets
// allow, a refusal or an abort goes out though nothing is computed, and whatever
// arrives during a step takes effect before the next.
//
// # Messages
//
// Requests, batches of them, aborts, flushes and questions are package request's.
// Rows go to the detokenizer side as wire.BatchTokenIDOutput; replies go to
// router-answers, which is dialled when there is the first. While the engine
// dials, it receives, and keeps what it received for later: see package
// transport, "Who drives what".
//
// A frame that is none of these, or contradicts itself, is logged and counted,
// and each rid that can be read in it is told with an AbortReq of status 400. What
// is well formed and cannot be served has a row with the reason: the scheduler's,
// or package sampling's, whose checks are made again here.
//
// A model that fails ends the requests of its batch, with status 500; the server
// goes on, unless the model says that its device is lost ([model.ErrLost]): then the rows
// of that batch go out and the server ends with that error. A panic of the model ends the process.
//
// # Rows on the wire
//
// Columns that this runtime has no values for are null. finished_reasons are
//
//	{"type": "stop", "matched": id or text}
//	{"type": "length", "length": n}
//	{"type": "abort", "message": text, "status_code": n or null, "err_type": text or null}
//
// The log-probability columns are null where no row's request asks for any, and
// otherwise as SGLang has them: a row's list of values and its list of ids, with
// null for the value of an input token that nothing is before; top and token_ids
// have for each position a list. A row that has none, or whose request asked for
// no top or token_ids, has an empty list. With max_new_tokens 0 a row has the
// log-probabilities of one position and no output id.
//
// Two columns are opaque and wrapped (MsgpackWrapper):
//
//	customized_info   {"row": [n, ...]}, the row's number within its request, from 0
//	time_stats        [{"has_timing_data": bool, "wait_queue_entry_time": s, "forward_entry_time": s,
//	                  "prefill_finished_time": s, "queue_duration_s": s}, ...]
//
// Times are seconds of CLOCK_MONOTONIC (counters.Now), the same in every process
// of the machine; 0 where the request has not come so far. has_timing_data says
// that it was in a batch.
//
// # Answers
//
// GetInternalStateReq: a JSON object with the scheduler's sizes and counts, its
// limits, the latest prefill batches and of a simulated device its lateness.
// GetAdmissionsReq: {"records": [...], "prefill_batches": [...]}, the
// records of the rids that are known, in the order asked for, and the batches that
// they were in which are still known, by number.
// FlushCacheReqInput: at once where the scheduler is idle or no time-out is given,
// otherwise when it becomes idle or at the time-out; the loop goes on meanwhile.
package engine

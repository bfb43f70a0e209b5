// Package detok has the parts between the scheduler's rows and the HTTP workers:
// the detokenizers, and with several of them the router that shares rows out
// between them (SGLang's MultiDetokenizerRouter). Both are thin loops around
// packages fanout and router, which cut batches and send the parts.
//
//	detokenizer-i        binds its PULL; sends each row's text to the worker that http_worker_ipcs names
//	detokenizer-router   binds its PULL; sends each row to detokenizer crc32(rid) mod M
//
// By the rid, because its state is with one detokenizer; and not by the worker as
// SGLang does, where one worker uses one detokenizer, whatever M (sglang#29366).
//
// # What comes in
//
//	BatchTokenIDOutput, BatchEmbeddingOutput   rows, see packages fanout and router
//	a batch without rows (an idle step)        from the router to every detokenizer, from those to nobody
//	FreezeGCReq                                the same; Go has nothing to freeze, so it is only counted
//	anything else                              logged and counted
//
// # Connections
//
// A detokenizer connects to a worker when a row first needs it. A worker binds
// its socket before it sends a request, so one that cannot be connected to within
// workerTimeout has died: it is not tried again, and its rows are dropped at
// once from then on. The router connects to all detokenizers at its start and is
// ready when it has; frames that come before wait.
//
// # Rows that are dropped
//
// A row is dropped where its consumer cannot be reached or where it cannot be
// detokenized or sent for what it holds; its neighbours go on. A frame that
// cannot be read is dropped with as many rows as its first bytes announce. All
// of them are counted in rows_dropped_detokenizer or rows_dropped_router, and
// logged (see intake.Faults). A row whose state was evicted is not dropped: its
// client gets it as an abort (package fanout).
//
// What was written to a worker that dies before it reads is dropped by nobody:
// it stays in flight.
//
// # Errors
//
// A detokenizer's connections concern only the rows of one worker, so nothing but
// its PULL ends it once it is ready, and its router neither. Before, everything
// does: a tokenizer that cannot be made, a strategy that is not known or that
// needs prepared frames (floor), a method that the vocabulary does not allow, a
// detokenizer that does not answer.
package detok

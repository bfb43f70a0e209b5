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
//	anything else                              a fault of the scheduler: the part ends with an error
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
// A client whose row is dropped would wait for ever, as its worker sees a hole only
// when a later row comes. So a row that cannot be detokenized, or whose state was
// evicted, is not dropped: its client gets it as an abort (package fanout), and the
// worker has the scheduler end the request. Where nobody can be told the part ends
// with an error, and the server with it, which tells every client:
//
//   - at once, when a frame is no batch, a row has no worker, or a batch cannot be
//     cut: the scheduler is at fault, and its next frame would be no better;
//   - after goneGrace, when a worker or detokenizer cannot be reached: it has died,
//     which the supervisor sees sooner and then names, or it took nothing for
//     sendTimeout. Until then its rows are dropped, and the others' go on.
//
// Rows that were dropped are counted in rows_dropped_detokenizer or
// rows_dropped_router: of a frame that cannot be read as many as its first bytes
// announce. Faults are logged (see intake.Faults).
//
// What was written to a worker that dies before it reads is dropped by nobody:
// it stays in flight.
//
// # Errors
//
// Besides, a part ends with its PULL's, and before it is ready with any: a
// tokenizer that cannot be made, a strategy that is not known or that needs
// prepared frames (floor), a method that the vocabulary does not allow, a
// detokenizer that does not answer.
package detok

// Package fanout carries decoded batches from a detokenizer to the HTTP workers:
// one BatchTokenIDOutput frame in, BatchStrOutput frames out (or embeddings in
// and out), each to the consumer (an HTTP worker's PULL socket) that
// http_worker_ipcs names for the row. How a batch is cut into messages is a [Strategy]:
//
//	per-row         a message a row; every row decodes the wrapped columns anew
//	reuse           a message a row; the columns are decoded for row 0 and once more for all others
//	grouped         a message a consumer; the columns are decoded for each consumer
//	splice          a message a row, made of the batch's own bytes; nothing is decoded
//	grouped-splice  a message a consumer, made the same way
//	floor           prepared frames are sent; what no worker can beat
//
// per-row is what SGLang 0.5.21 does, and the dumb twin of all others: they give
// the same rows (as values), in the same order, to the same consumers. grouped
// is the default of SGLang 0.5.23. A strategy is one file and one line in the
// registry; the property, counter and benchmark suites run over the registry.
//
// # Embeddings
//
// A BatchEmbeddingOutput is the other batch that a detokenizer receives. Its rows
// go to their consumers as BatchEmbeddingOutputs, cut and sent by the same
// strategy, and the detokenizer sees none of them, not even their rids. Of its
// columns time_stats alone is opaque. Tensors (pooled_hidden_states) go through as
// they are. Those of a BatchTokenIDOutput (routed_experts, indexer_topk) would
// have to become base64 text: such a batch fails with an error that names the
// field.
//
// # One batch
//
// Every row of token ids is detokenized, also one that cannot be sent, so that the state of
// its rid goes on and ends. Rows go to their consumers in row order. Where
// consumers are visited one by one (the grouped strategies, and the flushes at
// the end of a batch), it is in the order in which the batch first names them.
// http_worker_ipcs is null on messages of one row, as SGLang sends them, and
// names the consumer for each row on the grouped ones.
//
// per-row, reuse and grouped flush each message. splice, grouped-splice and
// floor queue theirs and flush once a consumer when the batch has been cut.
// reuse decodes the columns for the later rows only when row 0 has been flushed:
// the first token does not wait for them.
//
// The received frame is never changed, and not read after Batch has returned.
//
// # Decodes
//
// OpaqueDecodes counts every call that opens a wrapped column. Of 32 rows with
// both opaque columns for four consumers: per-row 64, reuse 4, grouped 8, the
// others 0. Columns of the native transport are values already and are never
// opened. A pickled column is not decoded into values: to open it is to parse it
// (package wire/pickle), and it is counted the same way. Its rows are pickles
// again. One that cannot be cut fails the batch with an error that names field,
// wrapper, opcode and offset.
//
// # Errors
//
// Batch returns nil or everything that failed, joined (errors.Join):
//
//   - *[SendError], at most one a consumer: dialling, sending or flushing failed.
//     It names the consumer, the first row that failed with its rid, and how
//     many did; all later rows of the batch to that consumer fail with it and
//     are not tried. Rows before stay sent, other consumers get all of theirs.
//     Queued rows count as sent when they are flushed: a failed flush fails all
//     that were in the queue.
//   - *[RowError]: the columns of one row cannot be detokenized (a null, a read
//     offset beyond the ids): Aborted is set, and its consumer gets an abort in
//     its place, as below, so that the client does not wait for ever. Or it has
//     no consumer (null), and is lost. The others go on. When rows can be decoded
//     but not cut, one RowError counts all rows left, and all are lost.
//   - anything else: the frame as a whole is no BatchTokenIDOutput and no
//     BatchEmbeddingOutput. Nothing was detokenized or sent. A frame of another
//     class (FreezeGCReq) is named.
//
// FailedRows counts the rows of the first two kinds that were lost. A row whose
// detokenizer state was evicted is no error: it is sent with an empty text and the finish
// reason {"type": "abort", "message": ..., "status_code": 500, "err_type":
// "InternalServerError"}, so that its client learns of it. After an abort of
// either kind more rows of the request may come; who gets them has to stop it.
//
// A consumer is dialled when a row first needs it and kept. One that could not
// be dialled is dialled again in the next batch that needs it; a Sender that
// failed is kept, and says itself what becomes of later messages.
//
// # Memory
//
// One goroutine at a time uses a Strategy. splice and grouped-splice work in
// buffers that stay: once warm they allocate nothing a row. floor holds the
// prepared frames until they are sent.
//
// # Designs dropped
//
// One loop with the message's make as a function: the strategies differ in what
// is done when (reuse's first row, the grouping before the decode), and the flags
// for that were longer than the loops. Cutting all rows of splice before sending
// the first: one more pass over the frames, and the first row waits. Sending
// what is left of a consumer's rows after a failed one: the receiver would see a
// gap in the middle of a stream and call it an order fault.
package fanout

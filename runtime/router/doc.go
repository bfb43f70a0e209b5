// Package router splits decoded batches between several detokenizers: one
// BatchTokenIDOutput or BatchEmbeddingOutput frame in, frames of the same class
// out, each row to one detokenizer (a target), which a rule chooses. How a batch is cut into messages
// is a [Strategy]:
//
//	per-row         a message a row; every row decodes the wrapped columns anew
//	grouped         a message a target; the columns are decoded for each target
//	grouped-splice  a message a target made of the batch's own bytes; nothing is decoded
//
// per-row is what SGLang's MultiDetokenizerRouter did up to 0.5.21, grouped what
// it does since 0.5.22. per-row is the dumb twin of both others: they give the
// same rows, in the same order, to the same targets. A strategy is one file and
// one line in the registry.
//
// # Rules
//
// The target of a row is crc32(key) mod N, with the IEEE polynomial (zlib's
// crc32), where the key is
//
//   - the row's rid ([ByRID]): every target gets rows of every HTTP worker, and
//     all rows of a request meet the one detokenizer that has its state;
//   - the row's http_worker_ipc ([ByIPC]), as in SGLang: all rows of an HTTP
//     worker come from one detokenizer, and no more targets than HTTP workers are
//     used. A row without one is a [RowError].
//
// A batch without rows (an idle step) goes to every target as it came.
//
// # Order
//
// A target gets its rows in row order, and batches one after another. So rows of
// one rid stay in order all the way; rows of two rids to one HTTP worker do only
// if one detokenizer handles both.
//
// # Errors
//
// Batch returns nil or everything that failed, joined:
//
//   - *[SendError], at most one a target: it names the target, the first row that
//     failed with its rid, and how many did. Later rows of the batch to that
//     target are not tried; other targets get all of theirs.
//   - *[RowError]: a row has no key. The others go on. When a batch can be
//     decoded but not cut (a pickle that is not one), one RowError counts all rows left.
//   - anything else: the frame as a whole is of neither class.
//
// Every message is flushed when it is sent. The received frame is never changed,
// and not read after Batch has returned. One goroutine at a time uses a Strategy;
// once warm grouped-splice allocates nothing.
//
// # Designs dropped
//
// A consistent hash, which keeps most keys in place when a detokenizer is added:
// nothing is added to a running service, and SGLang's choice would not be measured.
package router

// Package request is the other direction of package wire: what HTTP workers send
// to the scheduler, and what the scheduler answers them beside its rows.
//
// # Shape
//
// As in package wire a message is one MessagePack array: the class name, then
// every field in the order of SGLang 0.5.23's io_struct.py, trailing defaults
// written. Inherited fields come first: rid and http_worker_ipc, or rids and
// http_worker_ipcs of a batch. SamplingParams is an array without a class name.
//
//	["AbortReq", "rid-0", "ipc:///...", false, nil, "", nil]
//
// input_ids is an integer array (ext type 1, typecode "q"). The structs below
// hold the fields that have a meaning in this runtime; layout.go has the tables of
// all of them. The others are written with SGLang's defaults, and read only to be
// refused: a message that sets one (an image, a session, a grammar) is an error
// that names the field, as nothing here would heed it. time_stats is one of them.
//
// The layout is that of 0.5.23 alone: its SamplingParams has 33 fields, with
// watermark as the 27th, and 0.5.21's has 32. A frame may leave out the last fields
// that have a default; one with more fields than the class has is an error.
//
// # Null and SGLang's forms
//
// A nil slice or map is null, an empty one that is not nil is empty. The zero value
// of a text or number that may be null is written as null. A frame of SGLang's HTTP
// workers holds the same in other words, which are read but not written:
//
//   - stop is one string, or stands in stop_strs as normalised parameters have it, or
//     in both; two that differ are an error. stop_str_max_len and is_normalized
//     follow from the rest, and are not looked at.
//   - max_new_tokens of null is 1<<30, as SGLang's scheduler takes it.
//   - top_k of 1<<30 is the whole vocabulary, -1 in the struct; -1 is read as well.
//   - greedy is temperature 1 and top_k 1 there. It is left as it is.
//   - logit_bias has the token ids as decimal text.
//   - rid of an AbortReq is "" in place of null.
//
// # Our own
//
// GetAdmissionsReq and its output have no counterpart: they carry the
// scheduler's records of which prefill batches a request was in (package
// scheduler, Record and PrefillBatch) as JSON. GetInternalStateReq and its output
// are SGLang's names; the state is a JSON object here.
//
// # Errors and limits
//
// Errors are [wire.Error]s with class, field (with index) and byte offset:
//
//	wire: BatchTokenizedGenerateReqInput.batch[0].sampling_params.n at byte 136: got 2, want 1: ...
//
// [wire.Check] runs over every frame before the codec sees it, so an announced
// length never decides what is allocated: Decode of n bytes allocates at most
// 64 n + 64 KiB. Text is carried as bytes: UTF-8 is neither checked nor mended.
//
// # Designs dropped
//
// One struct field a wire field, as in package wire: fifty fields that nothing
// reads, and nothing to say that they are refused. Keeping them as raw bytes: a
// request that asks for a grammar would be served without it. Writing normalised
// parameters: stop_str_max_len counts tokens, which only a tokenizer knows.
package request

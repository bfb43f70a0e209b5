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
// hold the fields that have a meaning in this runtime. The others are written
// with SGLang's defaults, and read only to be refused: a message that sets one
// (an image, a session, a grammar) is an error that names the field, as nothing
// here would heed it.
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
// Errors are [wire.Error]s with class, field (with index) and byte offset.
// [wire.Check] runs over every frame before the codec sees it, so an announced
// length never decides what is allocated. Text is carried as bytes.
package request

// Package manager is an HTTP worker's side of its requests (SGLang's
// TokenizerManager): it makes ids of text, sends requests towards the scheduler
// in one of three ways, and hands the rows that come back to the callers that
// wait for them.
//
// # A request's life
//
//	checked      Submit: whatever can be known before a text is tokenized
//	dispatched   its state is in the map, by rid, before its message is sent
//	delivered    Receive merges its rows into its news; Next hands them out
//	ended        it has a finish: its last row's, an abort reply's, or one made here
//	forgotten    its last row or an abort reply came: the state leaves the map
//
// Ended and forgotten are apart. When a client leaves (Close), or a row is lost,
// the request has ended here and an AbortReq goes to the scheduler, but its state
// stays until the scheduler's last word, so that late rows are known for what they
// are, and the rid is not given to another request meanwhile.
//
// # Dispatch
//
// Source: SGLang's TokenizerManager (_handle_batch_request).
//
//	individual   one TokenizedGenerateReqInput an item, in order
//	batch        one BatchTokenizedGenerateReqInput
//	cut batch    several, each with at most BatchSendMaxTokens prompt tokens and
//	             BatchSendMaxReqs items; never inside an item, and an item
//	             with more tokens goes alone
//
// A batch goes as one where n is 1, there are at least two items, and either
// EnableTokenizerBatchEncode is set or no item has text; DisableBatchSend sends
// item by item in any case.
//
// Item by item each one is tokenized, encoded and sent before the next is tokenized,
// so the scheduler may start on the first ones meanwhile: the items of a request
// then are in several prefill batches. EnableTokenizerBatchEncode, and n over 1,
// have all items tokenized first, as a batch has in any case. What needs no ids
// is checked for all items before the first is sent: rids, parameters, UTF-8,
// and items that are ids already.
//
// An item whose text turns out to have no ids, too many, or to make too large a message
// refuses the whole request (SGLang does so too, but lets those that it has sent run on):
// what was sent is aborted, and stays known until the scheduler's last word; the rest
// is forgotten at once. So it is when the client leaves meanwhile. An operator's
// Abort that comes before an item is sent does not find it, as in SGLang.
//
// With n over 1 each prompt is first computed alone (max_new_tokens 0, no stream,
// a rid of its own) and waited for, which puts it into the cache; then its n copies
// go, with fresh rids, and the items' own rids are not used, as in SGLang: Abort
// knows the copies by the rids that their Updates have. Copy j of an item with a
// sampling seed has that seed plus j (ours; in SGLang all copies have the same
// seed, and so the same text). An abort of a run that caches a prompt is Submit's
// error.
//
// # Lengths
//
// A request has at most context_length − 1 tokens, as package scheduler has it: a
// prompt that leaves no room for one new token (where any is wanted) is refused,
// and max_new_tokens is cut to the room there is, min_new_tokens with it. A text that
// is too long by its bytes alone ([CheckLength]) is refused before it is made ids. Memory
// may allow less than the context; that is the scheduler's to refuse.
//
// # Rows
//
// A row's number within its request is in customized_info, under "row", from 0
// (see package counters). A row that came before is dropped. A number left out is
// a hole in the text: the request ends with an abort, status 500, and so it does
// where a row cannot be read. A last row that is an abort with status 500 may be a
// detokenizer's, so the scheduler is asked to end the request as well. Rows that come after that, or after the client left,
// are counted as rows_dropped_request_ended; those of a rid that the map lacks as
// rows_dropped_unknown. A doubled row is in neither.
//
// An index has one Update waiting at most, into which rows are merged, so a slow
// caller costs no more memory than its request's output, and loses nothing. Next
// gives the index whose news is the oldest. A finish is given exactly once.
//
// # Counters
//
// Those of [Specs] have SGLang's names; the rows' and the beats are ours. Requests
// and tokens are counted when the last row comes; as in SGLang the runs that cache
// prompts count too. A request is aborted once: by its finish, or by its client
// leaving before.
//
// # Errors
//
// Submit returns an [*Error] with the HTTP status: 400 names the field, its value
// and what is allowed; 413 the size of the message; 503 that the service ends. A
// send that fails ends the service ([Manager.Fail]), since the connection is of no
// more use: every waiting caller then gets a finish with status 503. So does
// everything that makes Receive err: a frame that is malformed or of no class that
// a worker gets, for rows may be lost with it.
//
// # Designs dropped
//
// A channel of rows a request: bounded it blocks the rows of all others, unbounded
// it holds a slow client's rows one by one. A goroutine a request between the two:
// the merge needs none. Deleting the state when the client leaves, as SGLang did: the
// abort then finds no request, and late rows look like a fault.
package manager

// Package scoring makes the requests that batchsend sends, judges their answers,
// and asks what the scheduler did with them.
//
// # Requests
//
// A Shape describes requests that are made up; ReadDataset reads real ones. Either
// gives Prompts, and NewSet makes bodies of them. The published request is the
// default: a query of 120 and 50 items of 180 times "<|im_start|>", all items
// alike. Made-up text is of two tokens only (an Alphabet) of which each is one
// token wherever it stands, so lengths are exact; the first tokens of a query or an
// item spell its number in binary, so texts that must differ do so early. The
// numbers of tokens are then asked from the server's own tokenizer, as it joins
// query and item, and every answer's prompt_tokens must be their sum.
//
//	Unique 1         all requests are the same, and so are their items, as published
//	Unique U         U requests with queries of their own; the items of each differ
//	SharedPrefix     the query is the same for all requests; every item differs
//	Cold             no item finds anything in the cache: each has a cache_salt that is
//	                 sent only once. A server that does not know cache_salt for
//	                 /v1/score (SGLang has it for other paths) ignores it; what the
//	                 cache held is in the evidence, or in the server's log.
//	IDs              token ids in place of text
//
// # Bodies
//
// Set.Body gives the body of the n-th send: prompt n modulo Len, with a rid (and
// salts) of its own, so that two sends of one prompt can be in flight at once and
// each can be asked for afterwards. Bodies of a prompt differ in those digits only
// and have one length. Items have the rids RID_0, RID_1, ...; of a single prompt
// (chat, or completions with one item) it is RID itself.
//
// # Datasets
//
// A file of lines of JSON, one request each, all for the API that is measured.
// Names are matched exactly; a name that is unknown or given twice, an empty line
// and a missing field are errors that name the line.
//
//	score        {"query": TEXT, "items": [TEXT, ...]} or {"query": [ID, ...], "items": [[ID, ...], ...]},
//	             and "label_token_ids": [ID, ...] where they are not those of the run
//	completions  {"prompt": TEXT} or {"prompt": [TEXT, ...]}
//	chat         {"messages": [{"role": "user", "content": TEXT}, ...]}
//
// # Evidence
//
// Client.Admissions asks a server of this module which prefill batches each item
// was in. Arrival times are seconds of CLOCK_MONOTONIC, which only processes of one
// machine share. Of other servers ReadLog reads the lines about prefill batches in
// both of SGLang's forms ("Prefill batch. ", "Prefill batch, "); they say how large
// batches were, not whose items were in them.
//
// # Answers
//
// An answer is taken only if it has everything it must: status 200 and no error in
// its body, as many rows of scores as items and in each as many as labels, numbers
// from 0 to 1, prompt_tokens where the server says it. Scores are hashed as the
// bits of their float64s.
//
// # Designs dropped
//
// Text of words: which words are one token, and stay one beside each other, is
// another question for every tokenizer. Rids in a header: SGLang has none. Asking
// SGLang for cached tokens: /v1/score says null.
package scoring

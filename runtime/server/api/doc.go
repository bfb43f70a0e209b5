// Package api is the HTTP surface of the server: SGLang's own endpoints and the
// OpenAI ones, over a manager.Service. It reads and checks requests, and writes
// answers; it knows no sockets but HTTP's and no scheduler.
//
// # Endpoints
//
//	POST /generate                           one prompt or a batch, n copies, logprobs, streamed or not
//	POST /v1/completions                     streamed or not
//	POST /v1/chat/completions                streamed or not
//	POST /v1/score                           next-token scores of labels
//	POST /tokenize, /v1/tokenize             the ids of a text, or of each of a list, and their number
//	POST /detokenize, /v1/detokenize         the text of ids, or of each list of them
//	GET  /v1/models, /v1/models/NAME
//	GET  /health                             200 while serving, else 503
//	GET  /health_generate                    200 once its own token came back, through every detokenizer
//	GET  /server_info, /get_server_info
//	GET  /model_info, /get_model_info
//	GET|POST /flush_cache                    200, or 400 while requests run or wait
//	POST /abort_request                      {"rid": ..., "abort_all": ...}
//	GET  /metrics                            404 when metrics are off
//	POST /admissions                         {"rids": [...]}: the scheduler's records; ours
//
// Sources of shapes and order: SGLang's http_server.py, entrypoints/openai
// (protocol.py, serving_*.py, sse_utils.py) and tokenizer_manager.py.
//
// # Bodies
//
// A body is one JSON object in UTF-8, whatever its Content-Type; at most
// max_body_bytes long; it must come within Config.BodyTimeout. Names are matched
// exactly. null is as good as absent. Unknown names are ignored, as SGLang does;
// known ones that ask for what this server lacks (images, forced calls, grammars, LoRA)
// are refused by name: nothing is silently left out. Whole numbers may be written
// 16.0, as pydantic takes them; strings that hold numbers are refused (ours). Half
// of a character ("\ud800") is refused, where encoding/json puts U+FFFD in its place.
// Ours too are the limits of n, of prompts times n, and of the length of names.
//
// # Chats
//
// Package chat makes the prompt, by the model's template, of messages, tools,
// chat_template_kwargs, reasoning_effort and continue_final_message. What the template
// does not know is refused, but for what asks for nothing (false, 0, "", [], {}, null). A model without a
// template takes no chats. tool_choice is auto or none, which hides the tools. With
// tools an answer has its special tokens, as in SGLang: nothing else here parses calls.
//
// # Errors
//
// /v1, /tokenize and /detokenize:
// {"object":"error","message":...,"type":...,"param":...,"code":400}. Others:
// {"error":{"message":...}}, and with 429 and from 500 on as /v1 (SGLang: what it
// raises as HTTPException). A message names the field, its value and what is
// allowed. 400 for a bad request, 401 without the API key, 404, 405, 408 for a
// body that does not come, 413, 429, 500, 503. In a stream the same object is an
// event, {"error":{...}}, and [DONE] follows.
//
// An index that ends with an abort that has a status code ends the whole answer:
// with that status, or with an error event in a stream; the other indices are
// aborted. An abort without a code is finish_reason "abort".
//
// # Streams
//
// An event is "data: ", one line of JSON and an empty line; line ends in text are
// escapes inside the JSON. Each event is flushed. An update that has neither text,
// logprobs nor a finish makes no event in the OpenAI streams. /generate streams
// everything so far, or with incremental_streaming_output what is new: text, ids
// and output logprobs alike. The prompt's logprobs are in every chunk (SGLang slices
// the output_ keys alone).
//
// The id of all chunks of an OpenAI answer is the same (SGLang: each index has its
// own). Usage counts the prompt once for its n copies. The bytes of a token in chat
// logprobs are its own (SGLang: those of U+FFFD where they are no character). There
// is an entry for every token of the answer, as completion_tokens counts them: also
// for those of a stop that the text is cut before, and for special ones.
//
// # Log-probabilities
//
//	/generate              return_logprob, logprob_start_len, top_logprobs_num and
//	                       token_ids_logprob, one for all items or one each, and
//	                       return_text_in_logprobs. meta_info has input_ and output_
//	                       token_logprobs, top_logprobs and token_ids_logprobs: a
//	                       [value, id, text or null] a position, or a list of them
//	/v1/completions        logprobs, the number of most likely tokens at each; with echo
//	                       the prompt's as well
//	/v1/chat/completions   logprobs and top_logprobs
//	/v1/score              label_token_ids, at the end of each prompt
//
// The first prompt position that is told of has null: its logits were not asked for.
// Package sampling says what the values are, package scheduler what -1 for
// logprob_start_len is. A prompt may have 2^21 of them, its answer's included as far as
// max_new_tokens allows: more would not fit into a message between the parts.
//
// # Clients that leave or do not read
//
// A request's context ends when its client leaves: its Call is closed, unary ones
// too. A client that lets Config.WriteTimeout pass without taking a piece of at
// most 32 KiB is dropped.
//
// # Designs dropped
//
// Decoding into structs: encoding/json matches names whatever their case, takes
// null elements for zeros and names neither field nor value well. Encoding chunks
// from structs: a stream's chunks differ in a few places, and appending those is
// cheaper by an order; a fuzz target holds the appended JSON to encoding/json.
package api

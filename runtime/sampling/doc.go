// Package sampling chooses the next token from a model's logits, and gives the
// log-probabilities that a request wants. It has no clock, no I/O and no state
// between calls: what is chosen depends on the request, its tokens and the
// logits of its last position alone.
//
// # Order of operations
//
// Source: SGLang 0.5.23 (sampling/sampling_batch_info.py, layers/sampler.py and
// sampling/penaltylib), its PyTorch backend. Let l be the logits, and count(i)
// how often id i is among the generated tokens; the prompt does not count.
//
//	1  l[i] −= frequency_penalty · count(i) + presence_penalty, where count(i) > 0
//	2  l[i] = −∞ for the stop tokens and EOS, while fewer than min_new_tokens
//	   are generated; ignore_eos does not change that
//	3  l[i] is multiplied by repetition_penalty where it is negative, otherwise
//	   divided by it, where count(i) > 0
//	4  l[i] += logit_bias[i]
//	5  temperature below 1e-6 or top_k 1: the largest l, the lowest id of equals
//	6  p = softmax(l / temperature)
//	7  top_k, top_p and min_p, all three on p as it is (joint: none sees what
//	   another took away); the tokens sorted by p, the lower id first of equals:
//	   the first top_k; those with at most top_p before them; those with at
//	   least min_p · max(p)
//	8  a random number chooses among what is left, in proportion to p
//
// The first token is never taken away. Whatever −∞ came from step 2 is not
// brought back by a logit_bias. top_p 1 and min_p 0 take nothing away.
//
// Unlike transformers and vLLM, SGLang's repetition_penalty looks at generated
// tokens only, and so does this one.
//
// # Random numbers
//
// Philox4x64-10 (Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy
// as 1, 2, 3, 2011): a function of a key and a counter, so nothing has to be
// kept for a request. The key is (seed, 0) where the request has a seed, and
// otherwise (the sampler's seed, FNV-1a of the rid); the counter is (position,
// 0, 0, 0), position being the index of the new token among all of the
// request's. u is the upper 53 bits of the first word, over 2^53. The token is
// the first, by id, of those kept with u · Σp < the sum of p up to it.
//
// So a seed gives the same text in any batch, chunked or not, retracted or not,
// as far as the logits are the same. SGLang hashes seed, position and id to one
// random number for each id; the same seed gives another text there.
// Filters that take nothing away change no choice: the sum goes by id.
//
// A logit of −∞ is a model's way to say that the id is padding: it stays −∞ whatever
// is added, and is never chosen.
//
// Everything is computed in float64. Exp may differ in its last bit from one
// architecture to another, and with it, about once in 10^15 tokens, a choice.
//
// # Log-probabilities
//
// log softmax over the whole vocabulary of what step 6 has, before the filters
// (SGLang's default), rounded to float32: with steps 1 to 4, and divided by the
// temperature unless that is below 1e-6. (SGLang leaves the temperature out as
// well where all requests of a batch are greedy; here no other request
// matters.) −∞ is given as the smallest float32, as SGLang has it, since JSON
// has none. Of input tokens it is log softmax of the model's logits, nothing
// done to them. The most likely ones are in order, the lower id first of equals;
// those of given ids in the order given, twice where given twice.
//
// # Errors
//
// [Check] names the parameter, its value and what is allowed, as a
// [ParamError]; the ranges are SGLang's, beside them NaN, infinity and ids
// outside the vocabulary are refused everywhere. A logit that is NaN or +∞, or
// −∞ of all ids, is an error of [Sampler.Choose] that names it and its id (SGLang puts another
// value in its place); it concerns that request alone. So do a step
// in which min_new_tokens bans every token, and a repetition_penalty so small
// that a logit divided by it is infinite.
package sampling

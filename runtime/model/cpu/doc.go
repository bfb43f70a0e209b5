// Package cpu is Qwen3 and Llama on a CPU as fast as it gets: batched, on several
// threads, with the kernels of package kernels. Package qwen3 has the same computation
// in plain loops, and its documentation has the formulas; this is compared with that.
//
// # Weights
//
// A matrix stays where it lies in its file's mapping wherever a kernel reads it as it
// is, so that New takes little memory and its pages are shared between processes.
// Options says in which formats the matrices are to be:
//
//	the file's      DType 0    F32     F16     BF16     Q8 (not the embedding)
//	F32             mapped     mapped  copy    copy     copy
//	F16             mapped     copy    mapped  copy     copy
//	BF16            mapped     copy    copy    mapped   copy
//	Q8_0            mapped     copy    copy    copy     mapped
//	Q4_0, Q4_1      F32 copy   copy    copy    copy     copy
//
// A copy to F16 or BF16 is rounded to the nearest, ties to even; a number beyond F16's
// range is an error. One to Q8 is what GGML makes of the numbers in float32
// ([kernels.Quantize]); a head that is tied to the embedding has a copy of its own
// then. The weights of norms are float32 always. Rows of Q and K in the order of GGUF's
// llama stay in it: their pairs lie side by side and are rotated there, which leaves
// the products of queries and keys as they are.
//
// Activations are float32, and so are all sums; with Q8 the
// activations become int8 in blocks of 32 before each product (package kernels). Keys and
// values are float32 in memory; with DType BF16 they are rounded to BF16 when they go to their
// slots, as servers that keep them in the model's dtype do, package cuda among them.
//
// # A step
//
// The tokens of all works of a batch go through the layers together, at most 512 at a
// time: that bounds the memory, and the weights, read once for each such block, are
// read seldom enough. In a layer are five regions of parts that run side by side, in
// turns of whichever thread is free:
//
//	q, k and v                rows of the three matrices
//	attention                 heads of keys, for up to 16 tokens of a work
//	o                         rows
//	gate and up, silu·up      rows
//	down                      rows
//
// and what is done to each token by itself, between them: norms, rotation, slots,
// sums. That is done in place for few tokens, as a region for many. The logits are
// computed for the positions that are asked for, at most 64 at a time; the others leave
// the last layer when it has their keys and values.
//
// A region costs about a microsecond. Between regions the threads wait awake, within a step for a
// millisecond or two, otherwise for some 50 microseconds, then they sleep: one step, of 0.1 s
// in a 0.6B model, wakes them once.
//
// # One order of sums
//
// The kernels add in one order, whatever the number of tokens and whichever rows a part
// has; a token's attention goes through its positions in one order wherever they lie.
// So logits are equal bit for bit, on one machine, for a request alone or in any batch,
// its prompt whole or in chunks, its prefix computed or found in slots, with any number
// of threads. They are not those of package qwen3 to the last bit, which adds in another
// order.
//
// # Padding
//
// As in qwen3: the logits of ids from the checkpoint's Tokens on are −∞, where it says
// how many there are. Those rows of the head are not computed.
//
// # Memory
//
// [Size] says what New takes, and what it reads of the mapping, before anything is loaded. All of it
// is taken at the start, though a system gives pages out as they are touched. A step
// allocates nothing, unless log-probabilities of input are asked for, or the sampler or the
// kernels' plain loops do.
//
// # Errors
//
// New names the option or the tensor that cannot be. Forward's are those of qwen3: it
// looks at the whole batch before it computes anything, and no slot has changed then.
package cpu

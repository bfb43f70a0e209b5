// Package cuda is Qwen3 and Llama on an NVIDIA GPU: what package cpu computes, by the
// kernels of package kernels below this folder, through the driver of package driver. It is
// built with the tag cuda; without it the package is this text alone.
//
// It was tested through a driver that runs the kernels' sources on the host, and has not
// yet run on a GPU.
//
// # Weights
//
// A matrix goes up once, from where it lies in its file's mapping, at New. Q, K and V of a
// layer are one buffer there, and gate and up one. All matrices of a model are held in one
// dtype, F32 or BF16; keys and values are held in it, too:
//
//	Options.DType   files all F32   files all BF16   others, or a mixture
//	0               F32             BF16             an error that names the first tensor and says what to ask for
//	F32, BF16       as asked        as asked         as asked
//
// What lies in another dtype than asked is converted on its way, as package cpu does it: BF16
// rounded to the nearest, ties to even, and a number beyond its range is an error. The weights of
// norms are float32 always. F16 and 8 bits have no kernel.
//
// Activations are float32, and so are all sums. Rows of Q and K in pairs (GGUF's llama)
// stay as they lie and are rotated there.
//
// # Memory
//
// All device memory is allocated at New, and [Size] says how much; a step allocates none.
// Keys and values lie in slots, a slot a token, [slots, KVHeads, HeadDim] of each layer: the
// pages of the scheduler's radix cache.
//
// # A step
//
// The tokens of a batch are computed in blocks, at most 2048 at a time, works of one token first:
// those are attended to as decodes, the others as a prefill. One upload has the block's ids,
// positions, slots and the tables of slots that attention goes through. Kernels are launched one
// after another without waiting; the launches of a layer are
//
//	q, k and v         norm of x, and the product
//	store              norms of heads, rotation, keys and values to their slots
//	attention          decodes: two launches; prefill: one
//	o                  the product, added to x
//	gate and up        norm of x, the product, silu·up
//	down               the product, added to x
//
// In the last layer the tokens that nothing is asked of are left when their keys and values are
// stored. The host waits once a step: for the chosen tokens, or for the logits where a request asks for
// them, or where nothing is asked for the end. A block beyond the first, and rows of logits
// that come down one by one, wait again.
//
// # Choosing
//
// A sampler that is a [Chooser] says of a work how many of the largest logits it needs for its choice.
// Up to 256 of them, with the logarithm of the sum of all exponentials, come from the device; it
// then decides as it would have with all, and where it cannot be sure that it does (a NaN, a sum too
// close to top_p), or it wants log-probabilities, the logits come down. Logits of ids that are padding are
// neither computed nor chosen; on the host they are −∞.
//
// # Sums
//
// On one device logits are the same each time for the same batch. They are those of package cpu but for the
// last bits; with BF16 that is package cpu with DType BF16, which rounds keys and values as well. Blocks
// of up to eight tokens are multiplied by other kernels than larger ones, in another order of sums: so
// logits depend, in the sixth digit, on how a prompt is cut and how large a batch is; and where a key
// or a value lies next to the middle between two BF16 numbers, the last bit of its sum decides to
// which it is rounded. The documentation of package kernels says which kernel adds in which order.
//
// # Errors
//
// New names the option, the tensor or the size that cannot be, and what has been allocated is freed.
// Forward checks the whole batch before it computes anything. An error of the device in a step is that
// batch's: what it stored is lost, the model can compute the next one. After an error that
// leaves the context of no use (launch failures, illegal addresses: codes 700 to 719) every call fails, and errors.Is says [model.ErrLost].
package cuda

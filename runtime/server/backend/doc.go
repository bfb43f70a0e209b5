// Package backend makes the model and the tokenizer that the settings name. The
// scheduler takes the model; HTTP workers and detokenizers take the tokenizer.
//
// # Devices
//
//	cpu   with model_path a model's files, by package cpu; otherwise package qwen3's
//	      small model, weights from random_seed, 256 bytes and qwen3.Specials for a
//	      vocabulary.
//	      Tokens are chosen by package sampling
//	cuda  the same on an NVIDIA GPU, by package cuda, where the build tag cuda was set
//	sim   package sim, by the wall clock; its vocabulary. Context 32768
//
// context_length may be less than the model's; of a simulated device it may be
// anything to 2^24. A dtype or a quantization that a device does not have is an error (of what has
// no files, cpu has float32, cuda float32 and bfloat16): nothing stands in for it. So is device cuda without
// the build tag, a driver, or a GPU that can be used; device auto is cuda where none of these is missing, otherwise
// cpu, and [Resolve] says which and why.
//
// # Files
//
// model_path is a folder as Hugging Face has them or a .gguf; package checkpoint says
// what it may have. dtype and quantization are the Options of package cpu; only the
// scheduler loads weights, the others read what stands before them. Nothing is fetched:
// the name of a model in a hub is no path.
//
// The tokenizer is that of tokenizer_path, or where there is none of model_path: a
// folder's tokenizer.json, one by its own path, or what a .gguf says of its
// vocabulary, which must be a byte-level BPE (tokenizer.ggml.model gpt2). Package bpe
// says what it may have. A tokenizer with an id that the model has no logit for is an
// error. The other way round it is not: models have rows for kernels' sake that no
// token stands for. As in SGLang such an id may be given and scored, and a text has
// the token of id 0 for it.
//
// Text that a client gives is encoded by EncodePrompt, with BOS where the tokenizer
// has one, as SGLang encodes with add_special_tokens=True; a chat, whose template
// writes BOS itself, by Encode.
//
// Check reads all this but the weights, and the chat template, so that a server with wrong files ends before
// it has begun.
//
// # Chats
//
// ChatTemplate says where a model's chat template is looked for. A fault in it is an
// error of the start, with file and line.
//
// # Memory
//
// Slots of the cache are max_total_tokens, or what mem_fraction_static of the
// memory has room for. The memory is what the process may use: the least of
// MemAvailable in /proc/meminfo and the limits of the cgroups that it is in
// (memory.max of version 2, memory.limit_in_bytes of version 1, those of the
// groups above included), less what the weights need, those included that stay in
// the files' mapping: more weights than memory are an error. SGLang's fraction is of a device's whole memory, model and cache.
//
// max_total_tokens and context_length are at least 3, since a prompt that wants an answer
// has two tokens less than either, and max_total_tokens at least a page.
//
// Without max_total_tokens there are at most 131,072 slots, 128 MiB of the small
// model: more of them would keep prefixes that nobody asks for again. A
// simulated device keeps nothing in its slots, so it has 1,048,576. Where the
// memory cannot be told, on systems other than Linux, the first number is taken
// as it is. max_total_tokens that need more than the memory, and a memory that
// has no room for a cache, are errors that name both sizes.
//
// Of device cuda the memory is the GPU's, as much of it as is free, and the rule is SGLang's: mem_fraction_static of it
// is for weights and cache together; there are at most 1,048,576 slots. What package cuda works in counts as weights.
package backend

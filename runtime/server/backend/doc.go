// Package backend makes the model and the tokenizer that the settings name. The
// scheduler takes the model; HTTP workers and detokenizers take the tokenizer.
//
// # Devices
//
//	cpu   package qwen3's small model, weights from random_seed, tokens chosen by
//	      package sampling; 256 bytes and qwen3.Specials for a vocabulary
//	sim   package sim, by the wall clock; its vocabulary. Context 32768
//
// context_length may be less than the small model's 8192; of a simulated device
// it may be anything to 2^24. Model files, device cuda and types other than float32 are not
// built: an error says so, nothing stands in for them.
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
// groups above included). SGLang's fraction is of a device's whole memory, model
// and cache; the small model's weights are less than a MiB.
//
// Without max_total_tokens there are at most 131,072 slots, 128 MiB of the small
// model: more of them would keep prefixes that nobody asks for again. A
// simulated device keeps nothing in its slots, so it has 1,048,576. Where the
// memory cannot be told, on systems other than Linux, the first number is taken
// as it is. max_total_tokens that need more than the memory, and a memory that
// has no room for a cache, are errors that name both sizes.
package backend

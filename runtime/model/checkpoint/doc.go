// Package checkpoint makes of a Hugging Face folder or a GGUF file what a model is
// built from: a Config, and the weights by what they are for.
//
// # Architectures
//
// Qwen3 and Llama: package qwen3 has the computation. They differ in QKNorm alone.
//
//	config.json's architectures    GGUF's general.architecture
//	Qwen3ForCausalLM               qwen3
//	LlamaForCausalLM               llama
//
// Others are refused by name, as is whatever would be computed otherwise: biases,
// another hidden_act than silu, a sliding window, quantization_config, a rotation of
// another type than default and llama3, experts. A tensor that nobody asks for is an
// error, since it would have changed the result; only the inv_freq of old exports is
// passed over, which is computed.
//
// # config.json
//
// Source: transformers, of both generations:
//
//	                     up to 4                       5
//	the rotation's base  rope_theta                    rope_parameters.rope_theta
//	its scaling          rope_scaling, null or an      rope_parameters.rope_type
//	                     object with rope_type, once
//	                     called type
//	the weights' dtype   torch_dtype                   dtype
//
// The dtype is not read: each tensor has its own. What a file leaves out has
// transformers' value where this is a rule (head_dim of Llama is hidden_size by heads,
// num_key_value_heads is num_attention_heads, rope_theta of Llama is 10000) and is an
// error where transformers takes that of one model. The ids that end a text are those
// of config.json and of generation_config.json, where there is one.
//
// # GGUF
//
// Keys begin with the architecture: qwen3.block_count. The files of llama have the
// rows of Q and K in another order: of each head rows 0, n/2, 1, n/2+1 and so on, as
// llama.cpp rotates pairs that lie side by side. QKPairs says so, and Halves turns
// them back. A scaled rotation lies there as rope_freqs.weight, a divisor of each
// pair's frequency. Without output.weight the head is tied to the embedding.
//
// # The vocabulary
//
// VocabSize is the number of logits. A matrix may have more rows, for kernels' sake:
// these are cut off. Tokens is how many of the ids have a text, where the file knows;
// those behind are padding that a model has logits for, and that a sampler must not
// choose. transformers' folders have that number in the tokenizer's files only.
//
// # A tied head
//
// A folder that ties it may have lm_head.weight all the same, as a copy; the embedding
// is what is used, as transformers does.
//
// # Errors
//
// They name the file and the field, key or tensor, what it is and what was expected.
// Shapes are checked against the config before anything is computed with them.
package checkpoint

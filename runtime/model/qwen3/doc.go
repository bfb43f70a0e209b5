// Package qwen3 is the Qwen3 architecture, and Llama's, in plain Go loops, float32 throughout, but for what CacheBF16 says:
// small models run with it as they are, and quicker code is compared with it.
//
// # Computation
//
// Source: transformers' Qwen3ForCausalLM. For each token at position p, with all
// matrices [out, in] row by row and no biases:
//
//	h = embed[id]
//	in each layer:
//	  x = norm(h) · input_layernorm
//	  q, k, v = q_proj x, k_proj x, v_proj x
//	  each head of q and of k: norm(head) · q_norm or k_norm, then rotated by p
//	  k and v go to the token's slot, rounded to BF16 with CacheBF16
//	  head g of q looks at head g / (Heads/KVHeads) of k and v:
//	    softmax over positions 0..p of (q · k_i / √HeadDim), the v_i so weighted
//	  h += o_proj of the heads one after another
//	  x = norm(h) · post_attention_layernorm
//	  h += down_proj (silu(gate_proj x) · (up_proj x))
//	logits = head (norm(h) · model.norm); head is embed where the two are tied
//
// norm(x) is x / √(mean of squares + RMSNormEps); silu(x) is x / (1 + exp −x). The
// rotation takes the halves a and b of a head to a·cos − b·sin and b·cos + a·sin;
// the angle of pair j is p · (1 / RopeTheta^(2j/HeadDim)), each step in float32.
//
// Llama is the same without q_norm and k_norm: QKNorm is false then, and Seeded draws
// none. Llama 3.1 and later turn their slow pairs slower: RopeFrequencies has the
// pairs' frequencies then.
//
// Ids from Config.Tokens on, where that is not 0, are padding: a tokenizer has no text
// for them. Their logits are −∞, so that none is chosen and the shares of the others
// add up to 1; as input they are what the embedding says.
//
// # Files
//
// [Load] makes a Config and Weights of what package checkpoint reads: all numbers
// become float32, in memory of their own.
//
// # One order of sums
//
// Each token goes through all layers by itself, after those before it, and reads
// the positions before it in their order wherever they lie. So logits are equal
// bit for bit, on one machine, for a request alone or in any batch, its prompt
// whole or in chunks, its prefix computed or found in slots. A matrix is read once
// a token, not once a batch: that is for models that fit into a core's cache.
//
// # Seeded weights
//
// Seeded draws all weights from one generator, PCG-DXSM with 128 bits of state
// (math/rand/v2.NewPCG(seed, 0)), one draw of 64 bits a weight:
//
//	u = (draw >> 40) / 2^23 − 1     from −1 to below 1, exact in float32
//
// in this order, each tensor row by row; V, H and I are VocabSize, HiddenSize and
// IntermediateSize, Q and K are Heads and KVHeads times HeadDim:
//
//	model.embed_tokens.weight [V, H]     u · 0.1
//	of each layer, model.layers.N.:
//	  input_layernorm.weight [H]            1 + u · 0.5
//	  self_attn.q_proj.weight [Q, H]        u · √(3/H)
//	  self_attn.k_proj.weight [K, H]        u · √(3/H)
//	  self_attn.v_proj.weight [K, H]        u · √(3/H)
//	  self_attn.q_norm.weight [HeadDim]     2 + u · 0.5
//	  self_attn.k_norm.weight [HeadDim]     1 + u · 0.5
//	  self_attn.o_proj.weight [H, Q]        u · √(3/Q)
//	  post_attention_layernorm.weight [H]   1 + u · 0.5
//	  mlp.gate_proj.weight [I, H]           u · √(3/H)
//	  mlp.up_proj.weight [I, H]             u · √(3/H)
//	  mlp.down_proj.weight [H, I]           u · √(3/I)
//	model.norm.weight [H]                 1 + u · 0.5
//	lm_head.weight [V, H], if not tied    u · √(3/H)
//
// The factors are rounded to float32 before they are multiplied with. A matrix so
// scaled keeps the size of what it multiplies. The embedding is smaller and q_norm
// larger, so that greedy tokens do not stand still: a large embedding with a tied
// head has every token followed by itself, and heads that look at everything alike
// soon see the same in every step.
//
// # The small model
//
// Small is what is served without a model's files: ids 0 to 255 are the bytes,
// those of Specials follow. Made in milliseconds; it speaks no language.
//
// # Choosing
//
// A [Sampler] is given the logits of the positions that are asked for, and makes
// tokens and log-probabilities of them; [Greedy] is one. The model fills in
// Output.Chosen, and for the log-probabilities of a prompt keeps no logits beyond
// one position's.
//
// # Errors
//
// New and Seeded name the field or tensor that cannot be. Forward looks at the
// whole batch before it computes anything: its error names the rid, and no slot
// has changed then. After an error of the sampler slots have been written.
package qwen3

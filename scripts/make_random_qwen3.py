#!/usr/bin/env python3
"""Makes a model of Qwen3-0.6B's shape with seeded random weights, as a Hugging Face folder and as GGUF files.

    make_random_qwen3.py DIR [--layers 28 ...] [--seed 1]

DIR must not exist. It gets
  hf/config.json, hf/model.safetensors   bfloat16, as Qwen's own export lays it out
  bf16.gguf                              the same numbers, norms widened to F32
  q8_0.gguf                              every matrix in Q8_0 of those numbers, norms in F32
Of the full shape that is 1.2, 1.2 and 0.64 GB; it took a minute of CPU time and 3 GB of memory where this was written.
Nothing about speed depends on the numbers, and no package ships the real ones.

Tensor number n, in the order of tensors() below, is drawn by numpy's Generator(PCG64([seed, n])), standard_normal in
float32: a matrix is 0.02 times that (transformers' initializer_range), a norm 1 plus a tenth of it. Both are rounded to
bfloat16, to the nearest and of two to the even one. The GGUF files are written and quantised by Python's gguf, in the
layout of llama.cpp's convert_hf_to_gguf.py. Their tokens are the ids as text (t17): who uses these files sends ids.

Needs numpy and gguf: "$(scripts/python_env scripts/peers_requirements.txt)" scripts/make_random_qwen3.py DIR
"""
import argparse
import json
import pathlib
import struct

import gguf
import numpy as np

Q = gguf.GGMLQuantizationType
SHAPE = {"layers": 28, "hidden": 1024, "intermediate": 3072, "heads": 16, "kv-heads": 8, "head-dim": 128, "vocab": 151936, "context": 40960}
QWEN3_EOS = 151645
EPSILON, THETA = 1e-6, 1e6


def tensors(c):
    """Every tensor in order: its name in safetensors, its name in GGUF, its shape [out, in] or of a norm [n]."""
    q, kv, head = c.heads * c.head_dim, c.kv_heads * c.head_dim, [c.head_dim]
    yield "model.embed_tokens", "token_embd", [c.vocab, c.hidden]
    for n in range(c.layers):
        for name, short, shape in [
            ("input_layernorm", "attn_norm", [c.hidden]),
            ("self_attn.q_proj", "attn_q", [q, c.hidden]), ("self_attn.k_proj", "attn_k", [kv, c.hidden]), ("self_attn.v_proj", "attn_v", [kv, c.hidden]),
            ("self_attn.q_norm", "attn_q_norm", head), ("self_attn.k_norm", "attn_k_norm", head), ("self_attn.o_proj", "attn_output", [c.hidden, q]),
            ("post_attention_layernorm", "ffn_norm", [c.hidden]),
            ("mlp.gate_proj", "ffn_gate", [c.intermediate, c.hidden]), ("mlp.up_proj", "ffn_up", [c.intermediate, c.hidden]),
            ("mlp.down_proj", "ffn_down", [c.hidden, c.intermediate]),
        ]:
            yield f"model.layers.{n}.{name}", f"blk.{n}.{short}", shape
    yield "model.norm", "output_norm", [c.hidden]


def draw(seed, n, shape):
    """Tensor number n as bfloat16, in the upper halves of float32."""
    x = np.random.Generator(np.random.PCG64([seed, n])).standard_normal(shape, dtype=np.float32)
    x = np.float32(0.02) * x if len(shape) == 2 else 1 + np.float32(0.1) * x
    bits = x.view(np.uint32)
    bits += 0x7FFF + (bits >> 16 & 1)
    bits &= np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def write_folder(folder, c):
    folder.mkdir()
    config = {
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": False, "eos_token_id": eos(c), "head_dim": c.head_dim, "hidden_act": "silu",
        "hidden_size": c.hidden, "intermediate_size": c.intermediate, "max_position_embeddings": c.context, "model_type": "qwen3",
        "num_attention_heads": c.heads, "num_hidden_layers": c.layers, "num_key_value_heads": c.kv_heads, "rms_norm_eps": EPSILON, "rope_scaling": None,
        "rope_theta": THETA, "sliding_window": None, "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_sliding_window": False, "vocab_size": c.vocab,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, _, shape in tensors(c):
        size = 2 * int(np.prod(shape))
        header[name + ".weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # so that the numbers lie where processors like them
    with open(folder / "model.safetensors", "xb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for n, (_, _, shape) in enumerate(tensors(c)):
            (draw(c.seed, n, shape).view(np.uint32) >> 16).astype("<u2").tofile(f)


def eos(c):
    return min(QWEN3_EOS, c.vocab - 1)


def write_gguf(path, c, matrices):
    w = gguf.GGUFWriter(path, "qwen3")
    w.add_name(f"random Qwen3 shape, seed {c.seed}")
    w.add_file_type({Q.BF16: gguf.LlamaFileType.MOSTLY_BF16, Q.Q8_0: gguf.LlamaFileType.MOSTLY_Q8_0}[matrices])
    w.add_block_count(c.layers)
    w.add_context_length(c.context)
    w.add_embedding_length(c.hidden)
    w.add_feed_forward_length(c.intermediate)
    w.add_head_count(c.heads)
    w.add_head_count_kv(c.kv_heads)
    w.add_key_length(c.head_dim)
    w.add_value_length(c.head_dim)
    w.add_layer_norm_rms_eps(EPSILON)
    w.add_rope_freq_base(THETA)
    w.add_tokenizer_model("gpt2")
    w.add_tokenizer_pre("qwen2")
    w.add_token_list([f"t{n}" for n in range(c.vocab)])
    w.add_token_types([gguf.TokenType.NORMAL] * c.vocab)
    w.add_token_merges(["t 0"])  # llama.cpp asks for some
    w.add_add_bos_token(False)
    w.add_eos_token_id(eos(c))

    def form(shape):
        return matrices if len(shape) == 2 else Q.F32

    for _, name, shape in tensors(c):
        block, size = gguf.GGML_QUANT_SIZES[form(shape)]
        w.add_tensor_info(name + ".weight", shape, np.dtype(np.float32), int(np.prod(shape)) // block * size, raw_dtype=form(shape))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    for n, (_, _, shape) in enumerate(tensors(c)):  # one after the other: whole they take twice the memory
        w.write_tensor_data(gguf.quants.quantize(draw(c.seed, n, shape), form(shape)))
    w.close()


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("dir", type=pathlib.Path)
    p.add_argument("--seed", type=int, default=1)
    for name, value in SHAPE.items():
        p.add_argument(f"--{name}", type=int, default=value, help=f"default {value}")
    c = p.parse_args()
    for name in SHAPE:
        if getattr(c, name.replace("-", "_")) < 1:
            p.error(f"--{name} must be at least 1")
    if c.seed < 0:
        p.error("--seed must not be negative")
    if c.heads % c.kv_heads or c.head_dim % 2:
        p.error("--heads must be a multiple of --kv-heads, and --head-dim even")
    if c.hidden % 32 or c.intermediate % 32 or c.heads * c.head_dim % 32:
        p.error("--hidden, --intermediate and --heads times --head-dim must be multiples of 32: Q8_0 has blocks of so many")
    return c


def main():
    c = arguments()
    c.dir.mkdir(parents=True)
    write_folder(c.dir / "hf", c)
    write_gguf(c.dir / "bf16.gguf", c, Q.BF16)
    write_gguf(c.dir / "q8_0.gguf", c, Q.Q8_0)


if __name__ == "__main__":
    main()

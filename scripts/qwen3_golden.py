#!/usr/bin/env python3
"""Writes runtime/model/qwen3/testdata/golden.json: logits of transformers' Qwen3ForCausalLM in float32.

The weights are drawn here once more, from PCG-DXSM with the multiplier of its authors (numpy's PCG64DXSM
has another one), as runtime/model/qwen3's documentation says. For each model the file holds its config,
the seed, the SHA-256 of all its weights as little-endian float32, the rotation at the context's last position,
a prompt, and the logits over the whole vocabulary at some of its positions.
Needs torch and transformers. Run: "$(scripts/sglang_env.sh)" scripts/qwen3_golden.py [OUTPUT]
"""
import hashlib
import json
import math
import pathlib
import platform
import sys

import numpy as np
import torch
import transformers

MASK64, MASK128 = 2**64 - 1, 2**128 - 1
MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341
INCREMENT = 6364136223846793005 << 64 | 1442695040888963407
CHEAP = 0xDA942042E4DD58B5

# The small model, and one with another number of everything: a tied head, three query heads to each of
# keys, a hidden size that is no multiple of four.
SMALL = {"vocab_size": 259, "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": False,
         "max_position_embeddings": 8192}
OTHER = {"vocab_size": 41, "hidden_size": 42, "intermediate_size": 70, "num_hidden_layers": 3, "num_attention_heads": 6,
         "num_key_value_heads": 2, "head_dim": 10, "rms_norm_eps": 1e-3, "rope_theta": 1e4, "tie_word_embeddings": True,
         "max_position_embeddings": 64}
MODELS = [  # name, config, seed, length of the prompt, positions whose logits are kept
    ("small", SMALL, 1, 800, [0, 1, 2, 30, 300, 799]),
    ("other", OTHER, 20240607, 24, list(range(24))),
]


def pcg_dxsm(seed):
    """Draws of 64 bits, as Go's rand.NewPCG(seed, 0) gives them."""
    state = seed << 64
    while True:
        state = (state * MULTIPLIER + INCREMENT) & MASK128
        high, low = state >> 64, state & MASK64
        high ^= high >> 32
        high = high * CHEAP & MASK64
        high ^= high >> 48
        yield high * (low | 1) & MASK64


def shapes(c):
    """Name, shape and factor of each tensor, in the order in which they are drawn."""
    h, i, d = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    yield "model.embed_tokens.weight", (c["vocab_size"], h), 0.1
    for n in range(c["num_hidden_layers"]):
        layer = f"model.layers.{n}."
        for name, shape in [
            ("input_layernorm", (h,)), ("self_attn.q_proj", (q, h)), ("self_attn.k_proj", (kv, h)), ("self_attn.v_proj", (kv, h)),
            ("self_attn.q_norm", (d,)), ("self_attn.k_norm", (d,)), ("self_attn.o_proj", (h, q)), ("post_attention_layernorm", (h,)),
            ("mlp.gate_proj", (i, h)), ("mlp.up_proj", (i, h)), ("mlp.down_proj", (h, i)),
        ]:
            yield f"{layer}{name}.weight", shape, None
    yield "model.norm.weight", (h,), None
    if not c["tie_word_embeddings"]:
        yield "lm_head.weight", (c["vocab_size"], h), None


def draw(c, seed):
    draws, tensors = pcg_dxsm(seed), {}
    for name, shape, factor in shapes(c):
        base = 0 if len(shape) == 2 else 2 if name.endswith("q_norm.weight") else 1
        if factor is None:
            factor = 0.5 if base else math.sqrt(3 / shape[1])
        u = np.array([(next(draws) >> 40) - 2**23 for _ in range(math.prod(shape))], dtype=np.float32) / np.float32(2**23)
        tensors[name] = (np.float32(base) + u * np.float32(factor)).reshape(shape)
        assert tensors[name].dtype == np.float32
    return tensors


def load(c, tensors):
    config = transformers.Qwen3Config(
        **{k: v for k, v in c.items() if k != "rope_theta"},
        rope_parameters={"rope_type": "default", "rope_theta": c["rope_theta"]},
        attention_bias=False, hidden_act="silu", use_sliding_window=False, attn_implementation="eager")
    model = transformers.Qwen3ForCausalLM(config).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict({k: torch.from_numpy(v) for k, v in tensors.items()}, strict=False)
    tied = ["lm_head.weight"] if c["tie_word_embeddings"] else []
    assert missing in ([], tied) and not unexpected, (missing, unexpected)
    if tied:
        model.tie_weights()
        assert torch.equal(model.lm_head.weight, model.model.embed_tokens.weight)
    return model


def numbers(tensor):
    return [float(f"{v:.8g}") for v in tensor.tolist()]


def golden(name, c, seed, length, positions):
    tensors = draw(c, seed)
    weights = hashlib.sha256()
    for data in tensors.values():
        weights.update(data.astype("<f4").tobytes())
    prompt = [(7 * n * n + 3 * n + n // 5) % c["vocab_size"] for n in range(length)]
    with torch.no_grad():
        model = load(c, tensors)
        logits = model(torch.tensor([prompt])).logits[0]
        cos, sin = model.model.rotary_emb(logits, torch.tensor([[c["max_position_embeddings"] - 1]]))
    assert logits.dtype == torch.float32
    print(name, f"largest logit {logits.abs().max():.3g}", file=sys.stderr)
    return {"name": name, "config": c, "seed": seed, "weights_sha256": weights.hexdigest(), "prompt": prompt,
            "positions": positions, "cos": numbers(cos[0, 0, :c["head_dim"] // 2]), "sin": numbers(sin[0, 0, :c["head_dim"] // 2]),
            "logits": [numbers(logits[p]) for p in positions]}


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "runtime/model/qwen3/testdata/golden.json"
    torch.set_num_threads(1)
    head = {"made_by": "scripts/qwen3_golden.py",
            "versions": {"python": platform.python_version(), "torch": torch.__version__, "transformers": transformers.__version__}}
    lines = [json.dumps(golden(*m)) for m in MODELS]
    output.write_text(json.dumps(head)[:-1] + ', "models": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

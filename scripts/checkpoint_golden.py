#!/usr/bin/env python3
"""Writes the goldens of what reads models' files, in FOLDER or the tree's runtime/model:

tensor/testdata/dtypes.json: bytes of each dtype and the float32 that numpy and Python's gguf make of them.
checkpoint/testdata/: tiny seeded models, and logits.json with what transformers computes of them in float32:
  qwen3/      bfloat16 in several files with an index, config.json as transformers 5 writes it; a tokenizer.json
              with BOS before a prompt, as Llama 3's has it, and letters, digits and a few merges
  llama/      float32 in one file, tied, a rotation of type llama3, config.json as transformers 4 wrote it
  qwen3.gguf  F16 with norms in F32
  llama.gguf  every dtype in one file, rope_freqs.weight, tied, a padded vocabulary
The GGUF files are written as llama.cpp's convert_hf_to_gguf.py lays them out, and read back by transformers.
Needs torch, transformers, safetensors and gguf. Run: "$(scripts/sglang_env.sh)" scripts/checkpoint_golden.py [FOLDER]
"""
import base64
import hashlib
import json
import math
import pathlib
import platform
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers
from transformers import modeling_gguf_pytorch_utils

import qwen3_golden

SHAPE = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096}
QWEN3 = SHAPE | {"rope_theta": 1e6, "tie_word_embeddings": False}
LLAMA = SHAPE | {"rope_theta": 1e4, "tie_word_embeddings": True}
# With waves of 6 to 20,000 positions: some below 512/4, one between, some above 512.
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 512}
PROMPT = [(7 * n * n + 3 * n + n // 5) % 60 for n in range(48)]
TOKENS = 60  # those behind are padding
Q = gguf.GGMLQuantizationType


def text(array):
    return base64.b64encode(array.tobytes()).decode()


def dtypes():
    rng = np.random.Generator(np.random.PCG64(9))
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves[np.isnan(halves)] = 0  # what a NaN carries depends on the machine
    out = {"every_f16_sha256": hashlib.sha256(halves.tobytes()).hexdigest(), "tensors": []}

    def add(dtype, shape, data, values):
        assert values.dtype == np.float32 and values.size == math.prod(shape)
        out["tensors"].append({"dtype": dtype, "shape": shape, "data": text(data), "float32": text(values)})

    values = rng.standard_normal((3, 8)).astype(np.float32)
    values.flat[:6] = [0, -0.0, np.inf, -np.inf, 1e-45, np.finfo(np.float32).max]
    add("F32", [3, 8], values, values)
    half = rng.standard_normal((3, 8)).astype(np.float16)
    half.flat[:6] = [0, -0.0, np.inf, -np.inf, 6e-8, 65504]
    add("F16", [3, 8], half, half.astype(np.float32))
    brain = gguf.quants.quantize(rng.standard_normal((3, 8)).astype(np.float32), Q.BF16)
    add("BF16", [3, 8], brain, gguf.quants.dequantize(brain, Q.BF16))
    scales = np.array([0, -0.0, 6e-8, -6e-8, 1, -3.14, 65504, 2e-5], np.float16)
    for dtype, size, parts in [(Q.Q8_0, 34, 1), (Q.Q4_0, 18, 1), (Q.Q4_1, 20, 2)]:
        blocks = rng.integers(0, 256, (8, size), np.uint8)
        for part in range(parts):
            blocks[:, 2 * part:2 * part + 2] = np.roll(scales, 3 * part).reshape(8, 1).view(np.uint8)
        rows = blocks.reshape(4, 2 * size)
        add(dtype.name, [4, 64], rows, gguf.quants.dequantize(rows, dtype))
    return out


def config(c, architecture, rope_scaling=None):
    make = {"qwen3": transformers.Qwen3Config, "llama": transformers.LlamaConfig}[architecture]
    rope = {"rope_theta": c["rope_theta"]} | (rope_scaling or {"rope_type": "default"})
    return make(**{k: v for k, v in c.items() if k != "rope_theta"}, rope_parameters=rope, attention_bias=False,
                bos_token_id=1, eos_token_id=[2, 3], attn_implementation="eager")


def draw(c, architecture, seed):
    tensors = qwen3_golden.draw(c, seed)
    return {k: torch.from_numpy(v) for k, v in tensors.items() if architecture == "qwen3" or "_norm.weight" not in k or "self_attn" not in k}


def build(config, tensors):
    model = transformers.AutoModelForCausalLM.from_config(config).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    assert missing in ([], ["lm_head.weight"]) or not tensors, missing
    assert not unexpected, unexpected
    model.tie_weights()
    return model


def logits(name, model):
    model = model.to(torch.float32).eval()
    with torch.no_grad():
        out = model(torch.tensor([PROMPT])).logits[0]
    print(name, f"largest logit {out.abs().max():.3g}", file=sys.stderr)
    return {"name": name, "prompt": PROMPT, "frequencies": qwen3_golden.numbers(model.model.rotary_emb.inv_freq),
            "logits": [qwen3_golden.numbers(row) for row in out]}


def write_tokenizer(path):
    merges = ["t h", "th e", "i n", "e r", "a n", "o u", "l l", "h e", "he ll", "hell o", "Ġ the", "Ġ w", "o r", "Ġw or", "Ġ an"]
    special = ["<|bos|>", "<|end|>", "<|stop|>"]  # 1, and the two ids that end a text
    tokens = ["!", *special, *"abcdefghijklmnopqrstuvwxyz", "Ġ", "Ċ", *"0123456789", *".,?", *(m.replace(" ", "") for m in merges)]
    assert len(tokens) == len(set(tokens)) == TOKENS, len(tokens)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    single = [{"SpecialToken": {"id": special[0], "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    template = {"type": "TemplateProcessing", "single": single, "pair": [*single, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {special[0]: {"id": special[0], "ids": [1], "tokens": [special[0]]}}}
    path.write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": tokens.index(t), "content": t, **flags} for t in special],
        "normalizer": None, "pre_tokenizer": level,
        "post_processor": {"type": "Sequence", "processors": [level, template]},
        "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {t: i for i, t in enumerate(tokens) if t not in special}, "merges": merges},
    }, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def qwen3_folder(place):
    model = build(config(QWEN3, "qwen3"), draw(QWEN3, "qwen3", 5)).to(torch.bfloat16)
    model.save_pretrained(place, max_shard_size="24KB")
    assert len(list(place.glob("*.safetensors"))) > 1
    write_tokenizer(place / "tokenizer.json")
    return logits("qwen3", transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32))


def llama_folder(place):
    build(config(LLAMA, "llama", LLAMA3), draw(LLAMA, "llama", 6)).save_pretrained(place)
    (place / "generation_config.json").unlink()
    c = json.loads((place / "config.json").read_text(encoding="utf-8"))
    for name in ("rope_parameters", "dtype", "head_dim"):
        del c[name]
    c |= {"rope_theta": LLAMA["rope_theta"], "rope_scaling": LLAMA3, "torch_dtype": "float32", "head_dim": SHAPE["head_dim"]}
    (place / "config.json").write_text(json.dumps(c, indent=2) + "\n", encoding="utf-8")
    return logits("llama", transformers.AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32))


def pairs(rows, heads):
    """The order of rows in which llama.cpp has Q and K of llama."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, rows.shape[1]).swapaxes(1, 2).reshape(rows.shape)


LAYER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "self_attn.o_proj": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    parts = name.removesuffix(".weight").split(".")
    if len(parts) > 3:
        return f"blk.{parts[2]}.{LAYER['.'.join(parts[3:])]}.weight"
    return {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}[parts[-1]] + ".weight"


def write_gguf(path, architecture, c, tensors, choose, factors=None):
    """Returns the weights as they lie in the file, in float32 and in transformers' order."""
    w = gguf.GGUFWriter(path, architecture)
    w.add_block_count(c["num_hidden_layers"])
    w.add_context_length(c["max_position_embeddings"])
    w.add_embedding_length(c["hidden_size"])
    w.add_feed_forward_length(c["intermediate_size"])
    w.add_head_count(c["num_attention_heads"])
    w.add_head_count_kv(c["num_key_value_heads"])
    w.add_key_length(c["head_dim"])
    w.add_value_length(c["head_dim"])
    w.add_layer_norm_rms_eps(c["rms_norm_eps"])
    w.add_rope_freq_base(c["rope_theta"])
    w.add_rope_dimension_count(c["head_dim"])
    w.add_tokenizer_model("gpt2")
    w.add_token_list([f"t{n}" if n < TOKENS else f"[PAD{n}]" for n in range(c["vocab_size"])])
    w.add_token_types([gguf.TokenType.NORMAL if n < TOKENS else gguf.TokenType.UNUSED for n in range(c["vocab_size"])])
    w.add_token_merges(["t 0"])
    w.add_bos_token_id(1)
    w.add_eos_token_id(2)
    if factors is not None:
        w.add_tensor("rope_freqs.weight", factors)
    kept = {}
    for name, tensor in tensors.items():
        data, dtype = tensor.numpy(), choose(name)
        heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2]) if architecture == "llama" else None
        packed = gguf.quants.quantize(pairs(data, c[heads]) if heads else data, dtype)
        w.add_tensor(gguf_name(name), packed, raw_dtype=dtype)
        kept[name] = torch.from_numpy(gguf.quants.dequantize(gguf.quants.quantize(data, dtype), dtype).reshape(data.shape).copy())
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return kept


def read_back(path, config, kept):
    """The model of the file as transformers' reader takes it apart, whose order of rows and names is not ours; it must have the same weights."""
    model = build(config, {})
    read = modeling_gguf_pytorch_utils.load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)
    assert set(read["tensors"]) - set(kept) <= {"rope_freqs.weight", "lm_head.weight"}, set(read["tensors"]) - set(kept)
    for name, tensor in kept.items():
        assert torch.equal(read["tensors"][name].float(), tensor), name
    for name in ("hidden_size", "num_key_value_heads", "rms_norm_eps", "rope_theta"):
        want = config.rope_parameters[name] if name == "rope_theta" else getattr(config, name)
        assert math.isclose(read["config"][name], want, rel_tol=1e-6), name
    return build(config, kept)


def qwen3_gguf(path):
    kept = write_gguf(path, "qwen3", QWEN3, draw(QWEN3, "qwen3", 7), lambda name: Q.F32 if "norm" in name else Q.F16)
    return logits("qwen3.gguf", read_back(path, config(QWEN3, "qwen3"), kept))


def llama_gguf(path):
    # A divisor for each pair, as convert_hf_to_gguf.py writes them.
    scaled = build(config(LLAMA, "llama", LLAMA3), {}).model.rotary_emb.inv_freq
    plain = 1 / (LLAMA["rope_theta"] ** (torch.arange(0, SHAPE["head_dim"], 2).float() / SHAPE["head_dim"]))
    factors = (plain / scaled).numpy().astype(np.float32)
    ends = {"q_proj": Q.Q4_1, "k_proj": Q.Q4_0, "v_proj": Q.BF16, "o_proj": Q.F16, "gate_proj": Q.Q8_0, "up_proj": Q.Q4_1, "down_proj": Q.Q4_0,
            "embed_tokens": Q.Q8_0}
    kept = write_gguf(path, "llama", LLAMA, draw(LLAMA, "llama", 8), lambda name: ends.get(name.split(".")[-2], Q.F32), factors)
    return logits("llama.gguf", read_back(path, config(LLAMA, "llama", LLAMA3), kept))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "runtime/model"
    torch.set_num_threads(1)
    place = output / "checkpoint/testdata"
    for folder in (place / "qwen3", place / "llama"):
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
    (output / "tensor/testdata").mkdir(parents=True, exist_ok=True)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
    head = {"made_by": "scripts/checkpoint_golden.py", "versions": versions}
    (output / "tensor/testdata/dtypes.json").write_text(json.dumps({"made_by": head["made_by"]} | dtypes(), indent=1) + "\n", encoding="utf-8")
    models = [qwen3_folder(place / "qwen3"), llama_folder(place / "llama"), qwen3_gguf(place / "qwen3.gguf"), llama_gguf(place / "llama.gguf")]
    for path in place.rglob("*.safetensors"):
        path.chmod(0o644)
    lines = [json.dumps(m) for m in models]
    (place / "logits.json").write_text(json.dumps(head)[:-1] + ', "models": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

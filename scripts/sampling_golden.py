#!/usr/bin/env python3
"""Writes runtime/sampling/testdata/golden.json: what SGLang, transformers and numpy make of some logits.

  cases      the logits after SGLang's penalizers and a logit_bias (all in float32, as there), their log
             softmax with the temperature, and the probabilities that SGLang's
             top_k_top_p_min_p_sampling_from_probs_torch leaves
  warpers    the ids that one of transformers' logits processors keeps
  verify     which values SGLang's SamplingParams.verify takes
  philox     numpy's Philox4x64-10

Run: PYTHONPATH="$(scripts/sglang_env.sh --tree 0.5.23)" "$(scripts/sglang_env.sh)" scripts/sampling_golden.py [OUTPUT]
"""
import json
import math
import os
import pathlib
import sys
import types

os.environ["TORCHDYNAMO_DISABLE"] = "1"

import numpy as np
import sglang
import torch
import transformers
from sglang.srt.layers.sampler import top_k_top_p_min_p_sampling_from_probs_torch as sglang_filter
from sglang.srt.sampling import penaltylib
from sglang.srt.sampling.sampling_params import SamplingParams
from transformers.generation import logits_process

VOCAB = 48
EOS = [45, 47]
PENALIZERS = [
    penaltylib.BatchedFrequencyPenalizer,
    penaltylib.BatchedMinNewTokensPenalizer,
    penaltylib.BatchedPresencePenalizer,
    penaltylib.BatchedRepetitionPenalizer,
]


def some_params(rng):
    """Some parameters at their defaults, the others anywhere in their range."""
    def maybe(default, value):
        return value if rng.random() < 0.5 else default
    return {
        "temperature": maybe(1.0, round(rng.uniform(0.1, 3), 2)),
        "top_p": maybe(1.0, round(rng.uniform(0.05, 1), 2)),
        "top_k": maybe(-1, int(rng.integers(2, VOCAB))),
        "min_p": maybe(0.0, round(rng.uniform(0, 0.4), 2)),
        "frequency_penalty": maybe(0.0, round(rng.uniform(-2, 2), 2)),
        "presence_penalty": maybe(0.0, round(rng.uniform(-2, 2), 2)),
        "repetition_penalty": maybe(1.0, round(rng.uniform(0.3, 2), 2)),
        "min_new_tokens": maybe(0, int(rng.integers(1, 16))),
        "stop_token_ids": maybe(None, [int(rng.integers(0, VOCAB))]),
        "logit_bias": maybe(None, {str(i): round(rng.uniform(-5, 5), 2) for i in rng.integers(0, VOCAB, 3)}),
    }


class Batch:
    """As much of SGLang's ScheduleBatch as its penalizers ask for."""
    device = "cpu"

    def __init__(self, params):
        tokenizer = types.SimpleNamespace(additional_stop_token_ids=None, eos_token_id=None)
        self.reqs = [types.SimpleNamespace(sampling_params=params, tokenizer=tokenizer, eos_token_ids=set(EOS))]


def short(values):
    """Float32s in as few digits as say them; infinity as a string, since JSON has none."""
    return [float(str(v)) if np.isfinite(v) else str(v) for v in np.asarray(values, dtype=np.float32)]


def case(rng):
    fields = some_params(rng)
    params = SamplingParams(**fields)
    batch = Batch(params)
    logits = np.round(rng.normal(0, 2.5, VOCAB) * 1024).astype(np.float32) / 1024
    generated = [int(i) for i in rng.integers(0, VOCAB, rng.integers(0, 20))]

    orchestrator = penaltylib.BatchedPenalizerOrchestrator(VOCAB, batch, PENALIZERS)
    for token in generated:
        orchestrator.cumulate_output_tokens(torch.tensor([token]))
    adjusted = torch.tensor(logits)[None].clone()
    additive = torch.zeros_like(adjusted)
    orchestrator.accumulate_additive_penalties(additive)
    adjusted += additive
    scaling = orchestrator.accumulate_scaling_penalties()
    if scaling is not None:
        penaltylib.repetition_penalty.apply_scaling_penalties(adjusted, scaling)
    for token, value in (params.logit_bias or {}).items():
        adjusted[0, int(token)] += value

    scaled = adjusted / params.temperature
    _, kept, ids, _ = sglang_filter(
        torch.softmax(scaled, -1), torch.tensor([params.top_k]), torch.tensor([params.top_p]),
        torch.tensor([params.min_p]), params.min_p > 0, None, None, return_filtered_probs=True)
    left = torch.zeros(VOCAB).scatter_(0, ids[0].long(), kept[0])
    left = left / left.sum()
    return {
        "params": fields, "generated": generated, "logits": short(logits),
        "adjusted": short(adjusted[0]),
        "logprobs": short(torch.log_softmax(scaled, -1)[0]),
        "left": short(left),
    }


def warper(rng):
    kind = rng.choice(["top_k", "top_p", "min_p"])
    value = {"top_k": int(rng.integers(1, VOCAB)), "top_p": round(rng.uniform(0.05, 0.99), 2), "min_p": round(rng.uniform(0.01, 0.9), 2)}[kind]
    logits = np.round(rng.normal(0, 2.5, VOCAB) * 1024).astype(np.float32) / 1024
    make = {"top_k": logits_process.TopKLogitsWarper, "top_p": logits_process.TopPLogitsWarper, "min_p": logits_process.MinPLogitsWarper}[kind]
    out = make(value)(torch.zeros((1, 0), dtype=torch.long), torch.tensor(logits)[None])
    return {"kind": str(kind), "value": value, "logits": short(logits), "kept": torch.isfinite(out[0]).nonzero()[:, 0].tolist()}


def verified():
    inf, nan = math.inf, math.nan
    out = []
    for name, values in {
        "temperature": [0, 1e-7, 1, 5, -0.1, -inf, inf, nan],
        "top_p": [1, 0.5, 1e-9, 0, -1, 1.01, inf, nan],
        "top_k": [-1, 1, 48, 1000, 0, -2],
        "min_p": [0, 0.5, 1, -0.01, 1.01, nan, inf],
        "frequency_penalty": [-2, 0, 2, -2.1, 2.1, nan, inf],
        "presence_penalty": [-2, 0, 2, -2.1, 2.1, nan, -inf],
        "repetition_penalty": [0.01, 1, 2, 0, -1, 2.1, nan],
        "min_new_tokens": [0, 128, -1, 129],
        "max_new_tokens": [0, 1, -1],
        "logit_bias": [{"0": 1}, {"47": -100}, {"48": 1}, {"-1": 1}],
    }.items():
        for value in values:
            try:
                SamplingParams(**{name: value}).verify(VOCAB)
                taken = True
            except ValueError:
                taken = False
            shown = value if isinstance(value, dict) or math.isfinite(value) else str(value)
            out.append({"name": name, "value": shown, "taken": taken})
    return out


def philox(rng):
    key = [int(v) for v in rng.integers(0, 2**64, 2, dtype=np.uint64)]
    counter = [int(v) for v in rng.integers(0, 2**64, 4, dtype=np.uint64)]
    # numpy counts up before it computes.
    before = (sum(v << 64 * i for i, v in enumerate(counter)) - 1) % 2**256
    words = np.random.Philox(key=key[0] | key[1] << 64, counter=before).random_raw(4)
    return {"key": [str(v) for v in key], "counter": [str(v) for v in counter], "words": [str(v) for v in words]}


def main():
    rng = np.random.default_rng(20261130)
    golden = {
        "made_with": f"sglang {sglang.__version__}, torch {torch.__version__}, transformers {transformers.__version__}, numpy {np.__version__}",
        "vocab": VOCAB,
        "eos": EOS,
        "cases": [case(rng) for _ in range(50)],
        "warpers": [warper(rng) for _ in range(30)],
        "verify": verified(),
        "philox": [philox(rng) for _ in range(8)],
    }
    here = pathlib.Path(__file__).resolve().parent.parent
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "runtime/sampling/testdata/golden.json"
    parts = []
    for name, value in golden.items():
        lines = ",\n".join(json.dumps(v) for v in value) if isinstance(value, list) and name != "eos" else None
        parts.append(f"{json.dumps(name)}: " + (f"[\n{lines}\n]" if lines else json.dumps(value)))
    output.write_text("{\n" + ",\n".join(parts) + "\n}\n")


main()

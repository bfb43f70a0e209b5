#!/usr/bin/env python3
"""llama.cpp as an arm of cmd/internal/modelbench, whose documentation has the lines: JSON objects on standard input and output.

    llamacpp_child.py --model FILE.gguf [--threads 2] [--room 1024] [--exact]

It runs the server that the wheel xllamacpp has inside, in this process, as that comes but for: one request at a time, nothing
kept between requests, no GPU, so many threads. With --exact its keys and values are F32 and its attention is not the flash
kind, which computes in F16 even then: twenty times the noise.
Needs xllamacpp: scripts/python_env scripts/peers_requirements.txt
"""
import argparse
import json
import pathlib
import sys
import time
import urllib.error
import urllib.request

import xllamacpp


class Refused(Exception):
    pass


def start(a):
    p = xllamacpp.CommonParams()
    p.model.path = str(a.model)
    p.n_ctx = a.room
    p.n_gpu_layers = 0
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = a.threads
    p.n_parallel = 1
    p.cache_ram_mib = 0
    p.warmup = True
    p.verbosity = 0
    if a.exact:
        p.cache_type_k = p.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
        p.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    return xllamacpp.Server(p)


def post(server, path, body):
    """Asks by HTTP: what the binding itself offers speaks OpenAI's forms, which have no ids."""
    request = urllib.request.Request(server.listening_address + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        raise Refused(f"llama.cpp: {path}: {e.code} {e.read().decode(errors='replace')}") from e


def generate(server, prompt, tokens, top, stop):
    # Without a stop the tokens that end a text are not chosen: our side goes on behind them.
    ask = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "cache_prompt": False, "ignore_eos": not stop, "n_probs": top, "return_tokens": True}
    cpu = time.process_time()
    r = post(server, "/completion", ask)
    cpu = time.process_time() - cpu
    t, ids = r["timings"], r["tokens"]
    if t["prompt_n"] != len(prompt) or t["cache_n"]:
        raise Refused(f"llama.cpp computed {t['prompt_n']} ids of a prompt and kept {t['cache_n']}, expected {len(prompt)} and none")
    if t["predicted_n"] != len(ids):
        raise Refused(f"llama.cpp says {t['predicted_n']} tokens and gives {len(ids)}")
    return {"type": "generated", "prefill_s": t["prompt_ms"] / 1e3, "decode_s": t["predicted_ms"] / 1e3, "cpu_s": cpu, "ids": ids,
            "top": candidates(ids, r["completion_probabilities"]) if top else None}


def candidates(ids, said):
    """The candidates of each id: the server leaves out those of a token that ends inside a character."""
    out, said = [], iter(said)
    one = next(said, None)
    for id in ids:
        if one and one["id"] == id:
            out.append([{"id": c["id"], "logprob": c["logprob"]} for c in one["top_logprobs"]])
            one = next(said, None)
        else:
            out.append([])
    if one:
        raise Refused(f"llama.cpp gives candidates of {one['id']}, which is not among the ids where it should be: {ids}")
    return out


def tokenize(server, text):
    return {"type": "tokenized", "ids": post(server, "/tokenize", {"content": text, "add_special": False, "parse_special": True})["tokens"]}


def answer(server, line):
    kind = line.pop("type")
    if kind == "generate":
        return generate(server, **line)
    if kind == "tokenize":
        return tokenize(server, **line)
    raise Refused(f"a line of type {kind}, expected generate or tokenize")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--room", type=int, default=1024)
    parser.add_argument("--exact", action="store_true")
    a = parser.parse_args()

    def say(line):
        print(json.dumps(line), flush=True)

    if not a.model.is_file():
        say({"type": "error", "message": f"{a.model.name} is no file"})
        return 1
    server = start(a)
    version = f"xllamacpp {xllamacpp._version.get_versions()['version']}{', exact' if a.exact else ''}"
    say({"type": "ready", "arm": "llama.cpp", "version": version, "file": a.model.name, "threads": a.threads, "weight_bytes": 0, "eos": None})
    for line in sys.stdin:
        try:
            said = answer(server, json.loads(line))
        except Refused as e:
            say({"type": "error", "message": str(e)})
            return 1
        say(said)
    return 0


if __name__ == "__main__":
    sys.exit(main())

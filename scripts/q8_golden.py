#!/usr/bin/env python3
"""Writes runtime/model/kernels/testdata/q8.json in FOLDER or the tree: rows, and what Python's gguf makes of them as Q8_0.

Tried with gguf 0.19.0 and numpy 2.4.6. Run in an environment that has both: scripts/q8_golden.py [FOLDER]
"""
import base64
import json
import pathlib
import sys

import gguf
import numpy as np

COLS = 64


def cases():
    numbers = np.random.default_rng(1)
    yield "normal", numbers.normal(size=(8, COLS))
    yield "small", numbers.normal(size=(4, COLS)) * 1e-5
    yield "tiny: d is a denormal F16", numbers.normal(size=(4, COLS)) * 1e-6
    yield "large", numbers.normal(size=(2, COLS)) * 1e5
    yield "zeros", np.zeros((1, COLS))
    yield "one number", np.eye(2, COLS, 7) * -3.5
    halves = np.arange(COLS, dtype=np.float32).reshape(1, COLS) - 31.5
    halves[0, [0, 63]] = 127  # so that d is 1
    yield "halves", halves
    every = np.arange(-127, 129, dtype=np.float32).reshape(4, COLS)
    every[:, ::32] = 127
    yield "every q", np.minimum(every, 127)


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1])
    out = []
    for name, rows in cases():
        rows = rows.astype("<f4")
        blocks = gguf.quants.quantize(rows, gguf.GGMLQuantizationType.Q8_0)
        out.append({"Name": name, "Float32": base64.b64encode(rows.tobytes()).decode(), "Q8": base64.b64encode(blocks.tobytes()).decode()})
    file = folder / "runtime/model/kernels/testdata/q8.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes a GGUF file anew with every tensor in F32, all else as it was.

    widen_gguf.py FROM TO

llama.cpp multiplies matrices of Q4_1 with activations of 8 bits; those of F32 it does not round. What two programs make of the
widened file may differ by the order of sums alone. TO takes 4 bytes a number and must not exist.
Needs numpy and gguf: "$(scripts/python_env scripts/peers_requirements.txt)" scripts/widen_gguf.py FROM TO
"""
import pathlib
import sys

import gguf
import numpy as np

OWN = {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count"}  # the reader's names for the file's head
F32 = gguf.GGMLQuantizationType.F32


def copy_keys(reader, writer):
    for key, field in reader.fields.items():
        if key in OWN or key == gguf.Keys.General.ARCHITECTURE:  # the writer has these
            continue
        value = field.contents()
        if key == gguf.Keys.General.FILE_TYPE:
            value = int(gguf.LlamaFileType.ALL_F32)
        inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(key, value, field.types[0], sub_type=inner)


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    source, target = sys.argv[1], pathlib.Path(sys.argv[2])
    if target.exists():
        raise SystemExit(f"{target} exists; want a name that is free")
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields[gguf.Keys.General.ARCHITECTURE].contents())
    copy_keys(reader, writer)
    for t in reader.tensors:
        shape = [int(n) for n in reversed(t.shape)]
        writer.add_tensor_info(t.name, shape, np.dtype(np.float32), 4 * int(np.prod(shape)), raw_dtype=F32)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for t in reader.tensors:
        writer.write_tensor_data(gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32))
    writer.close()


if __name__ == "__main__":
    main()

"""Write cmd/internal/serve/sglang_flags.txt: the flags of SGLang's server, and how many values each takes.

Usage, with the interpreter of an environment that scripts/sglang_env.sh made:

    python scripts/sglang_flags.py TREE > cmd/internal/serve/sglang_flags.txt

TREE is a folder that holds the package sglang. The flags of --help are those that argparse was given;
a line has nargs as argparse names it (0 and 1 are numbers here), then the names of one flag.
"""

import argparse
import importlib.metadata
import sys

# Flags that older releases had and published commands still use.
OLDER = {
    "0": [
        "--disable-cuda-graph-padding", "--disable-overlap-schedule", "--disable-flashinfer", "--disable-disk-cache",
        "--disable-chunked-prefix-cache", "--disable-custom-all-reduce", "--disable-mla", "--enable-deepep-moe",
        "--enable-ep-moe", "--enable-flashinfer-mla", "--enable-mla", "--enable-overlap-schedule", "--enable-p2p-check",
        "--enable-torch-compile", "--enable-two-batch-overlap", "--log-requests", "--show-time-cost",
    ],
    "1": [
        "--additional-ports", "--cuda-graph-max-bs", "--moe-runner-backend", "--nccl-port", "--schedule-conservativeness",
        "--torch-compile-max-bs",
    ],
    "+": ["--cuda-graph-bs"],
}


def main(tree):
    sys.path.insert(0, tree)
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser(add_help=False)
    ServerArgs.add_cli_args(parser)
    print("# Written by scripts/sglang_flags.py; SGLang " + importlib.metadata.version("sglang"))
    known = set()
    for action in parser._actions:
        nargs = action.nargs
        if nargs is None:  # one value, whatever argparse does with it
            nargs = 1
        known.update(action.option_strings)
        print(nargs, *action.option_strings)
    print("# Of older releases.")
    for nargs, names in OLDER.items():
        for name in names:
            if name not in known:
                print(nargs, name)


main(*sys.argv[1:])

#!/usr/bin/env python3
"""Builds the fake libcuda.so.1 of this folder's C++ and of the kernel sources, which g++ compiles for the host.

    build.py --include CUDA_INCLUDE --out libcuda.so.1 [--objects FOLDER] [--instead FILE]...

A file given with --instead takes the place of the source of its name; the library says that it is that one, so that it
takes its PTX: for tests that change a kernel and want to see the change caught. Objects are kept in FOLDER under a hash
of all that they are made of, so a second build compiles what has changed. cuda.h comes from CUDA_INCLUDE; nothing else
of CUDA is needed.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from sources import FOLDERS, ROOT, kernels, sources_sha256

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["-O2", "-g1", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror", f"-ffile-prefix-map={ROOT}/="]
# Products and sums are rounded one by one, as NVRTC's --fmad=false has it; an unaligned vector access is a fault.
KERNEL = ["-ffp-contract=off", "-fno-strict-aliasing", "-fsanitize=alignment", "-fsanitize-undefined-trap-on-error",
          "-Wno-unknown-pragmas", "-Wno-unused-function", "-Wno-unused-parameter", "-Wno-unused-variable",
          "-Wno-attributes", "-include", str(HERE / "host.h")]


def cpu_flags():
    """fmaf as one instruction, where the processor has it; a call of libm otherwise."""
    try:
        flags = re.search(r"^flags\s*:(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        flags = None
    return ["-mavx2", "-mfma"] if flags and {"avx2", "fma"} <= set(flags[1].split()) else []


def run(command, **how):
    done = subprocess.run(command, text=True, capture_output=True, **how)
    if done.returncode:
        sys.exit(f"build.py: {shlex.join(map(str, command))}\n{done.stderr}")
    return done.stdout


class Builder:
    def __init__(self, include, objects):
        self.cxx = shlex.split(os.environ.get("CXX", "g++"))
        self.include, self.objects = include, pathlib.Path(objects)
        self.objects.mkdir(parents=True, exist_ok=True)
        headers = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.h")))
        self.base = hashlib.sha256(headers + run([*self.cxx, "--version"]).encode() + str(include).encode())

    def compile(self, text, key, flags, name):
        """The object of a C++ text, made unless it is there; key has what the text includes."""
        digest = self.base.copy()
        digest.update("\0".join([text, key, *flags]).encode())
        out = self.objects / f"{digest.hexdigest()[:24]}.o"
        if not out.exists():
            with tempfile.TemporaryDirectory(dir=self.objects) as folder:
                source, made = pathlib.Path(folder, name), pathlib.Path(folder, "made.o")
                source.write_text(text)
                run([*self.cxx, *flags, "-c", "-o", made, source])
                made.rename(out)
        return out

    def part(self, path):
        """An object of the driver itself."""
        text = f'#include "{path}"\n'
        return self.compile(text, path.read_text(), [*COMMON, f"-I{HERE}", "-isystem", str(self.include)], path.name)

    def kernel(self, original, path):
        """The object of one kernel source, which may lie elsewhere than the original, with a line that registers each
        kernel of it under the original's hash."""
        flags = [*COMMON, *KERNEL, *cpu_flags(), f"-I{HERE}", f"-I{original.parent}"]
        listing = run([*self.cxx, *flags, "-DFAKECUDA_LIST", "-E", "-P", "-x", "c++", path])
        names = re.findall(r"\bFAKECUDA_KERNEL\s+void\s+(\w+)\s*\(", listing)
        if not names:
            sys.exit(f"build.py: {path} has no kernel (`extern \"C\" __global__ void NAME(...)`)")
        claimed = sources_sha256(original)
        # In a namespace without a name, so that what templates share of static memory is this file's.
        text = f'namespace {{\n#include "{path}"\n' + "".join(f'FAKECUDA_REGISTER({n}, "{claimed}")\n' for n in dict.fromkeys(names)) + "}\n"
        return self.compile(text, claimed + path.read_text(), flags, path.stem + ".cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--include", required=True, type=pathlib.Path, help="the folder that has cuda.h")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--objects", type=pathlib.Path, help="where objects are kept (default: beside the output)")
    parser.add_argument("--instead", action="append", default=[], type=pathlib.Path, metavar="FILE", help="a changed source, for the one of its name")
    options = parser.parse_args()
    if not (options.include / "cuda.h").is_file():
        sys.exit(f"build.py: {options.include} has no cuda.h")
    changed = {path.name: path.resolve() for path in options.instead}
    sources = [source for folder in FOLDERS for source in kernels(ROOT / folder)]
    if strangers := changed.keys() - {source.name for source in sources}:
        sys.exit(f"build.py: no source is called {', '.join(sorted(strangers))}")
    builder = Builder(options.include, options.objects or options.out.parent / "objects")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(builder.part, path) for path in sorted(HERE.glob("*.cpp"))]
        jobs += [pool.submit(builder.kernel, source, changed.get(source.name, source)) for source in sources]
        objects = [job.result() for job in jobs]
    making = options.out.with_suffix(f".{os.getpid()}")
    run([*builder.cxx, "-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", "-o", making, *objects, "-lpthread"])
    making.rename(options.out)


if __name__ == "__main__":
    main()

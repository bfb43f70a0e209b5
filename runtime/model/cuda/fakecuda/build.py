#!/usr/bin/env python3
"""Builds the fake libcuda.so.1 of this folder's C++ and of kernel sources, which g++ compiles for the host.

    build.py --include CUDA_INCLUDE --out libcuda.so.1 [--objects FOLDER] [--hashes-of FOLDER] [FOLDER_OR_FILE_OF_KERNELS...]

Without kernels named, those of the tree. For changed sources (a test that wants to see a change caught; the headers lie
beside them) there is `--hashes-of FOLDER`: the library then says that its kernels have the hashes of the equally named
sources there, so that the PTX of those loads. Objects are kept in FOLDER under a hash of all that they are made of, so
a second build compiles what has changed. cuda.h comes from CUDA_INCLUDE; nothing else of CUDA is needed.
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

    def kernel(self, path, claimed):
        """The object of one kernel source, with a line that registers each kernel of it."""
        flags = [*COMMON, *KERNEL, *cpu_flags(), f"-I{HERE}", f"-I{path.parent}"]
        listing = run([*self.cxx, *flags, "-DFAKECUDA_LIST", "-E", "-P", "-x", "c++", path])
        names = re.findall(r"\bFAKECUDA_KERNEL\s+void\s+(\w+)\s*\(", listing)
        if not names:
            sys.exit(f"build.py: {path} has no kernel (`extern \"C\" __global__ void NAME(...)`)")
        # In a namespace without a name, so that what templates share of static memory is this file's.
        text = f'namespace {{\n#include "{path}"\n' + "".join(f'FAKECUDA_REGISTER({n}, "{claimed}")\n' for n in dict.fromkeys(names)) + "}\n"
        return self.compile(text, sources_sha256(path), flags, path.stem + ".cpp")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--include", required=True, type=pathlib.Path, help="the folder that has cuda.h")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--objects", type=pathlib.Path, help="where objects are kept (default: beside the output)")
    parser.add_argument("--hashes-of", type=pathlib.Path, help="the folder whose hashes are claimed")
    parser.add_argument("kernels", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not (options.include / "cuda.h").is_file():
        sys.exit(f"build.py: {options.include} has no cuda.h")
    places = options.kernels or [ROOT / folder for folder in FOLDERS]
    sources = [s for place in places for s in (kernels(place) if place.is_dir() else [place])]
    builder = Builder(options.include, options.objects or options.out.parent / "objects")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(builder.part, path) for path in sorted(HERE.glob("*.cpp"))]
        for source in sources:
            original = options.hashes_of / source.name if options.hashes_of else source
            claimed = sources_sha256(original if original.exists() else source)
            jobs.append(pool.submit(builder.kernel, source.resolve(), claimed))
        objects = [job.result() for job in jobs]
    making = options.out.with_suffix(f".{os.getpid()}")
    run([*builder.cxx, "-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic", "-o", making, *objects, "-lpthread"])
    making.rename(options.out)


if __name__ == "__main__":
    main()

